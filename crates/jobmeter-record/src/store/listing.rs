//! A listing for people and for programs.

use super::{State, StoredRun};
use crate::clock::local_text;
use crate::text::{printable, printable_within};
use jobmeter_model::VerdictKind;
use jobmeter_model::units::{format_bytes, format_duration_ns};

const NAME_WIDTH: usize = 20;

/// Aligned columns, a heading first. Commands are cut so that lines fit into `width`, where given.
pub fn text(runs: &[StoredRun], width: Option<usize>) -> String {
    let heading = ["ID", "NAME", "STARTED", "WALL", "CPU", "PEAK RAM", "EXIT"].map(str::to_owned);
    let rows: Vec<[String; 7]> = std::iter::once(heading).chain(runs.iter().map(cells)).collect();
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let start = out.len();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            // Figures align at their right end, words at their left.
            let parts = if (3..=5).contains(&column) { [&pad, cell] } else { [cell, &pad] };
            out.extend([parts[0].as_str(), parts[1].as_str(), "  "]);
        }
        let used = out[start..].chars().count();
        out.push_str(&match index.checked_sub(1).map(|run| runs[run].digest.command.join(" ")) {
            None => "COMMAND".to_owned(),
            Some(command) => match width {
                Some(width) => printable_within(&command, width.saturating_sub(used).max(10)),
                None => printable(&command),
            },
        });
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    }
    out
}

fn cells(run: &StoredRun) -> [String; 7] {
    let digest = &run.digest;
    let unknown = || "–".to_owned();
    [
        printable_within(&digest.id, 30),
        digest.name.as_deref().map_or_else(unknown, |name| printable_within(name, NAME_WIDTH)),
        local_text(digest.started_unix_ns),
        digest.wall_ns.map_or_else(unknown, format_duration_ns),
        digest.cpu_ns.map_or_else(unknown, format_duration_ns),
        digest.peak_rss_bytes.map_or_else(unknown, format_bytes),
        exit(run),
    ]
}

fn exit(run: &StoredRun) -> String {
    let digest = &run.digest;
    match (run.state(), &digest.verdict, digest.exit_code, digest.signal) {
        (State::Finished, Some(VerdictKind::Exited), Some(code), _) => code.to_string(),
        (State::Finished, Some(VerdictKind::Signaled), _, Some(signal)) => format!("signal {signal}"),
        (State::Finished, Some(verdict), _, _) => printable_within(verdict.as_str(), 12),
        (state, ..) => state.key().to_owned(),
    }
}

/// The digests with the path and the state of each run.
pub fn json(runs: &[StoredRun]) -> serde_json::Value {
    let one = |run: &StoredRun| {
        let mut value = serde_json::to_value(&run.digest).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("path".to_owned(), run.path.to_string_lossy().into());
            fields.insert("state".to_owned(), run.state().key().into());
        }
        value
    };
    runs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use jobmeter_model::RunInfo;

    fn run(name: &str, command: &str) -> StoredRun {
        let info = RunInfo {
            id: "20260101T000000-aaaaaa".to_owned(),
            name: Some(name.to_owned()),
            command: vec![command.to_owned()],
            started_unix_ns: 1_767_225_600_000_000_000,
            ..RunInfo::default()
        };
        let digest = Digest {
            wall_ns: Some(61_000_000_000),
            verdict: Some(VerdictKind::Exited),
            exit_code: Some(7),
            cpu_ns: None,
            peak_rss_bytes: Some(3_210_000_000),
            ..Digest::of_unfinished(&info)
        };
        StoredRun { path: "x".into(), digest }
    }

    #[test]
    fn hostile_names_cannot_break_the_table() {
        let runs = [run("a\u{1b}[2J\nb", &"x\ty ".repeat(60)), run("train", "true")];
        let table = text(&runs, Some(120));
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.chars().count() <= 120), "{table}");
        assert!(lines[0].starts_with("ID ") && lines[0].ends_with("COMMAND"));
        assert!(lines[1].contains("a\\u{1b}[2J\\nb") && lines[1].ends_with('…'));
        assert!(lines[2].contains("1 min 01 s") && lines[2].contains("3.21 GB") && lines[2].contains('–'));
        assert!(!table.contains('\u{1b}'));
    }

    #[test]
    fn json_has_path_and_state() {
        let value = json(&[run("n", "c")]);
        assert_eq!(value[0]["state"], "finished");
        assert_eq!(value[0]["path"], "x");
        assert_eq!(value[0]["exit_code"], 7);
        assert!(value[0]["cpu_ns"].is_null());
    }
}
