//! The rows of one run: each figure that somebody witnessed, beside what jobmeter said of it.

use crate::claim::Claim;
use crate::goals;
use crate::mode::Mode;
use crate::processes;
use crate::run::Outcome;
use crate::span::Span;
use crate::truths::{Truths, Window};
use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub figure: String,
    pub truth: Span,
    pub claim: Claim,
    /// Why the claim is false.
    pub wrong: Option<String>,
    /// A goal that was missed although nothing false was said.
    pub missed: Option<String>,
}

impl Row {
    pub(crate) fn new(figure: &str, truth: &Span, claim: Claim) -> Row {
        let wrong = claim.contradiction(truth);
        Row { figure: figure.to_owned(), truth: truth.clone(), claim, wrong, missed: None }
    }
}

pub(crate) fn rows(outcome: &Outcome, truths: &Truths, window: Option<Window>, mode: Mode) -> Vec<Row> {
    let mut rows = Vec::new();
    for (figure, truth) in truths {
        let Some((scope, key)) = figure.split_once('.') else { continue };
        if scope == "phase" {
            rows.push(phase(&outcome.views, figure, key, truth));
        } else if let Some(stated) = outcome.summary[scope].get(key) {
            let mut row = Row::new(figure, truth, Claim::read(stated));
            if figure == "combined.rss_bytes_max" {
                let wall_ns = outcome.summary["run"]["wall_ns"].as_f64().unwrap_or_default();
                row.missed = goals::memory(&row, mode, wall_ns);
            }
            rows.push(row);
        }
    }
    rows.push(invariants(&outcome.summary));
    rows.extend(processes::exit_codes(outcome, window));
    rows.extend(processes::told_one_by_one(outcome, window));
    rows.extend(verdict(outcome));
    rows
}

/// Figures of a phase carry the quality of the phase, unless they say their own.
fn phase(views: &Value, figure: &str, key: &str, truth: &Span) -> Row {
    let (name, key) = key.split_once('.').unwrap_or((key, ""));
    let phases = views["phases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(phase) = phases.iter().find(|phase| phase["name"] == name) else {
        let mut row = Row::new(figure, truth, Claim::plain(None, "unavailable"));
        row.wrong = Some("there is no such phase".to_owned());
        return row;
    };
    let claim = match &phase[key] {
        Value::Object(_) => Claim::read(&phase[key]),
        number => {
            let own_key =
                if key == "peak_rss_bytes" { "peak_quality".to_owned() } else { format!("{key}_quality") };
            let own = phase[&own_key].as_str();
            let quality = own.or(phase["quality"].as_str()).unwrap_or("exact");
            let mut claim = Claim::plain(number.as_f64(), quality);
            claim.upper = phase[&format!("{key}_upper")].as_f64();
            claim
        }
    };
    Row::new(figure, truth, claim)
}

/// What the summary says must not contradict itself, or exceed what the machine has.
fn invariants(summary: &Value) -> Row {
    let found = jobmeter_testkit::invariants::violations(summary);
    let truth = Span::new(0.0, 0.0, "the summary itself");
    let mut row = Row::new("invariants broken", &truth, Claim::plain(Some(found.len() as f64), "exact"));
    row.wrong = found.first().map(|first| format!("{} of them, as: {first}", found.len()));
    row
}

/// How the main process ended, by the kernel's event; and that it was the OOM killer where it was.
fn verdict(outcome: &Outcome) -> Option<Row> {
    let told = &outcome.summary["verdict"];
    let pid = outcome.summary["run"]["pid"].as_i64()? as i32;
    let tree = outcome.evidence.tree.as_ref()?;
    let status = tree.ends.iter().find(|end| end.pid == pid)?.status;
    let (code, signal) = (status >> 8 & 0xff, status & 0x7f);
    let is_oom = outcome.notes.contains_key("oom_killed");
    let (truth, matches) = match signal {
        0 => (format!("exited with {code}"), told["kind"] == "exited" && told["exit_code"] == code),
        _ if is_oom => (format!("OOM killer, signal {signal}"), told["kind"] == "oom_killed"),
        _ => (format!("signal {signal}"), told["kind"] == "signaled" && told["signal"] == signal),
    };
    let words = told["text"].as_str().unwrap_or_default();
    let claim = Claim::plain(None, told["kind"].as_str().unwrap_or_default());
    let mut row = Row::new("verdict", &Span::new(None, None, &truth), claim);
    row.wrong = None;
    if !matches {
        let text = format!("'{words}', yet {truth}");
        // Not to know it is not false; nor is the signal alone, where it was the OOM killer's.
        if told["kind"] == "unknown" || is_oom && told["kind"] == "signaled" {
            row.missed = Some(text);
        } else {
            row.wrong = Some(text);
        }
    }
    Some(row)
}
