//! The processes of a job as a tree: the branches that weigh, and a count of the rest.

use super::processes::{ProcessLine, exit, notes, or_dash};
use super::style::Style;
use super::table::{self, Column, name, number, words};
use super::units::Units;
use jobmeter_model::Summary;
use jobmeter_model::units::format_count;
use std::collections::{BTreeMap, HashMap};

/// A branch is heavy with this share of all CPU time, or of the largest peak.
const HEAVY_CPU: f64 = 0.02;
const HEAVY_PEAK: f64 = 0.25;
/// No peak below this weighs: every process has some megabytes.
const LIGHT_PEAK_BYTES: f64 = 10e6;
/// So many children of one process are shown, and so many generations.
const MOST_CHILDREN: usize = 8;
const MOST_LEVELS: usize = 8;
/// A screen or two, whatever the job.
const MOST_ROWS: usize = 60;
/// Names in the line of the rest.
const MOST_NAMES: usize = 3;

const COLUMNS: [Column; 7] = [
    name("process"),
    number("pid"),
    number("count"),
    number("CPU"),
    number("peak RSS"),
    number("lived"),
    words("exit"),
];

/// A process with all that it started.
struct Branch<'a> {
    line: &'a ProcessLine,
    children: Vec<usize>,
    count: usize,
    /// `None`: of nobody in the branch.
    cpu_ns: Option<u64>,
    peak_rss_bytes: Option<u64>,
}

/// The tree and what to know about it. `width` is that of the terminal, if there is one.
pub fn process_tree(lines: &[ProcessLine], summary: &Summary, width: Option<usize>, style: Style) -> String {
    let (branches, roots) = branches(lines);
    let rows = Shown { units: style.units, heavy: Heavy::of(&branches, &roots), branches, rows: Vec::new() };
    let (rows, hidden) = rows.draw(roots);
    let mut out = table::render(&COLUMNS, &rows, width, style);
    let mut said = vec!["note: count, CPU and peak are of a process with all that it started".to_owned()];
    if hidden > 0 {
        let (hidden, have) =
            (format_count(hidden as u64), if hidden == 1 { "process has" } else { "processes have" });
        said.push(format!("note: {hidden} {have} no line here; --all lists them"));
    }
    said.extend(notes(lines, summary));
    for note in said {
        out.push_str(&style.noted(&note, width));
    }
    out
}

/// Every process with its children and sums. Parents stand before their children: a parent is the last process of
/// that id that began no later, so that a reused id misleads nobody and nothing is its own ancestor.
fn branches(lines: &[ProcessLine]) -> (Vec<Branch<'_>>, Vec<usize>) {
    let mut ordered: Vec<&ProcessLine> = lines.iter().collect();
    ordered.sort_by_key(|line| line.begin_ns);
    let mut known: HashMap<i32, usize> = HashMap::new();
    let mut parents = Vec::with_capacity(ordered.len());
    let mut branches: Vec<Branch<'_>> = Vec::with_capacity(ordered.len());
    let mut roots = Vec::new();
    for (index, line) in ordered.into_iter().enumerate() {
        let parent = line.parent_pid.and_then(|pid| known.get(&pid).copied());
        match parent {
            Some(parent) => branches[parent].children.push(index),
            None => roots.push(index),
        }
        parents.push(parent);
        known.insert(line.pid, index);
        let (cpu_ns, peak_rss_bytes) = (line.cpu_ns, line.peak_rss_bytes);
        branches.push(Branch { line, children: Vec::new(), count: 1, cpu_ns, peak_rss_bytes });
    }
    for index in (0..branches.len()).rev() {
        let Some(parent) = parents[index] else { continue };
        let (count, cpu_ns, peak) =
            (branches[index].count, branches[index].cpu_ns, branches[index].peak_rss_bytes);
        let above = &mut branches[parent];
        above.count += count;
        above.cpu_ns = sum(above.cpu_ns, cpu_ns);
        above.peak_rss_bytes = above.peak_rss_bytes.max(peak);
    }
    (branches, roots)
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// From where on a branch has a line of its own.
struct Heavy {
    cpu_ns: f64,
    peak_rss_bytes: f64,
}

impl Heavy {
    fn of(branches: &[Branch<'_>], roots: &[usize]) -> Heavy {
        let cpu_ns: u64 = roots.iter().filter_map(|root| branches[*root].cpu_ns).fold(0, u64::saturating_add);
        let peak = roots.iter().filter_map(|root| branches[*root].peak_rss_bytes).max().unwrap_or(0);
        Heavy {
            cpu_ns: cpu_ns as f64 * HEAVY_CPU,
            peak_rss_bytes: (peak as f64 * HEAVY_PEAK).max(LIGHT_PEAK_BYTES),
        }
    }

    fn holds(&self, branch: &Branch<'_>) -> bool {
        let reaches =
            |value: Option<u64>, least: f64| value.is_some_and(|value| value > 0 && value as f64 >= least);
        reaches(branch.cpu_ns, self.cpu_ns) || reaches(branch.peak_rss_bytes, self.peak_rss_bytes)
    }
}

struct Shown<'a> {
    units: Units,
    heavy: Heavy,
    branches: Vec<Branch<'a>>,
    rows: Vec<Vec<String>>,
}

/// What is still to be drawn, at which level.
enum Next {
    One(usize, usize),
    Rest(Vec<usize>, usize),
}

impl Shown<'_> {
    /// The rows, and how many processes have none. Without recursion: a chain of children may be long.
    fn draw(mut self, roots: Vec<usize>) -> (Vec<Vec<String>>, usize) {
        let mut stack = self.split(roots, 0);
        let mut hidden = 0;
        while let Some(next) = stack.pop() {
            match next {
                Next::One(index, level) => {
                    self.rows.push(self.row(index, level));
                    let children = std::mem::take(&mut self.branches[index].children);
                    let below = self.split(children, level + 1);
                    stack.extend(below);
                }
                Next::Rest(rest, level) => {
                    hidden += rest.iter().map(|index| self.branches[*index].count).sum::<usize>();
                    self.rows.push(self.rest(&rest, level));
                }
            }
        }
        (self.rows, hidden)
    }

    /// Children that get a line, heaviest first, and the rest; in the order of a stack.
    fn split(&self, mut children: Vec<usize>, level: usize) -> Vec<Next> {
        children.sort_by_key(|index| std::cmp::Reverse(self.branches[*index].cpu_ns));
        let room = MOST_ROWS.saturating_sub(self.rows.len());
        let most = if level > MOST_LEVELS { 0 } else { MOST_CHILDREN.min(room) };
        let (mut shown, mut rest) = (Vec::new(), Vec::new());
        for index in children {
            let is_shown = shown.len() < most && self.heavy.holds(&self.branches[index]);
            if is_shown { shown.push(index) } else { rest.push(index) }
        }
        // A line about one process would be as long as its own.
        if let [one] = rest[..]
            && shown.len() < most
        {
            shown.push(one);
            rest.clear();
        }
        let mut next: Vec<Next> = Vec::new();
        if !rest.is_empty() {
            next.push(Next::Rest(rest, level));
        }
        next.extend(shown.into_iter().rev().map(|index| Next::One(index, level)));
        next
    }

    fn row(&self, index: usize, level: usize) -> Vec<String> {
        let branch = &self.branches[index];
        let lived_ns = branch.line.end_ns.map(|end_ns| end_ns.saturating_sub(branch.line.begin_ns));
        vec![
            format!("{}{}", "  ".repeat(level), branch.line.name),
            branch.line.pid.to_string(),
            format_count(branch.count as u64),
            or_dash(branch.cpu_ns, |ns| self.units.time(ns)),
            or_dash(branch.peak_rss_bytes, |bytes| self.units.ram(bytes)),
            or_dash(lived_ns, |ns| self.units.time(ns)),
            exit(branch.line),
        ]
    }

    fn rest(&self, rest: &[usize], level: usize) -> Vec<String> {
        let all = || rest.iter().map(|index| &self.branches[*index]);
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        all().for_each(|branch| *names.entry(&branch.line.name).or_default() += 1);
        let mut names: Vec<(&str, usize)> = names.into_iter().collect();
        names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let more = if names.len() > MOST_NAMES { ", …" } else { "" };
        let names: Vec<String> =
            names.iter().take(MOST_NAMES).map(|(name, count)| format!("{count} × {name}")).collect();
        vec![
            format!("{}… {}{more}", "  ".repeat(level), names.join(", ")),
            String::new(),
            format_count(all().map(|branch| branch.count).sum::<usize>() as u64),
            or_dash(all().fold(None, |sum_ns, branch| sum(sum_ns, branch.cpu_ns)), |ns| self.units.time(ns)),
            or_dash(all().filter_map(|branch| branch.peak_rss_bytes).max(), |bytes| self.units.ram(bytes)),
            String::new(),
            String::new(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pid: i32, parent: i32, name: &str, cpu_ns: u64) -> ProcessLine {
        ProcessLine {
            pid,
            parent_pid: Some(parent),
            name: name.to_owned(),
            begin_ns: pid as u64,
            end_ns: Some(1_000_000_000),
            cpu_ns: Some(cpu_ns),
            peak_rss_bytes: None,
            exit_code: Some(0),
            signal: None,
        }
    }

    fn tree(lines: &[ProcessLine]) -> Vec<String> {
        let (branches, roots) = branches(lines);
        let heavy = Heavy::of(&branches, &roots);
        let shown = Shown { units: Units::default(), heavy, branches, rows: Vec::new() };
        shown.draw(roots).0.iter().map(|row| format!("{}|{}|{}", row[0], row[2], row[3])).collect()
    }

    #[test]
    fn heavy_branches_come_first_and_the_rest_is_counted() {
        let mut lines = vec![line(1, 0, "make", 0), line(2, 1, "light", 1), line(3, 1, "cc", 900_000)];
        lines.extend((4..9).map(|pid| line(pid, 1, "sed", 1)));
        lines.push(line(9, 3, "cc1", 100_000_000));
        assert_eq!(
            tree(&lines),
            ["make|9|101 ms", "  cc|2|101 ms", "    cc1|1|100 ms", "  … 5 × sed, 1 × light|6|6 ns"]
        );
    }

    #[test]
    fn a_reused_pid_and_a_circle_of_parents_do_no_harm() {
        // The second process 2 is a child of its own; 5 and 6 name each other.
        let lines =
            [line(2, 1, "a", 9), ProcessLine { begin_ns: 50, ..line(2, 3, "b", 9) }, line(3, 2, "c", 9)];
        assert_eq!(tree(&lines), ["a|3|27 ns", "  c|2|18 ns", "    b|1|9 ns"]);
        let circle = [line(5, 6, "x", 1), line(6, 5, "y", 1)];
        assert_eq!(tree(&circle), ["x|2|2 ns", "  y|1|1 ns"]);
    }

    #[test]
    fn a_long_chain_and_a_wide_family_take_a_screen() {
        let chain: Vec<ProcessLine> = (1..40_000).map(|pid| line(pid, pid - 1, "sh", 1_000)).collect();
        assert!(tree(&chain).len() <= MOST_LEVELS + 2);
        let family: Vec<ProcessLine> =
            (1..40_000).map(|pid| line(pid, i32::from(pid > 1), "w", 1_000)).collect();
        assert_eq!(tree(&family), ["w|39,999|40.0 ms", "  … 39998 × w|39,998|40.0 ms"]);
    }
}
