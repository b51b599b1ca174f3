//! Following a job that runs already. The events are listened to first, then its processes are listed: whoever one of
//! them forks meanwhile is told by an event.

use super::{Follower, PerfRing};
use crate::linux::sys;
use crate::meter::{EarlyEvents, Meter};

impl Meter {
    /// The first look at a job that runs already, and everything that happens to its processes from then on.
    pub(crate) fn begin_attached(&mut self, early: EarlyEvents) {
        let EarlyEvents { ring, exits } = early;
        self.witnesses.exits = exits;
        self.begin();
        let listed_ns = sys::monotonic_ns();
        match ring.or_else(|refusal| self.witnesses.exits.ring().ok_or(refusal)) {
            Ok(ring) => self.follow_listed(ring, listed_ns),
            Err(reason) => self.witnesses.events_refusal = Some(reason),
        }
        self.open_exit_records();
    }

    fn follow_listed(&mut self, ring: PerfRing, listed_ns: u64) {
        let mut follower = Box::new(Follower::new(ring));
        for process in &self.tree.processes {
            let (id, threads) = (process.id, process.stat.threads);
            follower.lives.begin_listed(id.pid, process.parent_pid, process.stat.name, threads);
        }
        // A process that ended before its turn in the list came may have been the job's, and so may its children.
        follower.lives.doubt_strangers_until(listed_ns);
        follower.open_maps_if_due(self.tree.proc, self.elapsed_ns(), false);
        self.witnesses.follower = Some(follower);
    }
}
