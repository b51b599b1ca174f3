//! The table: one row for each job and figure, with the worst of its runs, and the summary line.

use crate::mode::Mode;
use crate::rows::Row;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A row with the run that it belongs to.
pub(crate) struct Entry {
    pub job: &'static str,
    pub mode: Mode,
    pub row: Row,
}

#[derive(Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
    /// Runs that could not be judged.
    pub failed: Vec<String>,
}

impl Table {
    pub(crate) fn wrong(&self) -> usize {
        self.entries.iter().filter(|entry| entry.row.wrong.is_some()).count()
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let mut groups: BTreeMap<(&str, &str), Vec<&Entry>> = BTreeMap::new();
        for entry in &self.entries {
            groups.entry((entry.job, &entry.row.figure)).or_default().push(entry);
        }
        writeln!(out, "| job | figure | worst of | witness | ours | claim | inside | upper/truth | by |")?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
        for ((job, figure), entries) in &groups {
            let Some(worst) = entries.iter().max_by(|one, two| badness(one).total_cmp(&badness(two))) else {
                continue;
            };
            let inside = entries.iter().filter(|entry| entry.row.wrong.is_none()).count();
            let row = &worst.row;
            let width = row
                .claim
                .width(&row.truth)
                .filter(|_| figure.contains("rss"))
                .map(|width| format!("{width:.2}"));
            writeln!(
                out,
                "| {job} | {figure} | {} | {} | {} | {} | {}{inside}/{} | {} | {} |",
                worst.mode.name(),
                span(figure, row),
                number(figure, row.claim.value),
                claim(figure, row),
                if inside < entries.len() { "NO " } else { "" },
                entries.len(),
                width.unwrap_or_else(|| "–".to_owned()),
                row.truth.source,
            )?;
        }
        self.print_wrong(out)
    }

    fn print_wrong(&self, out: &mut impl Write) -> io::Result<()> {
        let mut wrong: BTreeMap<(String, String), Vec<&Entry>> = BTreeMap::new();
        let mut missed: BTreeMap<(String, String), Vec<&Entry>> = BTreeMap::new();
        for entry in &self.entries {
            let key = |text: &String| (entry.row.figure.clone(), kind(text));
            if let Some(text) = &entry.row.wrong {
                wrong.entry(key(text)).or_default().push(entry);
            }
            if let Some(text) = &entry.row.missed {
                missed.entry(key(text)).or_default().push(entry);
            }
        }
        writeln!(out, "\n### False claims\n")?;
        for ((figure, _), entries) in &wrong {
            let first = entries[0];
            writeln!(out, "- {figure}: {} ({} {})", told(&first.row), first.job, first.mode.name())?;
            writeln!(out, "  in {}", places(entries))?;
        }
        writeln!(out, "\n### Goals missed, nothing false\n")?;
        for ((figure, _), entries) in &missed {
            let first = entries[0];
            let text = first.row.missed.as_deref().unwrap_or_default();
            writeln!(out, "- {figure}: {text} ({} {})", first.job, first.mode.name())?;
            writeln!(out, "  in {}", places(entries))?;
        }
        for failed in &self.failed {
            writeln!(out, "- not judged: {failed}")?;
        }
        writeln!(out)?;
        for as_user in [false, true] {
            let line = self.widths(as_user);
            if !line.is_empty() {
                writeln!(out, "{line}")?;
            }
        }
        let judged = self.entries.len();
        writeln!(
            out,
            "{} of {judged} claims inside, {} false, {} runs not judged",
            judged - self.wrong(),
            self.wrong(),
            self.failed.len()
        )
    }

    /// Median and worst of the upper bound of the memory peak over the truth: of all jobs, and of those that are not tiny.
    fn widths(&self, as_user: bool) -> String {
        let peaks = self
            .entries
            .iter()
            .filter(|entry| entry.mode.as_user == as_user && entry.row.figure == "combined.rss_bytes_max");
        let mut widths: Vec<(f64, &Entry)> =
            peaks.filter_map(|entry| Some((entry.row.claim.width(&entry.row.truth)?, entry))).collect();
        widths.sort_by(|one, two| one.0.total_cmp(&two.0));
        let all = median_and_worst(&widths);
        widths.retain(|(_, entry)| entry.row.claim.certain(&entry.row.truth) >= Some(NOT_TINY_BYTES));
        let larger = median_and_worst(&widths);
        let who = if as_user { "an ordinary user" } else { "root" };
        match all.zip(larger) {
            None => String::new(),
            Some((all, larger)) => {
                format!("peak of memory as {who}: upper bound over truth, {all}; of 20 MB and more, {larger}")
            }
        }
    }
}

/// Below this a few shared pages more or less are most of it.
const NOT_TINY_BYTES: f64 = 20e6;

/// `widths` are in ascending order.
fn median_and_worst(widths: &[(f64, &Entry)]) -> Option<String> {
    let (worst, entry) = widths.last()?;
    let median = widths[widths.len() / 2].0;
    Some(format!("median {median:.2}, worst {worst:.2} ({}, {})", entry.job, entry.mode.name()))
}

/// The peak of memory in a few words: sampled value and upper bound over the truth.
pub(crate) fn peak(row: &Row) -> String {
    let certain = row.claim.certain(&row.truth);
    let ratio = |ours: Option<f64>| match (ours, certain) {
        (Some(ours), Some(low)) if low > 0.0 => format!("{:.2}", ours / low),
        _ => "?".to_owned(),
    };
    let truth = number(&row.figure, certain);
    format!(", peak {truth}, sampled {}, upper {}", ratio(row.claim.value), ratio(row.claim.upper))
}

/// Why a claim is false, with both sides.
pub(crate) fn told(row: &Row) -> String {
    let figure = &row.figure;
    let text = row.wrong.as_deref().unwrap_or_default();
    let (truth, ours) = (span(figure, row), number(figure, row.claim.value));
    format!("{text}; witness {truth}, ours {ours} {}", claim(figure, row))
}

/// Numbers differ from run to run; the kind of a contradiction is what comes before them.
fn kind(text: &str) -> String {
    let letters = text.chars().filter(|letter| !letter.is_ascii_digit());
    letters.take_while(|letter| !":;'".contains(*letter)).collect()
}

/// Jobs with the number of runs and the modes of each.
fn places(entries: &[&Entry]) -> String {
    let mut jobs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in entries {
        jobs.entry(entry.job).or_default().push(entry.mode.name());
    }
    let words = jobs.into_iter().map(|(job, mut modes)| {
        let runs = modes.len();
        modes.sort();
        modes.dedup();
        format!("{job} ({runs}: {})", modes.join(" "))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// False claims before wide ones.
fn badness(entry: &Entry) -> f64 {
    let wrong = if entry.row.wrong.is_some() { 1e9 } else { 0.0 };
    let missed = if entry.row.missed.is_some() { 1e6 } else { 0.0 };
    wrong + missed + entry.row.claim.width(&entry.row.truth).unwrap_or_default()
}

fn span(figure: &str, row: &Row) -> String {
    match (row.truth.low, row.truth.high) {
        (Some(low), Some(high)) if low == high => number(figure, Some(low)),
        (None, None) => row.truth.source.clone(),
        (low, high) => format!("{} … {}", number(figure, low), number(figure, high)),
    }
}

fn claim(figure: &str, row: &Row) -> String {
    let claim = &row.claim;
    match (claim.lower, claim.upper) {
        (None, None) => claim.quality.clone(),
        (lower, upper) => format!("{} [{}, {}]", claim.quality, number(figure, lower), number(figure, upper)),
    }
}

fn number(figure: &str, value: Option<f64>) -> String {
    let Some(value) = value else { return "?".to_owned() };
    if figure.contains("_ns") {
        format!("{:.1} ms", value / 1e6)
    } else if figure.contains("bytes") {
        format!("{:.2} MB", value / 1e6)
    } else if value.fract() == 0.0 {
        format!("{value}")
    } else {
        format!("{value:.3}")
    }
}
