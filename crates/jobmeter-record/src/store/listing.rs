//! A listing for people and for programs.

use super::{RunGroup, State, StoredRun};
use crate::clock::local_text;
use crate::text::{printable, printable_within};
use jobmeter_model::VerdictKind;
use jobmeter_model::layout::fitting;
use jobmeter_model::units::{format_bytes, format_duration_ns};

const NAME_WIDTH: usize = 20;
/// What a command keeps of a narrow terminal.
const COMMAND_WIDTH: usize = 8;

/// One line for each run, a heading first. Where `width` is given lines fit into it: commands are cut, and columns left
/// out, the start first, then CPU time and name; on the narrowest, the commands and the peaks.
pub fn text(runs: &[StoredRun], width: Option<usize>) -> String {
    let rows = runs.iter().map(|run| (cells(run), run.digest.command.as_slice()));
    aligned(rows.collect(), width)
}

/// One line for each run that is no rank, and one for each job of many ranks.
pub fn grouped(groups: &[RunGroup], width: Option<usize>) -> String {
    let rows = groups.iter().filter_map(|group| {
        let first = group.runs.first()?;
        let cells = if group.is_job() { job_cells(first, &group.runs) } else { cells(first) };
        Some((cells, first.digest.command.as_slice()))
    });
    aligned(rows.collect(), width)
}

fn aligned(listed: Vec<([String; 7], &[String])>, width: Option<usize>) -> String {
    let heading = ["ID", "NAME", "STARTED", "WALL", "CPU", "PEAK RAM", "EXIT"].map(str::to_owned);
    let (cells, commands): (Vec<[String; 7]>, Vec<&[String]>) = listed.into_iter().unzip();
    let rows: Vec<[String; 7]> = std::iter::once(heading).chain(cells).collect();
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    // Room for some of the command. The start is in the identifier.
    let beside = width.map(|width| width.saturating_sub(COMMAND_WIDTH + 2));
    let mut shown = fitting(&widths, 2, beside, &[2, 4, 1]);
    let needed: usize =
        widths.iter().zip(&shown).filter(|(_, shown)| **shown).map(|(width, _)| width + 2).sum();
    let has_commands = width.is_none_or(|width| needed + COMMAND_WIDTH <= width);
    if !has_commands {
        shown = fitting(&widths, 2, width, &[2, 4, 5, 1]);
    }
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let start = out.len();
        for (column, cell) in row.iter().enumerate().filter(|(column, _)| shown[*column]) {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            // Figures align at their right end, words at their left.
            let parts = if (3..=5).contains(&column) { [&pad, cell] } else { [cell, &pad] };
            out.extend([parts[0].as_str(), parts[1].as_str(), "  "]);
        }
        let used = out[start..].chars().count();
        out.push_str(&match index.checked_sub(1).map(|run| commands[run].join(" ")) {
            _ if !has_commands => String::new(),
            None => "COMMAND".to_owned(),
            Some(command) => match width {
                Some(width) => printable_within(&command, width.saturating_sub(used).max(COMMAND_WIDTH)),
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
    let rank = digest.job.as_ref().filter(|job| job.is_rank_of_many()).and_then(|job| job.rank);
    let name = digest.name.clone().or_else(|| rank.map(|rank| format!("rank {rank}")));
    [
        printable_within(&digest.id, 30),
        name.as_deref().map_or_else(unknown, |name| printable_within(name, NAME_WIDTH)),
        local_text(digest.started_unix_ns),
        digest.wall_ns.map_or_else(unknown, format_duration_ns),
        digest.cpu_ns.map_or_else(unknown, format_duration_ns),
        digest.peak_rss_bytes.map_or_else(unknown, format_bytes),
        exit(run),
    ]
}

/// A job: CPU time is the sum over its ranks. Their peaks need not have come together, so none is shown for all.
fn job_cells(first: &StoredRun, runs: &[StoredRun]) -> [String; 7] {
    let unknown = || "–".to_owned();
    let job = first.digest.job.clone().unwrap_or_default();
    let started_ns = runs.iter().map(|run| run.digest.started_unix_ns).min().unwrap_or(0);
    let end_of = |run: &StoredRun| Some(run.digest.started_unix_ns.saturating_add(run.digest.wall_ns?));
    let ends: Option<Vec<u64>> = runs.iter().map(end_of).collect();
    let end_ns = ends.and_then(|ends| ends.into_iter().max());
    let cpu: Option<Vec<u64>> = runs.iter().map(|run| run.digest.cpu_ns).collect();
    let failed = runs.iter().filter(|run| run.digest.exit_code != Some(0)).count();
    let running = runs.iter().filter(|run| run.state() == State::Running).count();
    [
        printable_within(&format!("job:{}", job.id), 30),
        first.digest.name.as_deref().map_or_else(unknown, |name| printable_within(name, NAME_WIDTH)),
        local_text(started_ns),
        end_ns.map_or_else(unknown, |end_ns| format_duration_ns(end_ns - started_ns)),
        cpu.map_or_else(unknown, |cpu| format_duration_ns(cpu.iter().sum())),
        unknown(),
        match (running, failed) {
            (0, 0) => format!("{} ranks", runs.len()),
            (0, failed) => format!("{failed}/{} failed", runs.len()),
            (running, _) => format!("{running}/{} running", runs.len()),
        },
    ]
}

fn exit(run: &StoredRun) -> String {
    let digest = &run.digest;
    match (run.state(), &digest.verdict, digest.exit_code, digest.signal) {
        (State::Finished, Some(VerdictKind::Exited), Some(code), _) => code.to_string(),
        (State::Finished, Some(VerdictKind::Signaled), _, Some(signal)) => format!("signal {signal}"),
        (State::Finished, Some(VerdictKind::OomKilled), ..) => "oom".to_owned(),
        (State::Finished, Some(verdict), _, _) => printable_within(verdict.as_str(), 12),
        (state, ..) => state.key().to_owned(),
    }
}

/// The digests with the path and the state of each run.
pub fn json<'a>(runs: impl IntoIterator<Item = &'a StoredRun>) -> serde_json::Value {
    let one = |run: &StoredRun| {
        let mut value = serde_json::to_value(&run.digest).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("path".to_owned(), run.path.to_string_lossy().into());
            fields.insert("state".to_owned(), run.state().key().into());
        }
        value
    };
    runs.into_iter().map(one).collect()
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
    fn a_narrow_terminal_loses_columns_not_lines() {
        let runs = [run("train", "python train.py --epochs 3 --batch-size 64")];
        for width in [60, 80, 100] {
            let table = text(&runs, Some(width));
            assert!(table.lines().all(|line| line.chars().count() <= width), "{width}: {table}");
            assert!(table.contains("3.21 GB") && table.contains("python"), "{width}: {table}");
            assert_eq!(table.contains("STARTED"), width == 100, "{width}: {table}");
        }
    }

    #[test]
    fn the_narrowest_terminals_keep_names_and_no_line_is_longer() {
        let mut killed = run("attached", "python train.py --epochs 3 --batch-size 64");
        killed.digest.id = "20261117T052609-1e2fbdc5".to_owned();
        (killed.digest.verdict, killed.digest.signal) = (Some(VerdictKind::Signaled), Some(11));
        killed.digest.exit_code = None;
        for width in [58, 60, 64, 70] {
            let table = text(std::slice::from_ref(&killed), Some(width));
            assert!(table.lines().all(|line| line.chars().count() <= width), "{width}: {table}");
            assert!(table.contains("signal 11") && table.contains("1 min 01 s"), "{width}: {table}");
            assert!(table.contains("attached") || table.contains("python"), "{width}: {table}");
        }
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
