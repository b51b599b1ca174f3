//! What a forked copy has from its parent at most.

use super::Tree;
use crate::linux::proc::status;
use crate::meter::peak_figures::mark_lag_bytes;
use crate::meter::process::Process;

impl Tree {
    /// A forked copy that is first seen some time after its fork has grown since: it inherited no more than its parent ever
    /// had. Asked where the parent is smaller now, and has become no other program.
    pub(super) fn mark_of_smaller_parent(&mut self, copy: &Process) -> Option<u64> {
        if !copy.stat.is_forked_copy() {
            return None;
        }
        let parent = self.get(copy.parent_pid)?;
        let anon_bytes = parent.rss_bytes.saturating_sub(parent.rss_file_bytes);
        if parent.programs_read() > 1 || copy.anon_at_birth_bytes <= anon_bytes {
            return None;
        }
        let length = self.proc.read(copy.parent_pid, "status", &mut self.buffer).ok()?;
        let mark_bytes = status::parse(&self.buffer[..length]).peak_rss_bytes?;
        Some(mark_bytes + mark_lag_bytes())
    }
}
