//! What a forked copy has from its parent at most.

use super::Meter;
use super::peak_figures::mark_lag_bytes;
use crate::linux::proc::status;

/// Where more are born between two ticks, it would cost too much to ask for each.
const MOST_AT_ONCE: usize = 16;

impl Meter {
    /// A forked copy that is first seen some time after its fork has grown since: it inherited no more than its parent ever
    /// had. Asked where the parent is smaller now, and events tell that it was the parent: one that ended may have left its
    /// copies to another.
    pub(super) fn bound_inherited(&mut self) {
        if self.changes.born.len() > MOST_AT_ONCE {
            return;
        }
        for at in 0..self.changes.born.len() {
            let pid = self.changes.born[at];
            let Some(at_most_bytes) = self.inherited_at_most_bytes(pid) else { continue };
            if let Some((copy, _)) = self.tree.get_mut(pid) {
                copy.anon_at_birth_bytes = copy.anon_at_birth_bytes.min(at_most_bytes);
            }
        }
    }

    fn inherited_at_most_bytes(&mut self, pid: i32) -> Option<u64> {
        let copy = self.tree.get(pid).filter(|process| process.stat.is_forked_copy() && !process.is_main)?;
        let (fork_ns, forked_by) = self.witnesses.follower.as_ref()?.fork_of(pid)?;
        let parent = self.tree.get(forked_by)?;
        if parent.rss_bytes.saturating_sub(parent.rss_file_bytes) >= copy.anon_at_birth_bytes {
            return None;
        }
        let has_one_program = parent.programs_read() <= 1;
        let by_faults_bytes = self.anon_by_faults_at_most_bytes(forked_by, fork_ns);
        let by_mark_bytes = if has_one_program { self.mark_bytes_now(forked_by) } else { None };
        by_mark_bytes.into_iter().chain(by_faults_bytes).min()
    }

    fn mark_bytes_now(&mut self, pid: i32) -> Option<u64> {
        let length = self.tree.proc.read(pid, "status", &mut self.tree.buffer).ok()?;
        let mark_bytes = status::parse(&self.tree.buffer[..length]).peak_rss_bytes?;
        Some(mark_bytes + mark_lag_bytes())
    }

    /// Every page that a process has of its own came with a fault, huge pages apart, or was there at a list of its children
    /// before the fork.
    fn anon_by_faults_at_most_bytes(&mut self, pid: i32, fork_ns: u64) -> Option<u64> {
        let faults = self.tree.proc.stat(pid, &mut self.tree.buffer)?.faults();
        let parent = self.tree.get(pid)?;
        // A program began with nothing, where it had begun by then; a copy may have begun with anything.
        let follower = self.witnesses.follower.as_ref()?;
        let is_program = parent.is_main || follower.was_program_at(pid, fork_ns);
        let began_empty = is_program && !parent.stat.is_forked_copy() && parent.peak_rss_before_bytes == 0;
        let at_most_bytes = parent.anon_at_fork_at_most_bytes(faults, fork_ns, began_empty)?;
        Some(at_most_bytes.saturating_add(self.bounds.huge_anon_since_start_bytes()?))
    }
}
