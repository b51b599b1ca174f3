//! The table of phases.

use crate::data::RunData;
use crate::format::{self, Style, visible};
use jobmeter_model::{Metric, Quality, Unit};
use jobmeter_record::table::{Course, Phase};
use maud::{Markup, html};

pub(super) fn table(run: &RunData) -> Markup {
    if run.phases.is_empty() {
        return html! {};
    }
    let any = |known: fn(&Phase) -> bool| run.phases.iter().any(known);
    let gpu_memory = any(|row| row.used.peak_gpu_memory_bytes.is_some());
    let gpu_job = any(|row| row.used.gpu_busy_ppm.max().is_some());
    let gpu_all = any(|row| row.used.system_gpu_busy_ppm.max().is_some());
    let energy = any(|row| row.used.total(Metric::GpuEnergyUj).is_some());
    html! {
        section.block aria-label="Phases" {
            div.block-head { h2 { "Phases" } span.count { (run.phases.len()) } }
            div.scroll tabindex="0" { table.phases {
                thead { tr {
                    th scope="col" { "Phase" } th.num scope="col" { "Calls" } th.num scope="col" { "Time" }
                    th.num scope="col" { "Each call" }
                    th.num scope="col" { "CPU" } th.num scope="col" { "Peak RAM" } th.num scope="col" { "Read" }
                    th.num scope="col" { "Written" }
                    @if gpu_memory { th.num scope="col" { "GPU RAM" } }
                    @if gpu_job { th.num scope="col" { "GPU, job" } }
                    @if gpu_all { th.num scope="col" { "GPU, all" } }
                    @if energy { th.num scope="col" { "Energy" } }
                } }
                tbody { @for row in &run.phases { tr {
                    th scope="row" { bdi.name { (visible(&row.name, 12_000)) } }
                    td.num { (format::count(row.calls)) }
                    td.num { (format::duration(row.time_total_ns)) }
                    td.num { (each_call(row)) }
                    td.num { (about(row, row.used.total(Metric::CpuNs).map(format::duration))) }
                    td.num { (size(row.used.peak_rss_bytes)) }
                    td.num { (about(row, row.used.total(Metric::ReadStorageBytes).map(format::bytes))) }
                    td.num { (about(row, row.used.total(Metric::WriteStorageBytes).map(format::bytes))) }
                    @if gpu_memory { td.num { (size(row.used.peak_gpu_memory_bytes)) } }
                    @if gpu_job { td.num { (course(&row.used.gpu_busy_ppm)) } }
                    @if gpu_all { td.num { (course(&row.used.system_gpu_busy_ppm)) } }
                    @if energy { td.num { (about(row, row.used.total(Metric::GpuEnergyUj).map(energy_text))) } }
                } } }
            } }
            p.remark { "CPU, bytes and GPU are those of the whole job while the phase was active; phases that overlap share them."
                @if gpu_all || energy { " GPU use is the mean and the highest, of all GPUs together; \"all\" and energy include others' work on them." }
                @if any(is_sampled) { " Figures after ≈ are interpolated between ticks, because no tick was taken at the ends of the phase; times are exact." } }
        }
    }
}

/// Mean and deviation, and below them the shortest and the longest; of one call there is no more to say.
fn each_call(row: &Phase) -> Markup {
    let time = |ns: f64| format::duration(ns.round() as u64);
    html! {
        @if row.calls > 1 {
            (time(row.time_mean_ns)) span.faint { " ± " (time(row.time_std_ns)) }
            br;
            span.faint { (format::duration(row.time_min_ns)) " – " (format::duration(row.time_max_ns)) }
        } @else { "–" }
    }
}

fn is_sampled(row: &Phase) -> bool {
    row.used.quality != Quality::Exact
}

/// The figure, with a sign before it where the ends of the phase lie between ticks.
fn about(row: &Phase, text: Option<String>) -> String {
    match text {
        Some(text) if is_sampled(row) => format!("≈ {text}"),
        Some(text) => text,
        None => "–".to_owned(),
    }
}

/// As the terminal's table of phases has it.
fn energy_text(microjoules: u64) -> String {
    format::format(microjoules as f64, Unit::Microjoules, Style::Short)
}

fn size(value: Option<u64>) -> String {
    value.map_or("–".to_owned(), format::bytes)
}

fn course(busy: &Course) -> Markup {
    let percent = |ppm: f64| format::format(ppm, Unit::Ppm, Style::Short);
    html! {
        (busy.mean().map_or("–".to_owned(), percent))
        @if let Some(max) = busy.max() { br; span.faint { "max " (percent(max as f64)) } }
    }
}
