//! Which of the processes that ended between two full ticks lived at the same time.

use super::growth::{Grown, Growth, Holder};
use super::parts::Parts;
use super::peaks::Ended;
use super::windows::Windows;
use std::collections::BTreeMap;

/// Of the processes that ended: what those held at most that lived at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Alive {
    pub(super) parts: Parts,
    pub(super) loose: u64,
    pub(super) loose_bytes: u64,
    /// Of those that `in_window_bytes` does not bound.
    pub(super) loose_beyond_window_bytes: u64,
    pub(super) loose_anon_bytes: u64,
    pub(super) loose_main: Parts,
    pub(super) unbounded: u64,
    pub(super) unread_anon_bytes: u64,
    /// Anonymous memory of the whole job by its growth, where that is known.
    pub(super) grown_bytes: Option<u64>,
    /// What those without a close bound have, besides known files, by what the machine gave out while they grew, where that is known.
    pub(super) in_window_bytes: Option<u64>,
    read_bytes: u64,
}

impl Alive {
    fn step(&mut self, process: &Ended, is_fork: bool) {
        let moved = |count: u64, by: u64| match is_fork {
            true => count.saturating_add(by),
            false => count.saturating_sub(by),
        };
        match process.at_most {
            None => {
                self.unbounded = moved(self.unbounded, 1);
                self.unread_anon_bytes = moved(self.unread_anon_bytes, process.unread_anon_bytes);
                self.read_bytes = moved(self.read_bytes, process.read_bytes);
            }
            Some(most) if process.is_loose && process.is_main => {
                self.loose_main = if is_fork { most } else { Parts::default() };
            }
            Some(most) if process.is_loose => {
                self.loose = moved(self.loose, 1);
                let bytes = most.alone_bytes();
                self.loose_bytes = moved(self.loose_bytes, bytes);
                let beyond_bytes = if process.is_bound_by_window() { 0 } else { bytes };
                self.loose_beyond_window_bytes = moved(self.loose_beyond_window_bytes, beyond_bytes);
                self.loose_anon_bytes = moved(self.loose_anon_bytes, most.anon_bytes);
            }
            Some(most) if is_fork => self.parts.add(most),
            Some(most) => self.parts.take_off(most),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Edge<'a> {
    End(&'a Ended),
    Free(&'a Holder),
    Fork(&'a Ended),
}

impl Edge<'_> {
    /// Ends come before beginnings at the same time.
    fn order(&self) -> u8 {
        match self {
            Edge::End(_) => 0,
            Edge::Free(_) => 1,
            Edge::Fork(_) => 2,
        }
    }
}

/// Those without a close bound that live at a moment, by the time since which they can have grown.
struct Growing<'a> {
    windows: Option<&'a Windows>,
    since_ns: BTreeMap<u64, u32>,
}

impl Growing<'_> {
    fn step(&mut self, process: &Ended, is_fork: bool) {
        if self.windows.is_none() || !process.is_bound_by_window() {
            return;
        }
        let count = self.since_ns.entry(process.grows_since_ns).or_insert(0);
        *count = if is_fork { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.since_ns.remove(&process.grows_since_ns);
        }
    }

    /// What all of them can have got by `until_ns`.
    fn allocated_bytes(&self, until_ns: u64) -> Option<u64> {
        let windows = self.windows?;
        match self.since_ns.first_key_value() {
            Some((since_ns, _)) => windows.allocated_at_most_bytes(*since_ns, until_ns),
            None => Some(0),
        }
    }
}

/// For each moment at which a process began, and for the time before the first. With `growth` or `windows` also for the time after each
/// end: those that are left may grow.
pub(super) fn together(
    ended: &[Ended],
    growth: Option<&Growth>,
    windows: Option<&Windows>,
) -> impl Iterator<Item = Alive> {
    let lives = ended
        .iter()
        .flat_map(|process| [(process.fork_ns, Edge::Fork(process)), (process.end_ns, Edge::End(process))]);
    let holders = growth.iter().flat_map(|growth| &growth.holders);
    let frees = holders.map(|holder| (holder.until_ns, Edge::Free(holder)));
    let mut edges: Vec<(u64, Edge<'_>)> = lives.chain(frees).collect();
    edges.sort_unstable_by_key(|(t_ns, edge)| (*t_ns, edge.order()));
    let mut grown = growth.map(Growth::at_start);
    let grown_bytes = move |grown: Option<Grown>, until_ns| {
        growth.zip(grown).map(|(growth, grown)| growth.anon_bytes(grown, until_ns))
    };
    let until_ns = |at: usize| edges.get(at).map_or(u64::MAX, |(t_ns, _)| *t_ns);
    let mut growing = Growing { windows, since_ns: BTreeMap::new() };
    let mut alive = Alive {
        grown_bytes: grown_bytes(grown, until_ns(0)),
        in_window_bytes: growing.allocated_bytes(until_ns(0)),
        ..Alive::default()
    };
    let mut moments = vec![alive];
    for (at, (t_ns, edge)) in edges.iter().enumerate() {
        match edge {
            Edge::End(process) => {
                alive.step(process, false);
                growing.step(process, false);
            }
            Edge::Fork(process) => {
                alive.step(process, true);
                growing.step(process, true);
            }
            Edge::Free(holder) => grown.iter_mut().for_each(|grown| grown.free(holder)),
        }
        let may_grow = (grown.is_some() || windows.is_some()) && *t_ns < until_ns(at + 1);
        if may_grow || matches!(edge, Edge::Fork(_)) {
            alive.grown_bytes = grown_bytes(grown, until_ns(at + 1));
            alive.in_window_bytes =
                growing.allocated_bytes(until_ns(at + 1)).map(|bytes| bytes.saturating_add(alive.read_bytes));
            moments.push(alive);
        }
    }
    moments.into_iter()
}
