//! How many files the meter keeps open. Keeping a file open saves an open and a close per tick. Files that are not
//! kept open are opened for each read, one at a time.

use crate::linux::sys;

/// Kept at most without a look at the limit, or with a share of it.
const USUAL_FILES: u64 = 128;

/// A limit from which on `USUAL_FILES` are not missed by a process that is all ours.
const AMPLE_LIMIT: u64 = 1024;

/// Of a raised limit, what is left for everything else.
const RESERVED_FILES: u64 = 256;

/// A guest takes at most one in so many of the descriptors that are free.
const GUEST_PART: u64 = 8;

/// The share of a guest is worked out anew this often: the program may need its descriptors later.
const REVIEW_PERIOD_NS: u64 = 1_000_000_000;

/// Below this limit every descriptor is needed to read the tree.
const LEAST_TO_SPARE_FROM: u64 = 64;

/// Whether a source that can be done without may keep a descriptor. An error says that it may not.
pub(crate) fn spare_one() -> std::io::Result<()> {
    match sys::descriptor_limit() {
        limit if limit < LEAST_TO_SPARE_FROM => Err(std::io::Error::from_raw_os_error(libc::EMFILE)),
        _ => Ok(()),
    }
}

/// How many descriptors the meter may keep open.
pub struct Descriptors {
    /// The process is somebody else's program, which measures itself: its limit is never raised.
    is_guest: bool,
    budget: u64,
    reviewed_at_ns: u64,
    /// Shortages of this process that were known when they were last asked for.
    shortages: u64,
}

impl Descriptors {
    /// By the limits of this process.
    pub fn new() -> Descriptors {
        let is_ample = sys::descriptor_limit() >= AMPLE_LIMIT;
        let budget = if is_ample { USUAL_FILES } else { share(0) };
        Descriptors { is_guest: false, budget, reviewed_at_ns: 0, shortages: sys::descriptor_shortages() }
    }

    /// From now on only a share of what is free.
    pub fn be_guest(&mut self, kept: u64) {
        self.is_guest = true;
        self.budget = share(kept);
    }

    /// Whether `more` files may be kept beside `kept`.
    pub fn allow(&mut self, kept: u64, more: u64) -> bool {
        if kept + more > self.budget && !self.is_guest {
            // Only now: small jobs never pay for it, and the job itself was spawned before.
            let limit = sys::raise_descriptor_limit();
            self.budget = self.budget.max(limit.saturating_sub(RESERVED_FILES));
        }
        kept + more <= self.budget
    }

    /// How many of `kept` files must be closed now.
    pub fn excess(&mut self, now_ns: u64, kept: u64) -> u64 {
        if self.is_guest && now_ns >= self.reviewed_at_ns + REVIEW_PERIOD_NS {
            self.reviewed_at_ns = now_ns;
            self.budget = share(kept);
        }
        kept.saturating_sub(self.budget)
    }

    /// Whether descriptors ran out since the last call. From then on none are kept.
    pub fn ran_out(&mut self) -> bool {
        let shortages = sys::descriptor_shortages();
        let ran_out = std::mem::replace(&mut self.shortages, shortages) != shortages;
        if ran_out {
            self.budget = 0;
        }
        ran_out
    }
}

impl Default for Descriptors {
    fn default() -> Descriptors {
        Descriptors::new()
    }
}

/// A guest's part of the descriptors that would be free without the `kept` ones. None where that is not known.
fn share(kept: u64) -> u64 {
    let open = sys::open_descriptors().unwrap_or(u64::MAX);
    let free = sys::descriptor_limit().saturating_sub(open).saturating_add(kept);
    if open == u64::MAX { 0 } else { (free / GUEST_PART).min(USUAL_FILES) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_leaves_the_limit_alone_and_takes_a_small_part_of_what_is_free() {
        let limit_before = sys::descriptor_limit();
        let mut descriptors = Descriptors::new();
        descriptors.be_guest(0);
        let open = sys::open_descriptors().expect("procfs");
        let most = ((limit_before - open) / GUEST_PART).min(USUAL_FILES);
        assert!(descriptors.allow(0, most.saturating_sub(1)));
        assert!(!descriptors.allow(most, GUEST_PART));
        assert_eq!(descriptors.excess(REVIEW_PERIOD_NS, USUAL_FILES + 5), 5);
        assert_eq!(sys::descriptor_limit(), limit_before);
    }
}
