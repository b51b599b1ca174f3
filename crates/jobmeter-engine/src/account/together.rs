//! Which of the processes that ended between two full ticks lived at the same time.

use super::growth::{Grown, Growth, Holder};
use super::parts::Parts;
use super::peaks::Ended;

/// Of the processes that ended: what those held at most that lived at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Alive {
    pub(super) parts: Parts,
    pub(super) loose: u64,
    pub(super) loose_bytes: u64,
    pub(super) loose_anon_bytes: u64,
    pub(super) loose_main: Parts,
    pub(super) unbounded: u64,
    pub(super) unread_anon_bytes: u64,
    /// Anonymous memory of the whole job by its growth, where that is known.
    pub(super) grown_bytes: Option<u64>,
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
            }
            Some(most) if process.is_loose && process.is_main => {
                self.loose_main = if is_fork { most } else { Parts::default() };
            }
            Some(most) if process.is_loose => {
                self.loose = moved(self.loose, 1);
                self.loose_bytes = moved(self.loose_bytes, most.own_bytes.saturating_add(most.file_bytes));
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

/// For each moment at which a process began, and for the time before the first. With `growth` also for the time after each end: those that are
/// left may grow.
pub(super) fn together(ended: &[Ended], growth: Option<&Growth>) -> impl Iterator<Item = Alive> {
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
    let mut alive = Alive { grown_bytes: grown_bytes(grown, until_ns(0)), ..Alive::default() };
    let mut moments = vec![alive];
    for (at, (t_ns, edge)) in edges.iter().enumerate() {
        match edge {
            Edge::End(process) => alive.step(process, false),
            Edge::Fork(process) => alive.step(process, true),
            Edge::Free(holder) => grown.iter_mut().for_each(|grown| grown.free(holder)),
        }
        let may_grow = grown.is_some() && *t_ns < until_ns(at + 1);
        if may_grow || matches!(edge, Edge::Fork(_)) {
            alive.grown_bytes = grown_bytes(grown, until_ns(at + 1));
            moments.push(alive);
        }
    }
    moments.into_iter()
}
