//! What a forked copy has from its parent at most.

use super::Meter;
use super::peak_figures::mark_lag_bytes;
use crate::linux::proc::status;

impl Meter {
    /// A forked copy that is first seen some time after its fork has grown since: it inherited no more than its parent ever
    /// had. Asked where the parent is smaller now, and events tell that it was the parent: one that ended may have left its
    /// copies to another.
    pub(super) fn bound_inherited(&mut self) {
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
        let at_most_bytes = self.tree.get(pid)?.anon_at_fork_at_most_bytes(faults, fork_ns)?;
        Some(at_most_bytes.saturating_add(self.bounds.huge_anon_since_start_bytes()?))
    }
}
