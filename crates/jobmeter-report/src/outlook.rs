//! Advice, server and cost in the words of the page.

use crate::data::{AdviceBlock, CostRow, ServerBlock, Snippet};
use crate::format;
use jobmeter_insight::advice::{Advice, Item, Outlook};
use jobmeter_insight::catalogue::Offer;
use jobmeter_insight::cost::{Comparison, RunCost};
use jobmeter_insight::job::{AT_LEAST, Request};
use jobmeter_insight::schedulers::{self, Format};
use jobmeter_insight::units::{MIB, show_bytes, show_capacity, show_money, show_seconds};

const PRICE_UNKNOWN: &str = "What this server costs is not known; a price per hour or an instance type, given to the report, adds it.";

impl AdviceBlock {
    /// From advice that was made.
    pub fn of(outlook: &Outlook) -> AdviceBlock {
        let advice = &outlook.advice;
        let mut server = ServerBlock::of(
            outlook.server.as_ref(),
            outlook.server_missing.as_deref(),
            outlook.cost.as_ref(),
        );
        server.allocation = Some(outlook.allocation.allocation.as_str().to_owned());
        server.evidence.clone_from(&outlook.allocation.evidence);
        AdviceBlock {
            headline: headline(advice),
            lines: lines(advice),
            snippets: snippets(advice),
            server: Some(server),
        }
    }
}

impl AdviceBlock {
    /// As [`AdviceBlock::of`], for a job of several tasks: a scheduler gives each of them the same, and no single server is
    /// to hold all.
    pub fn of_job(outlook: &Outlook, request: &Request) -> AdviceBlock {
        let advice = &outlook.advice;
        let amounts = [
            request.cores_per_task.map(|cores| counted(cores, "core")),
            request
                .memory_mib_per_task
                .map(|mib| format!("{} of RAM", show_bytes((mib as f64) * MIB as f64))),
            request.gpus_per_task.map(|gpus| counted(gpus, "GPU")),
        ];
        let amounts: Vec<String> = amounts.into_iter().flatten().collect();
        let time = advice.time_s.value.filter(|seconds| *seconds > 0);
        let time = time.map(|s| format::chosen_duration(s.saturating_mul(1_000_000_000)));
        let each = format!("{} of {} each", counted(request.tasks, "task"), amounts.join(" and "));
        let mut lines =
            vec!["Each task: as much as the busiest and the largest rank, and 20 % more memory".to_owned()];
        lines.extend(request.sums().map(|sums| format::sentence(&sums)));
        lines.extend(time.as_ref().map(|time| format!("Time {time}: {}", advice.time_s.why)));
        lines.extend(request.is_floor.then(|| format::sentence(AT_LEAST)));
        let mut slurm = vec![format!("#SBATCH --nodes={}", request.nodes)];
        slurm.extend(request.slurm_options().into_iter().map(|option| format!("#SBATCH {option}")));
        slurm.extend(schedulers::render(advice, Format::Slurm).lines().filter(is_time).map(str::to_owned));
        AdviceBlock {
            headline: std::iter::once(each).chain(time).collect::<Vec<_>>().join(", "),
            lines,
            snippets: vec![Snippet { title: "Slurm".to_owned(), text: slurm.join("\n") }],
            server: None,
        }
    }
}

fn is_time(line: &&str) -> bool {
    line.starts_with("#SBATCH --time=")
}

fn counted(value: u64, word: &str) -> String {
    format!("{} {word}{}", format::count(value), if value == 1 { "" } else { "s" })
}

/// The amounts alone, in one line: `8 cores, 14.0 GB of RAM, 2 GPUs, 1 h 15 min`.
pub(crate) fn headline(advice: &Advice) -> String {
    let amount = |item: &Item| item.value.filter(|value| *value > 0);
    let parts = [
        amount(&advice.cores).map(|cores| counted(cores, "core")),
        amount(&advice.memory_bytes).map(|bytes| format!("{} of RAM", show_bytes(bytes as f64))),
        amount(&advice.gpus).map(|gpus| counted(gpus, "GPU")),
        amount(&advice.time_s).map(|s| format::chosen_duration(s.saturating_mul(1_000_000_000))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn lines(advice: &Advice) -> Vec<String> {
    let bytes = |value: u64| show_bytes(value as f64);
    let seconds = |value: u64| format::chosen_duration(value.saturating_mul(1_000_000_000));
    let plain = |value: u64| format::count(value);
    let line = |name: &str, item: &Item, show: &dyn Fn(u64) -> String| {
        item.value.filter(|value| *value > 0).map(|value| format!("{name} {}: {}", show(value), item.why))
    };
    let is_one = advice.gpus.value.unwrap_or(1) <= 1;
    let lines = [
        line("Cores", &advice.cores, &plain),
        line("Memory", &advice.memory_bytes, &bytes),
        line("GPUs", &advice.gpus, &plain),
        line(if is_one { "GPU memory" } else { "Memory of each GPU" }, &advice.vram_bytes, &bytes),
        line("Time", &advice.time_s, &seconds),
        line("Scratch disk", &advice.disk_bytes, &bytes),
    ];
    let present = advice.present.iter().map(|present| format::sentence(&present.text));
    lines.into_iter().flatten().chain(present).chain(advice.notes.iter().cloned()).collect()
}

fn snippets(advice: &Advice) -> Vec<Snippet> {
    let formats =
        [("Slurm", Format::Slurm), ("Kubernetes", Format::Kubernetes), ("docker run", Format::Docker)];
    let snippet = |(title, kind): (&str, Format)| Snippet {
        title: title.to_owned(),
        text: schedulers::render(advice, kind).trim_end().to_owned(),
    };
    formats.map(snippet).into()
}

impl ServerBlock {
    /// Of the recommended server, or the reason that there is none, and what the run costs.
    pub fn of(offer: Option<&Offer>, missing: Option<&str>, cost: Option<&Comparison>) -> ServerBlock {
        let mut block = ServerBlock {
            recommended: offer.map(described).or_else(|| missing.map(format::sentence)),
            ..ServerBlock::default()
        };
        block
            .notes
            .extend(offer.and_then(Offer::arch_note).map(|note| format!("{}.", format::sentence(note))));
        let Some(cost) = cost else { return block };
        let rows = [("This server", &cost.present), ("Recommended", &cost.recommended)];
        block.costs = rows.into_iter().filter_map(|(title, cost)| Some(row(title, cost.as_ref()?))).collect();
        block.notes.extend(saving(cost).or(cost.present.is_none().then(|| PRICE_UNKNOWN.to_owned())));
        block.notes.push(format!("Counted: {}.", cost.assumption));
        block
    }
}

fn described(offer: &Offer) -> String {
    let gpu = match (&offer.gpu_model, offer.vram_bytes) {
        (Some(model), Some(vram)) => {
            format!(", {} × {model} with {} each", offer.gpu_count, show_capacity(vram))
        }
        (Some(model), None) => format!(", {} × {model}", offer.gpu_count),
        (None, _) => String::new(),
    };
    let memory = show_capacity(offer.memory_bytes);
    format!("{}/{} ({} vCPU, {memory}{gpu}, {})", offer.vendor, offer.type_name, offer.vcpus, offer.arch)
}

fn row(title: &str, cost: &RunCost) -> CostRow {
    let money = |amount: f64| show_money(amount, &cost.rate.currency);
    CostRow {
        title: title.to_owned(),
        server: if cost.rate.label.eq_ignore_ascii_case(title) {
            String::new()
        } else {
            cost.rate.label.clone()
        },
        per_hour: money(cost.rate.per_hour),
        per_run: money(cost.per_run),
        per_1000_runs: money(cost.per_1000_runs),
        source: cost.rate.source.clone(),
        as_of: cost.rate.as_of.clone(),
    }
}

fn saving(cost: &Comparison) -> Option<String> {
    let (run, many, ratio) = (cost.saving_per_run?, cost.saving_per_1000_runs?, cost.saving_ratio?);
    let present = cost.present.as_ref()?;
    let money = |amount: f64| show_money(amount.abs(), &present.rate.currency);
    let word = if run >= 0.0 { "saves" } else { "costs in addition" };
    Some(format!(
        "The recommended server {word} {} a run of {} and {} per 1,000 runs ({:.0} %).",
        money(run),
        show_seconds(present.seconds),
        money(many),
        100.0 * ratio.abs()
    ))
}
