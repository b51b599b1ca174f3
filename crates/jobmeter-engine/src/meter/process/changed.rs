//! What a forked copy has that is not its parent's: pages that it changed or added.

use super::Process;
use crate::account::parts::anon_by_faults_bytes;
use crate::linux::proc::smaps::Rollup;

/// What a rollup said of a forked copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenSharing {
    /// Anonymous pages that others map as well. What a copy inherited is shared less and less, so it shared them before too.
    shared_bytes: u64,
    /// All other anonymous memory: what it had changed or added by then is in it.
    own_bytes: u64,
    /// Its page faults before it was asked, or fewer.
    faults: u64,
    /// No copy of it was among those that share: what it changed it had alone.
    is_leaf: bool,
}

impl SeenSharing {
    fn of(rollup: &Rollup, faults: u64) -> SeenSharing {
        let own_bytes = rollup.private_bytes.saturating_add(rollup.merged_bytes).min(rollup.anon_bytes);
        SeenSharing { shared_bytes: rollup.anon_bytes - own_bytes, own_bytes, faults, is_leaf: false }
    }
}

impl Process {
    pub(super) fn note_sharing(&mut self, rollup: &Rollup) {
        let is_copy = self.stat.is_forked_copy() && !self.is_main;
        // Kernels that do not tell anonymous memory apart say nothing here.
        let tells = is_copy && rollup.anon_bytes > 0;
        self.sharing = tells.then(|| SeenSharing::of(rollup, self.stat.faults()));
    }

    /// Whether a rollup was read since the last full tick that counts if the process has forked nobody.
    pub(crate) fn has_unconfirmed_sharing(&self) -> bool {
        self.sharing.is_some_and(|seen| !seen.is_leaf)
    }

    /// `is_leaf`: it had forked nobody by now, and so not when the rollup was read.
    pub(crate) fn confirm_sharing(&mut self, is_leaf: bool) {
        self.sharing = self.sharing.filter(|_| is_leaf).map(|seen| SeenSharing { is_leaf, ..seen });
    }

    /// The most that a forked copy can have changed or added up to its page fault number `faults`, at any moment since the last full
    /// tick. Huge pages are not in it.
    pub(super) fn changed_at_most_bytes(&self, faults: u64) -> u64 {
        let since_bytes = |faults_before: u64| anon_by_faults_bytes(faults.saturating_sub(faults_before));
        let by_faults_bytes = self.changed_at_full_bytes.saturating_add(since_bytes(self.faults_at_full));
        // What a younger one inherited may have been given back before a tick saw it.
        let was_seen = self.anon_at_full_bytes.is_some() && !self.hid_memory;
        let Some(seen) = self.sharing.filter(|seen| seen.is_leaf && was_seen) else { return by_faults_bytes };
        let anon_bytes = self.max_anon_bytes.saturating_add(since_bytes(self.faults_at_full));
        let before_bytes = anon_bytes.saturating_sub(seen.shared_bytes);
        let after_bytes = seen.own_bytes.saturating_add(since_bytes(seen.faults));
        by_faults_bytes.min(before_bytes.max(after_bytes))
    }

    /// At a full tick, before the faults since the last one are forgotten.
    pub(super) fn take_changed(&mut self) {
        let faults = self.stat.faults();
        let since_bytes = |faults_before: u64| anon_by_faults_bytes(faults.saturating_sub(faults_before));
        let by_faults_bytes = self.changed_at_full_bytes.saturating_add(since_bytes(self.faults_at_full));
        let seen = self.sharing.take().filter(|seen| seen.is_leaf);
        let by_rollup_bytes = seen.map(|seen| seen.own_bytes.saturating_add(since_bytes(seen.faults)));
        self.changed_at_full_bytes = by_rollup_bytes.unwrap_or(u64::MAX).min(by_faults_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::proc::root::ProcRoot;
    use crate::meter::process::Scale;

    const MB: u64 = 1 << 20;

    fn pages(count: u64) -> u64 {
        anon_by_faults_bytes(count)
    }

    /// A copy with 100 MB of anonymous memory at the last full tick, of which it can have changed 80, and 1,000 page faults by then.
    fn copy() -> Process {
        let (own, scale) = (std::process::id() as i32, Scale::of_this_machine());
        let mut copy = Process::open(ProcRoot::default(), own, false, false, scale, &mut [0; 4096])
            .expect("this very process");
        copy.anon_at_full_bytes = Some(100 * MB);
        (copy.max_anon_bytes, copy.changed_at_full_bytes, copy.faults_at_full) = (100 * MB, 80 * MB, 1000);
        copy
    }

    fn seen(shared_mb: u64, own_mb: u64, faults: u64) -> Option<SeenSharing> {
        Some(SeenSharing { shared_bytes: shared_mb * MB, own_bytes: own_mb * MB, faults, is_leaf: true })
    }

    #[test]
    fn what_its_parent_gave_up_is_its_own() {
        let mut copy = copy();
        (copy.forked_by, copy.anon_at_birth_bytes) = (7, 90 * MB);
        let given_up = |copy: &Process, parent_anon_bytes| {
            copy.given_up_by(parent_anon_bytes).map(|up| (up.parent_pid, up.bytes))
        };
        assert_eq!(given_up(&copy, Some(90 * MB)), None);
        assert_eq!(given_up(&copy, Some(30 * MB)), Some((7, 60 * MB)));
        assert_eq!(given_up(&copy, None), Some((7, 90 * MB)), "nothing is known to be its parent's");
        copy.anon_at_full_bytes = None;
        assert_eq!(given_up(&copy, None), None, "younger than the last full tick");
    }

    #[test]
    fn what_it_had_changed_it_held_until_it_became_a_program() {
        let mut copy = copy();
        copy.note_exec(true, 1010);
        let before = |copy: &Process, copy_ns| {
            copy.before_exec(copy_ns).map(|before| (before.read_bytes, before.copy_ns))
        };
        assert_eq!(before(&copy, Some(9)), Some((80 * MB, Some(9))));
        assert_eq!(before(&copy, None), Some((80 * MB, None)), "it may have been another program in between");
        copy.max_rss_bytes = 90 * MB;
        copy.note_exec(false, 1020);
        assert_eq!(before(&copy, Some(9)), Some((90 * MB, None)), "one program after the other");
    }

    #[test]
    fn every_page_that_it_changed_took_a_fault() {
        assert_eq!(copy().changed_at_most_bytes(1010), 80 * MB + pages(10));
    }

    #[test]
    fn what_it_shares_now_it_has_shared_all_the_time() {
        let mut copy = copy();
        copy.sharing = seen(60, 30, 1010);
        // Before it was asked at most 100 MB and ten pages, less the 60.
        assert_eq!(copy.changed_at_most_bytes(1010), 40 * MB + pages(10));
        // It may have given memory back meanwhile; what it had alone when it was asked can have grown since.
        copy.sharing = seen(90, 30, 1010);
        assert_eq!(copy.changed_at_most_bytes(1030), 30 * MB + pages(20));
    }

    #[test]
    fn a_copy_with_copies_of_its_own_tells_nothing() {
        let mut copy = copy();
        copy.sharing = seen(60, 30, 1010).map(|seen| SeenSharing { is_leaf: false, ..seen });
        assert!(copy.has_unconfirmed_sharing());
        assert_eq!(copy.changed_at_most_bytes(1010), 80 * MB + pages(10));
        copy.confirm_sharing(false);
        assert!(copy.sharing.is_none());
    }

    #[test]
    fn a_newborn_may_have_inherited_more_than_ticks_have_seen() {
        let mut copy = copy();
        (copy.sharing, copy.anon_at_full_bytes) = (seen(60, 30, 1010), None);
        assert_eq!(copy.changed_at_most_bytes(1010), 80 * MB + pages(10));
    }

    #[test]
    fn the_next_interval_begins_with_what_it_had_alone() {
        let mut copy = copy();
        let faults = copy.stat.faults();
        copy.faults_at_full = faults;
        copy.sharing = seen(60, 30, faults);
        copy.take_changed();
        assert_eq!(copy.changed_at_full_bytes, 30 * MB);
        copy.take_changed();
        assert_eq!(copy.changed_at_full_bytes, 30 * MB, "asked once, it counts from then on");
        copy.sharing = seen(0, 90, faults);
        copy.take_changed();
        assert_eq!(copy.changed_at_full_bytes, 30 * MB, "never more than its faults allow");
    }

    #[test]
    fn merged_pages_are_its_own() {
        let rollup = Rollup {
            anon_bytes: 100 * MB,
            private_bytes: 20 * MB,
            merged_bytes: 5 * MB,
            ..Rollup::default()
        };
        let of = SeenSharing::of(&rollup, 7);
        assert_eq!((of.shared_bytes, of.own_bytes), (75 * MB, 25 * MB));
    }
}
