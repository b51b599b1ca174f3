//! GPUs, disks, mounts and network interfaces, one row each.

use super::{details, figures};
use crate::data::RunData;
use crate::format::visible;
use jobmeter_insight::gpus;
use jobmeter_model::summary::EntityFigures;
use maud::{Markup, html};

/// Figures worth a column; everything else is in the export.
const GPU: &[&str] = &[
    "gpu_busy_ppm_mean",
    "gpu_busy_ppm_max",
    "gpu_memory_bytes_max",
    "gpu_power_mw_mean",
    "gpu_energy_uj",
    "gpu_idle_ns",
    "gpu_idle_energy_uj",
    "gpu_temperature_mc_max",
];
const DISK: &[&str] =
    &["disk_read_bytes", "disk_write_bytes", "disk_read_bytes_per_s_max", "disk_write_bytes_per_s_max"];
const MOUNT: &[&str] = &["mount_total_bytes_max", "mount_used_bytes_max", "mount_free_bytes_min"];
const NETWORK: &[&str] = &[
    "net_receive_bytes",
    "net_transmit_bytes",
    "net_receive_bytes_per_s_max",
    "net_transmit_bytes_per_s_max",
];

pub(super) fn tables(run: &RunData) -> Markup {
    let summary = &run.summary;
    let kinds: [(&str, &[EntityFigures], &[&str]); 4] = [
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

fn table(title: &str, rows: &[EntityFigures], columns: &[&str]) -> Markup {
    let columns: Vec<&str> =
        columns.iter().copied().filter(|key| rows.iter().any(|row| row.figures.contains_key(*key))).collect();
    if rows.is_empty() || columns.is_empty() {
        return html! {};
    }
    html! {
        div.device {
            h3 { (title) }
            div.scroll tabindex="0" { table {
                thead { tr { th scope="col" { "Name" } @for key in &columns { th.num scope="col" { (figures::meaning(key).title) } } } }
                tbody { @for row in rows { tr {
                    th scope="row" { (name(row)) }
                    @for key in &columns { td.num { @if let Some(figure) = row.figures.get(*key) { (details::cell(key, figure)) } } }
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
        let value = match (*key, value.parse::<f64>()) {
            ("memory_total_bytes", Ok(total)) => crate::format::bytes(total),
            _ => value.clone(),
        };
        Some(((*words).to_owned(), value))
    });
    known.chain([("UUID".to_owned(), row.name.clone())]).collect()
}
