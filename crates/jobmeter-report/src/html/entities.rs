//! GPUs, disks, mounts and network interfaces, one row each.

use super::{details, figures};
use crate::data::RunData;
use crate::format::visible;
use jobmeter_model::summary::EntityFigures;
use maud::{Markup, html};

/// Figures worth a column; everything else is in the export.
const GPU: &[&str] = &[
    "gpu_busy_ppm_mean",
    "gpu_busy_ppm_max",
    "gpu_memory_bytes_max",
    "gpu_power_mw_mean",
    "gpu_energy_uj",
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
                    th scope="row" { bdi.name { (visible(&row.name, 300)) }
                        @if !row.facts.is_empty() { span.facts {
                            @for (key, value) in &row.facts { span { (visible(key, 60)) ": " bdi { (visible(value, 200)) } } } } } }
                    @for key in &columns { td.num { @if let Some(figure) = row.figures.get(*key) { (details::cell(key, figure)) } } }
                } } }
            } }
        }
    }
}
