//! Forked copies and their parents: memory that they share counts once.

use super::ended::GivenUp;
use super::parts::{Huge, Parts, anon_by_faults_bytes};
use super::peaks::{EndedParent, Living};

/// The most that the living held together: a forked copy counts with what it changed, and what it inherited counts once,
/// with its parent, or for the copies together where the parent no longer has it.
pub(super) fn living_at_most(
    living: &[Living],
    ended_parents: &[EndedParent],
    given_up: &[GivenUp],
    huge: Huge,
) -> Parts {
    let mut total = Parts::default();
    let from_start = living.iter().filter(|process| !process.counts_from_birth);
    from_start.for_each(|process| total.add(process.at_most(huge)));
    let mut families: Vec<Family> = Vec::new();
    for copy in living.iter().filter(|process| process.is_copy) {
        match families.iter_mut().find(|family| family.parent_pid == copy.parent_pid) {
            Some(family) => family.take(copy, huge),
            None => {
                let mut family = Family::of(copy.parent_pid, living, ended_parents);
                family.take(copy, huge);
                families.push(family);
            }
        }
    }
    for left in given_up {
        // Copies that have ended had the same of it as those that live.
        match families.iter_mut().find(|family| family.parent_pid == left.parent_pid) {
            Some(family) => family.take_given_up(left.bytes),
            None => {
                let mut family = Family { parent_pid: left.parent_pid, ..Family::default() };
                family.take_given_up(left.bytes);
                families.push(family);
            }
        }
    }
    for family in &families {
        let beyond_bytes = family.beyond_parent_bytes();
        total.own_bytes = total.own_bytes.saturating_add(beyond_bytes.min(family.own_room_bytes));
        total.anon_bytes = total.anon_bytes.saturating_add(beyond_bytes.min(family.anon_room_bytes));
    }
    total
}

/// The copies of one parent.
#[derive(Default)]
struct Family {
    parent_pid: i32,
    /// What the parent still has: all of it where the parent ended and counts until now.
    parent_anon_bytes: u64,
    parent_total_faults: u64,
    /// The most that one of them has and the parent no longer.
    given_up_bytes: u64,
    inherited_bytes: u64,
    /// The most page faults of the parent since one of them was born.
    parent_faults: u64,
    /// What they can have in memory beyond what counts as changed by them.
    own_room_bytes: u64,
    anon_room_bytes: u64,
}

impl Family {
    fn of(parent_pid: i32, living: &[Living], ended_parents: &[EndedParent]) -> Family {
        let ended = ended_parents.iter().find(|parent| parent.pid == parent_pid);
        let ended = ended.map(|parent| (u64::MAX, parent.faults));
        let living = living.iter().find(|other| other.pid == parent_pid);
        let living = living.map(|parent| (parent.anon_bytes, parent.faults));
        let (parent_anon_bytes, parent_total_faults) = living.or(ended).unwrap_or_default();
        Family { parent_pid, parent_anon_bytes, parent_total_faults, ..Family::default() }
    }

    fn take(&mut self, copy: &Living, huge: Huge) {
        self.given_up_bytes = self.given_up_bytes.max(copy.inherited_beyond_bytes(self.parent_anon_bytes));
        self.inherited_bytes += copy.anon_at_birth_bytes;
        let faults = self.parent_total_faults.saturating_sub(copy.parent_faults_at_birth);
        self.parent_faults = self.parent_faults.max(faults);
        let (most, rss_bytes) = (copy.at_most(huge), copy.rss_at_most_bytes(huge));
        let own_room_bytes = rss_bytes.saturating_sub(copy.min_file_bytes).saturating_sub(most.own_bytes);
        self.own_room_bytes = self.own_room_bytes.saturating_add(own_room_bytes);
        self.anon_room_bytes =
            self.anon_room_bytes.saturating_add(rss_bytes - most.anon_bytes.min(rss_bytes));
    }

    /// What an ended copy of it had, that the parent no longer had.
    fn take_given_up(&mut self, bytes: u64) {
        self.given_up_bytes = self.given_up_bytes.max(bytes);
        self.own_room_bytes = self.own_room_bytes.saturating_add(bytes);
        self.anon_room_bytes = self.anon_room_bytes.saturating_add(bytes);
    }

    /// Inherited memory that is no longer the parent's: it gave it up, or changed it, with a fault for each page, while the
    /// copies kept what was there before.
    fn beyond_parent_bytes(&self) -> u64 {
        self.given_up_bytes + anon_by_faults_bytes(self.parent_faults).min(self.inherited_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::peaks::tests::{MB, copy_of, program, quiet, upper_mb};
    use super::super::peaks::{Interval, Peaks};
    use super::*;

    /// A parent of 200 MB had given all of it back, its copy ended, and the bound of that time was 127 MB for 311.
    #[test]
    fn what_a_parent_gave_up_counts_until_its_last_copy_has_ended() {
        let upper = |living: Vec<Living>, given_up: &[(i32, u64)]| {
            let given_up =
                given_up.iter().map(|(parent_pid, mb)| GivenUp { parent_pid: *parent_pid, bytes: mb * MB });
            let mut peaks = Peaks::default();
            peaks.take(&Interval { living, given_up: given_up.collect(), ..quiet() });
            upper_mb(&peaks, None).map(|(mb, _)| mb)
        };
        assert_eq!(upper(vec![program(1, 5)], &[(1, 200)]), Some(205));
        assert_eq!(
            upper(vec![program(1, 5)], &[(1, 200), (1, 150), (9, 30)]),
            Some(235),
            "copies had the same of one parent"
        );
        let copy = copy_of(1, 2, 60, 0);
        assert_eq!(
            upper(vec![program(1, 5), copy], &[(1, 40)]),
            Some(5 + 60 - 5),
            "a living copy has it too"
        );
    }
}
