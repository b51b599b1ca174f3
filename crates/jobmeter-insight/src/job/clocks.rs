//! How far the wall clocks of the nodes are apart. Ranks of one machine have one clock. Ranks whose records lie on one
//! file server have its clock in common: each has compared it with its own, within bounds, when it made its record and
//! now and then. Otherwise nothing is known, and the clocks are taken as they are.

use super::{Node, RankRun};
use jobmeter_model::job::StoreTime;
use jobmeter_model::units::format_duration_ns;
use serde::Serialize;

/// Where the correction of the clocks comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockMethod {
    /// All ranks ran on one machine, containers and virtual nodes included.
    OneClock,
    /// By the time of the file server that holds the records.
    FileServer,
    /// Not known: the clocks are taken as they are.
    Unknown,
}

/// How the clocks of the nodes were put together.
#[derive(Debug, Clone, Serialize)]
pub struct Clocks {
    /// Where the correction comes from.
    pub method: ClockMethod,
    /// Two moments on different nodes may be apart by as much as this and be taken for one; `None` where nothing is known.
    pub uncertainty_ns: Option<u64>,
    /// What was added to the clock of each node, by name.
    pub nodes: Vec<NodeClock>,
}

/// The clock of one node.
#[derive(Debug, Clone, Serialize)]
pub struct NodeClock {
    /// The node. Hostile text.
    pub name: String,
    /// Half of the interval in which its offset from the reference lies.
    pub uncertainty_ns: Option<u64>,
    /// What was added to it.
    pub offset_ns: i64,
}

/// The interval in which the offset of a clock from the server's lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offset {
    least_ns: i64,
    most_ns: i64,
}

/// A file server keeps times in steps of its own clock tick, at most.
const STEP_NS: i64 = 10_000_000;

impl Offset {
    fn of(time: &StoreTime) -> Offset {
        let [before, after, stamp] =
            [time.before_unix_ns, time.after_unix_ns, time.stamp_unix_ns].map(|ns| ns as i64);
        Offset { least_ns: stamp - after, most_ns: stamp + STEP_NS - before }
    }

    /// What both say. Where they exclude each other a clock was set meanwhile, and either may hold.
    fn and(self, other: Offset) -> Offset {
        let both =
            Offset { least_ns: self.least_ns.max(other.least_ns), most_ns: self.most_ns.min(other.most_ns) };
        match both.least_ns <= both.most_ns {
            true => both,
            false => Offset {
                least_ns: self.least_ns.min(other.least_ns),
                most_ns: self.most_ns.max(other.most_ns),
            },
        }
    }

    fn middle_ns(self) -> i64 {
        self.least_ns + (self.most_ns - self.least_ns) / 2
    }
}

/// The boots of the ranks, where all are known.
fn boots(runs: &[RankRun]) -> Option<Vec<&str>> {
    let mut boots = Vec::new();
    for run in runs {
        let boot = run.summary.run.job.as_ref()?.machine.as_ref()?.boot.as_str();
        if !boots.contains(&boot) {
            boots.push(boot);
        }
    }
    Some(boots).filter(|boots| !boots.contains(&""))
}

/// By boot: the offset of its clock from that of the server that all of them name.
fn offsets(runs: &[RankRun]) -> Option<Vec<(&str, Offset)>> {
    let mut offsets: Vec<(&str, Offset)> = Vec::new();
    let mut server = None;
    for run in runs {
        let machine = run.summary.run.job.as_ref()?.machine.as_ref()?;
        for time in &machine.store_times {
            if *server.get_or_insert(&machine.store_server) != &machine.store_server {
                return None;
            }
            let offset = Offset::of(time);
            match offsets.iter_mut().find(|(boot, _)| *boot == machine.boot) {
                Some((_, known)) => *known = known.and(offset),
                None => offsets.push((&machine.boot, offset)),
            }
        }
    }
    let is_whole = boots(runs)?.iter().all(|boot| offsets.iter().any(|(known, _)| known == boot));
    (is_whole && server.is_some_and(|server| !server.is_empty())).then_some(offsets)
}

/// Puts the starts of the runs on one clock, as far as that is known. Once, before anything else is done with them.
pub fn align(runs: &mut [RankRun]) {
    if boots(runs).is_none_or(|boots| boots.len() < 2) {
        return;
    }
    let Some(offsets) = offsets(runs) else { return };
    let shifts: Vec<(String, i64)> =
        offsets.iter().map(|(boot, offset)| ((*boot).to_owned(), offset.middle_ns())).collect();
    for run in runs {
        let boot =
            run.summary.run.job.as_ref().and_then(|job| job.machine.as_ref()).map(|machine| &machine.boot);
        if let Some((_, shift_ns)) = shifts.iter().find(|(known, _)| Some(known) == boot) {
            let started = &mut run.summary.run.started_unix_ns;
            *started = started.saturating_add_signed(*shift_ns);
        }
    }
}

impl Clocks {
    /// What [`align`] has done to them.
    pub(super) fn of(runs: &[RankRun], nodes: &[Node]) -> Clocks {
        let is_one = boots(runs).is_some_and(|boots| boots.len() == 1) || nodes.len() < 2;
        let offsets = if is_one { None } else { offsets(runs) };
        let boot_of = |node: &Node| {
            let first = node.members.first().map(|index| &runs[*index].summary.run);
            first.and_then(|run| run.job.as_ref()?.machine.as_ref()).map(|machine| machine.boot.as_str())
        };
        let method = match (&offsets, is_one) {
            (_, true) => ClockMethod::OneClock,
            (Some(_), false) => ClockMethod::FileServer,
            (None, false) => ClockMethod::Unknown,
        };
        let clock = |node: &Node| {
            let known = offsets.as_ref().and_then(|offsets| {
                let boot = boot_of(node)?;
                offsets.iter().find(|(known, _)| *known == boot).map(|(_, offset)| *offset)
            });
            NodeClock {
                name: node.name.clone(),
                uncertainty_ns: match (is_one, known) {
                    (true, _) => Some(0),
                    (false, known) => known.map(|known| (known.most_ns - known.least_ns).unsigned_abs() / 2),
                },
                offset_ns: known.map_or(0, Offset::middle_ns),
            }
        };
        let nodes: Vec<NodeClock> = nodes.iter().map(clock).collect();
        let mut widths: Vec<u64> = nodes.iter().filter_map(|node| node.uncertainty_ns).collect();
        widths.sort_unstable();
        let uncertainty_ns = (widths.len() == nodes.len()).then(|| widths.iter().rev().take(2).sum());
        Clocks { method, uncertainty_ns, nodes }
    }

    /// What to know about figures of one moment; nothing where all ranks had one clock.
    pub(super) fn doubt(&self) -> Option<String> {
        match (self.method, self.uncertainty_ns) {
            (ClockMethod::OneClock, _) => None,
            (ClockMethod::FileServer, Some(ns)) => Some(format!(
                "the clocks of the nodes are aligned by that of the file server, to within {}; the bounds of \
                 peaks hold for any offset",
                format_duration_ns(ns)
            )),
            _ => Some(
                "the clocks of the nodes are taken as they are: a peak at the same moment may be off by as much; \
                 its bounds hold for any offset"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_lies_between_what_was_before_and_after() {
        // The server is 5 s ahead; its stamp is up to a step old.
        let time = StoreTime {
            before_unix_ns: 1_000_000_000,
            after_unix_ns: 1_002_000_000,
            stamp_unix_ns: 6_000_000_000,
        };
        let offset = Offset::of(&time);
        assert_eq!((offset.least_ns, offset.most_ns), (4_998_000_000, 5_010_000_000));
        let later = StoreTime {
            before_unix_ns: 9_000_000_000,
            after_unix_ns: 9_000_100_000,
            stamp_unix_ns: 14_000_000_000,
        };
        let both = offset.and(Offset::of(&later));
        assert_eq!((both.least_ns, both.most_ns), (4_999_900_000, 5_010_000_000));
        // A clock that was set between the two: either may hold.
        let moved = Offset { least_ns: 0, most_ns: 10 }.and(Offset { least_ns: 50, most_ns: 60 });
        assert_eq!((moved.least_ns, moved.most_ns), (0, 60));
    }
}
