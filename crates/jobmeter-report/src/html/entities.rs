//! GPUs, disks, mounts and network interfaces, one row each.

use super::details;
use crate::data::RunData;
use crate::format::visible;
use jobmeter_insight::gpus;
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::{FigureId, Metric, Scope, Stat};
use maud::{Markup, html};

type Columns = &'static [(Metric, Stat)];

/// Figures worth a column; everything else is in the export.
const GPU: Columns = &[
    (Metric::GpuBusyPpm, Stat::Mean),
    (Metric::GpuBusyPpm, Stat::Max),
    (Metric::GpuMemoryBytes, Stat::Max),
    (Metric::GpuPowerMw, Stat::Mean),
    (Metric::GpuEnergyUj, Stat::Total),
    (Metric::GpuIdleNs, Stat::Total),
    (Metric::GpuIdleEnergyUj, Stat::Total),
    (Metric::GpuTemperatureMc, Stat::Max),
    (Metric::GpuSmActivePpm, Stat::Mean),
    (Metric::GpuTensorPpm, Stat::Mean),
    (Metric::GpuDramPpm, Stat::Mean),
    (Metric::GpuXidEvents, Stat::Total),
    (Metric::GpuEccUncorrectedErrors, Stat::Total),
];
const DISK: Columns = &[
    (Metric::DiskReadBytes, Stat::Total),
    (Metric::DiskWriteBytes, Stat::Total),
    (Metric::DiskReadBytes, Stat::RateMax),
    (Metric::DiskWriteBytes, Stat::RateMax),
];
const MOUNT: Columns = &[
    (Metric::MountTotalBytes, Stat::Max),
    (Metric::MountUsedBytes, Stat::Max),
    (Metric::MountFreeBytes, Stat::Min),
];
const NETWORK: Columns = &[
    (Metric::NetReceiveBytes, Stat::Total),
    (Metric::NetTransmitBytes, Stat::Total),
    (Metric::NetReceiveBytes, Stat::RateMax),
    (Metric::NetTransmitBytes, Stat::RateMax),
];

pub(super) fn tables(run: &RunData) -> Markup {
    let summary = &run.summary;
    let kinds: [(&str, &[EntityFigures], Columns); 4] = [
        ("GPUs", &summary.gpus, GPU),
        ("Disks", &summary.disks, DISK),
        ("File systems", &summary.mounts, MOUNT),
        ("Network interfaces", &summary.networks, NETWORK),
    ];
    let present: Vec<String> = kinds
        .iter()
        .filter(|(_, rows, _)| !rows.is_empty())
        .map(|(title, rows, _)| format!("{title} {}", rows.len()))
        .collect();
    if present.is_empty() {
        return html! {};
    }
    html! {
        section.block aria-label="Devices" {
            details.fold {
                summary { h2 { "Devices" } span.count { (present.join(", ")) } }
                @for (title, rows, columns) in kinds { (table(title, rows, columns)) }
            }
        }
    }
}

fn table(title: &str, rows: &[EntityFigures], columns: Columns) -> Markup {
    let is_there = |id: &FigureId| rows.iter().any(|row| row.figures.get(id.metric, id.stat).is_some());
    let columns = columns.iter().map(|(metric, stat)| FigureId::of(Scope::System, *metric, *stat));
    let columns: Vec<FigureId> = columns.filter(is_there).collect();
    if rows.is_empty() || columns.is_empty() {
        return html! {};
    }
    html! {
        div.device {
            h3 { (title) }
            div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "Name" } @for id in &columns { th.num scope="col" { (id.title()) } } } }
                tbody { @for row in rows { tr {
                    th scope="row" { (name(row)) }
                    @for id in &columns { td.num { @if let Some(figure) = row.figures.get(id.metric, id.stat) { (details::cell(id.unit(), figure)) } } }
                } } }
            } }
        }
    }
}

/// A GPU by its number and model with what identifies it below; anything else by its own name.
fn name(row: &EntityFigures) -> Markup {
    let is_gpu = row.facts.contains_key("driver") && row.facts.contains_key("index");
    let title = if is_gpu { gpus::label(row) } else { row.name.clone() };
    let facts = if is_gpu { gpu_facts(row) } else { plain_facts(row) };
    html! {
        bdi.name { (visible(&title, 300)) }
        @if !facts.is_empty() { span.facts {
            @for (key, value) in &facts { span { (visible(key, 60)) ": " bdi { (visible(value, 200)) } } }
        } }
    }
}

fn plain_facts(row: &EntityFigures) -> Vec<(String, String)> {
    row.facts.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Facts of a GPU that people ask for, in words; the rest is in the export.
const GPU_FACTS: [(&str, &str); 9] = [
    ("memory_total_bytes", "memory"),
    ("driver", "driver"),
    ("driver_version", "version"),
    ("pci_id", "PCI"),
    ("mig_parent", "part of"),
    ("visible", "visible to the job"),
    ("used", "used by the job"),
    ("energy_method", "energy by"),
    ("process_numbers", "process numbers"),
];

fn gpu_facts(row: &EntityFigures) -> Vec<(String, String)> {
    let known = GPU_FACTS.iter().filter_map(|(key, words)| {
        let value = row.facts.get(*key)?;
        let value = match (*key, value.parse::<u64>()) {
            ("memory_total_bytes", Ok(total)) => crate::format::bytes(total),
            _ => value.clone(),
        };
        Some(((*words).to_owned(), value))
    });
    known.chain([("UUID".to_owned(), row.name.clone())]).collect()
}
