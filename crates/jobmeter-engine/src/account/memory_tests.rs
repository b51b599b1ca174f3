use super::*;
use crate::linux::proc::smaps::Rollup;

const MB: u64 = 1_000_000;
const LATER_NS: u64 = 1_000_000_000;

fn program(rss_mb: u64, file_mb: u64) -> MemoryReading {
    MemoryReading {
        rss_bytes: rss_mb * MB,
        file_bytes: file_mb * MB,
        rollup_cost_ns: 50_000,
        ..MemoryReading::default()
    }
}

fn main_of(rss_mb: u64, file_mb: u64) -> MemoryReading {
    MemoryReading { is_main: true, ..program(rss_mb, file_mb) }
}

fn copy(rss_mb: u64, anon_at_birth_mb: u64) -> MemoryReading {
    MemoryReading { is_copy: true, anon_at_birth_bytes: anon_at_birth_mb * MB, ..program(rss_mb, 0) }
}

fn with_rollup(reading: MemoryReading, pss_mb: u64, private_mb: u64) -> MemoryReading {
    let rollup = Rollup {
        rss_bytes: reading.rss_bytes,
        pss_bytes: pss_mb * MB,
        pss_anon_bytes: (pss_mb * MB).saturating_sub(reading.file_bytes),
        private_bytes: private_mb * MB,
        shared_bytes: reading.rss_bytes - private_mb * MB,
        ..Rollup::default()
    };
    MemoryReading { rollup: Some(rollup), ..reading }
}

const PASS: Wanted = Wanted::Rollups { longest_ns: LONGEST_READ_NS };

#[test]
fn one_process_is_asked_for_its_split_when_it_grew() {
    let mut account = MemoryAccount::default();
    assert_eq!(account.wants(&[main_of(50, 10)], 1_000_000), Wanted::Nothing, "too early");
    let split = Wanted::Rollups { longest_ns: LONGEST_SPLIT_READ_NS };
    assert_eq!(account.wants(&[main_of(50, 10)], LATER_NS), split);
    let [main, descendants, combined] = account.take(&[main_of(50, 10)]);
    assert_eq!((main.total_bytes, main.private_bytes, main.shared_bytes), (50 * MB, 40 * MB, 10 * MB));
    assert_eq!((descendants, combined), (Resident::default(), main));
    assert_eq!(account.wants(&[main_of(50, 10)], LATER_NS), Wanted::Nothing, "no new maximum");
    assert_eq!(account.wants(&[main_of(51, 10)], LATER_NS), Wanted::Nothing, "its split can wait");
    assert_eq!(account.wants(&[main_of(57, 10)], LATER_NS), split);
    assert_eq!(account.proven_bytes(), [50 * MB, 0, 50 * MB]);
}

#[test]
fn a_pass_tells_what_is_shared_and_holds_while_the_tree_is_the_same() {
    let mut account = MemoryAccount::default();
    let readings = [main_of(100, 0), copy(100, 100)];
    assert_eq!(account.wants(&readings, LATER_NS), PASS);
    // The copy has rewritten 60 MB.
    let rolled = [with_rollup(readings[0], 80, 60), with_rollup(readings[1], 80, 60)];
    account.take_pass(&readings, &rolled, 200_000, LATER_NS);
    let [_, _, combined] = account.take(&rolled);
    assert_eq!((combined.total_bytes, combined.private_bytes), (160 * MB, 120 * MB));
    assert_eq!(combined.sum_bytes, 200 * MB);
    assert_eq!(account.proven_bytes()[2], 160 * MB);
    let [_, _, combined] = account.take(&[main_of(90, 0), copy(100, 100)]);
    assert_eq!(combined.total_bytes, 160 * MB, "by the guess alone, which has not moved");
    let [_, _, combined] = account.take(&[main_of(100, 0), copy(110, 100)]);
    assert_eq!(
        combined.total_bytes,
        160 * MB,
        "170 are not proven, and no row is above the peak of the summary"
    );
    assert_eq!(account.proven_bytes()[2], 160 * MB);
    let [_, _, combined] = account.take(&[main_of(100, 0), copy(100, 100), program(5, 0)]);
    assert_eq!(combined.total_bytes, 105 * MB, "a process came: what was found no longer holds");
    assert_eq!((account.passes, account.refused), (1, 0));
}

/// Pages that were counted as private in one process and as shared in another while the pass went on.
#[test]
fn what_moved_during_a_pass_is_not_proven() {
    let mut account = MemoryAccount::default();
    let before = [main_of(100, 0), program(100, 0)];
    let after = [with_rollup(main_of(100, 0), 100, 100), with_rollup(program(140, 40), 120, 100)];
    account.take_pass(&before, &after, 1_000_000, LATER_NS);
    assert_eq!(account.proven_bytes()[2], (240 - 40) * MB);
    let [_, _, combined] = account.take(&after);
    assert_eq!(combined.total_bytes, 240 * MB, "the pass was not taken as verified");
}

#[test]
fn a_process_too_large_to_ask_leaves_a_pass_incomplete() {
    let mut account = MemoryAccount::default();
    let readings = [with_rollup(main_of(10, 0), 5, 2), program(90, 0)];
    account.take_pass(&readings, &readings, 1, LATER_NS);
    assert_eq!(account.take(&readings)[2].total_bytes, 100 * MB);
    let small = [with_rollup(main_of(100, 0), 60, 60), MemoryReading { rss_bytes: 1000, ..program(0, 0) }];
    account.take_pass(&small, &small, 1, LATER_NS);
    assert_eq!(account.take(&small)[2].private_bytes, 60 * MB + 1000);
}

#[test]
fn a_new_maximum_is_looked_at_twice() {
    let mut account = MemoryAccount { spent_ns: u64::MAX / 2, ..MemoryAccount::default() };
    let readings = [main_of(10, 0), program(20, 0)];
    assert_eq!(account.wants(&readings, LATER_NS), Wanted::SecondLook, "no budget for rollups");
    assert_eq!(account.refused, 1);
    account.take(&readings);
    assert_eq!(account.wants(&readings, LATER_NS), Wanted::Nothing);
    let moved = [main_of(11, 0), program(20, 0)];
    assert_eq!(account.wants(&moved, LATER_NS), Wanted::SecondLook);
    assert_eq!(account.wants(&[main_of(5, 0), program(21, 0)], LATER_NS), Wanted::Nothing, "one descendant");
    let others = [main_of(1, 0), program(12, 0), program(12, 0)];
    assert_eq!(
        account.wants(&others, LATER_NS),
        Wanted::SecondLook,
        "descendants have a maximum of their own"
    );
}

#[test]
fn copies_that_write_are_asked_again_after_a_while() {
    let mut account = MemoryAccount::default();
    let still = [main_of(100, 0), with_rollup(copy(100, 100), 50, 0)]
        .map(|reading| MemoryReading { rollup_cost_ns: 1_500_000, ..reading });
    account.take_pass(&still, &[with_rollup(main_of(100, 0), 50, 0), still[1]], 3_000_000, LATER_NS);
    account.take(&still);
    let mut writing = still;
    writing[1].unshared_at_most_bytes = 30 * MB;
    assert_eq!(account.wants(&writing, LATER_NS + 299_000_000), Wanted::Nothing, "a hundred times its cost");
    assert_eq!(account.wants(&writing, LATER_NS + 300_000_000), PASS);
    assert_eq!(account.wants(&still, LATER_NS + 300_000_000), Wanted::Nothing, "nobody wrote");
    writing[1].unshared_at_most_bytes = MB / 2;
    assert_eq!(account.wants(&writing, LATER_NS + 300_000_000), Wanted::Nothing, "too little to matter");
    let mut parent_writes = still;
    parent_writes[0].unshared_at_most_bytes = 30 * MB;
    assert_eq!(account.wants(&parent_writes, LATER_NS + 300_000_000), PASS, "the copy keeps what it rewrote");
}

/// What an account wants of memory that stands still.
fn wants_still(account: &mut MemoryAccount, readings: &[MemoryReading], elapsed_ns: u64) -> Wanted {
    account.level = (level_bytes(readings), elapsed_ns - STILL_FOR_NS);
    account.wants(readings, elapsed_ns)
}

#[test]
fn rollups_stay_within_the_budget() {
    let costly = |cost_ns| [main_of(10, 0), MemoryReading { rollup_cost_ns: cost_ns, ..program(20, 0) }];
    let mut account = MemoryAccount::default();
    assert_eq!(wants_still(&mut account, &costly(LONGEST_READ_NS), 10 * LATER_NS), PASS);
    account.spent_ns = BUDGET_START_NS;
    assert_eq!(wants_still(&mut account, &costly(1_950_000), LATER_NS), PASS, "two thousandths of a second");
    assert_eq!(wants_still(&mut account, &costly(1_950_001), LATER_NS), Wanted::SecondLook);
    assert!(is_worthwhile(&program(1, 0), 50_000) && !is_worthwhile(&program(1, 0), 49_999));
    assert!(!is_worthwhile(&program(0, 0), 50_000), "it has no memory");
    account.spent_ns = 0;
    let nobody = [main_of(10, 0), program(20, 0)]
        .map(|reading| MemoryReading { rollup_cost_ns: LONGEST_READ_NS + 1, ..reading });
    assert_eq!(account.wants(&nobody, LATER_NS), Wanted::SecondLook, "nobody could be asked");
}

/// A pool of copies that write: what is found while they do is soon out of date, and there is no second expensive pass.
#[test]
fn an_expensive_pass_waits_until_the_memory_stands_still() {
    let at = |unshared_mb: u64| {
        let mut readings = [main_of(300, 0), copy(300, 300)];
        readings[1].unshared_at_most_bytes = unshared_mb * MB;
        readings.map(|reading| MemoryReading { rollup_cost_ns: 5_000_000, ..reading })
    };
    let mut account = MemoryAccount::default();
    assert_eq!(account.wants(&at(40), LATER_NS), Wanted::SecondLook);
    assert!(account.awaits_pass());
    account.take(&at(40));
    assert_eq!(account.wants(&at(80), LATER_NS + 1), Wanted::Nothing, "it still writes");
    let still_ns = LATER_NS + 1 + STILL_FOR_NS;
    assert_eq!(account.wants(&at(81), still_ns - 1), Wanted::Nothing, "for a moment only");
    let unread = at(80).map(|reading| MemoryReading { has_unread_faults: true, ..reading });
    assert_eq!(
        account.wants(&unread, still_ns),
        Wanted::Nothing,
        "faults are guessed by the time that it ran"
    );
    assert_eq!(account.wants(&at(81), still_ns), PASS);
    assert!(!account.awaits_pass());
    let mut asleep = MemoryAccount::default();
    assert_eq!(asleep.wants(&at(40), LATER_NS), Wanted::SecondLook);
    assert_eq!(asleep.wants(&at(40), LATER_NS + 1), PASS, "nothing at all has changed");
    let mut restless = MemoryAccount::default();
    assert_eq!(restless.wants(&at(40), LATER_NS), Wanted::SecondLook);
    assert_eq!(restless.wants(&at(80), LATER_NS + LONGEST_WAIT_NS - 1), Wanted::SecondLook);
    assert_eq!(restless.wants(&at(120), LATER_NS + LONGEST_WAIT_NS), PASS, "it may never stand still");
    let cheap = at(40).map(|reading| MemoryReading { rollup_cost_ns: 2_000_000, ..reading });
    assert_eq!(MemoryAccount::default().wants(&cheap, LATER_NS), PASS, "a sixth of the budget");
}

/// Servers of a database fault on and on as they take and give back memory, long after they have made their own what they inherited.
#[test]
fn no_copy_makes_more_its_own_than_it_inherited() {
    let level_mb = |parent_mb: u64, copy_mb: u64| {
        let mut readings = [main_of(100, 0), copy(60, 20)];
        readings[0].unshared_at_most_bytes = parent_mb * MB;
        readings[1].unshared_at_most_bytes = copy_mb * MB;
        level_bytes(&readings) / MB
    };
    assert_eq!((level_mb(0, 0), level_mb(5, 0), level_mb(0, 5)), (160, 165, 165));
    assert_eq!(level_mb(900, 900), 160 + 20 + 20);
}

/// A database server: pages that a dozen processes map cost twice what their number lets expect, and a pass that seemed cheap came too
/// early for the next one to be affordable at the peak.
#[test]
fn what_a_pass_costs_is_learned_from_the_last_one() {
    let mut account = MemoryAccount::default();
    assert_eq!(account.learned_cost_ns(1_000_000), 1_000_000);
    let learn = |account: &mut MemoryAccount, expected_ns: u64, cost_ns: u64| {
        let readings =
            [main_of(10, 0)].map(|reading| MemoryReading { rollup_cost_ns: expected_ns, ..reading });
        account.take_pass(&readings, &readings, cost_ns, LATER_NS);
    };
    learn(&mut account, 400_000, 900_000);
    assert_eq!(account.learned_cost_ns(1_000_000), 2_250_000);
    learn(&mut account, TELLING_COST_NS - 1, 9_000_000);
    assert_eq!(account.learned_cost_ns(1_000_000), 2_250_000, "a small one says nothing");
    learn(&mut account, 400_000, 100_000);
    assert_eq!(account.learned_cost_ns(1_000_000), 1_000_000, "never less than by the sizes");
    learn(&mut account, 400_000, 90_000_000);
    assert_eq!(account.learned_cost_ns(1_000_000), MOST_UNEXPECTED * 1_000_000, "it was held up");
}

#[test]
fn together_no_more_than_the_sum_of_the_scopes() {
    let mut account = MemoryAccount::default();
    let readings = [main_of(100, 60), copy(80, 70)];
    let [main, descendants, combined] = account.take(&readings);
    assert!(combined.total_bytes <= main.total_bytes + descendants.total_bytes);
    assert_eq!(combined.total_bytes, (70 + 10 + 60) * MB);
    assert_eq!(combined.shared_bytes + combined.private_bytes, combined.total_bytes);
}

#[test]
fn passes_are_paid_from_the_budget() {
    let mut account = MemoryAccount::default();
    let readings = [with_rollup(main_of(10, 0), 10, 10), with_rollup(program(20, 0), 20, 20)]
        .map(|reading| MemoryReading { rollup_cost_ns: 7_000_000, ..reading });
    account.take_pass(&readings, &readings, 14_000_000, LATER_NS);
    account.take_pass(&readings, &readings, 14_000_000, LATER_NS);
    account.take(&readings);
    let grown = [main_of(50, 0), program(60, 0)];
    assert_eq!(account.wants(&grown, LATER_NS), Wanted::SecondLook, "28 of 27 ms are spent");
    assert_eq!((account.passes, account.refused), (2, 1));
    assert_eq!(wants_still(&mut account, &grown, 3 * LATER_NS), PASS, "two seconds later there is more");
}

/// A small pass was held up: the one at the peak can still be afforded.
#[test]
fn a_pass_that_was_held_up_is_not_paid_in_full() {
    let mut account = MemoryAccount::default();
    let readings = [with_rollup(main_of(10, 0), 10, 10), with_rollup(program(20, 0), 20, 20)];
    account.take_pass(&readings, &readings, 12_600_000, LATER_NS);
    assert_eq!(account.spent_ns, MOST_UNEXPECTED * 2 * 50_000);
    assert_eq!(account.took_ns(), 12_600_000, "the tick has taken as long");
    account.take(&readings);
    let large = [main_of(300, 0), program(300, 0)]
        .map(|reading| MemoryReading { rollup_cost_ns: 6_000_000, ..reading });
    assert_eq!(wants_still(&mut account, &large, 2 * LATER_NS), PASS);
}

#[test]
fn a_pass_is_wanted_from_the_first_moment_and_growth_that_matter() {
    let of = |rss_bytes| [MemoryReading { rss_bytes, ..main_of(0, 0) }];
    let mut account = MemoryAccount::default();
    let split = Wanted::Rollups { longest_ns: LONGEST_SPLIT_READ_NS };
    assert_eq!(account.wants(&of(50 * MB), FIRST_PASS_NS - 1), Wanted::Nothing);
    assert_eq!(account.wants(&of(50 * MB), FIRST_PASS_NS), split);
    account.take(&of(50 * MB));
    // An eighth and 64 KiB.
    let still_small = 50 * MB + 50 * MB / 8 + 65_536;
    assert_eq!(account.wants(&of(still_small), LATER_NS), Wanted::Nothing);
    assert_eq!(account.wants(&of(still_small + 1), LATER_NS), split);
}

#[test]
fn a_scope_that_grows_alone_is_asked_again() {
    let known = |pss_mb: u64| {
        let readings = [with_rollup(main_of(100, 0), 100, 100), with_rollup(program(20, 20), pss_mb, pss_mb)];
        let mut account = MemoryAccount::default();
        account.take_pass(&readings, &readings, 1, LATER_NS / 2);
        account.take(&readings);
        assert_eq!(account.wants(&readings, LATER_NS), Wanted::Nothing);
        account
    };
    let grown = |main_bytes: u64| [MemoryReading { rss_bytes: main_bytes, ..main_of(0, 0) }, program(20, 20)];
    // A quarter and 64 KiB of all 120 MB.
    let much = 130 * MB + 65_536;
    assert_eq!(known(20).wants(&grown(much), LATER_NS), Wanted::SecondLook);
    assert_eq!(known(20).wants(&grown(much + 1), LATER_NS), PASS, "the whole");
    assert_eq!(known(20).wants(&[main_of(70, 0), program(40, 20)], LATER_NS), PASS, "the descendants");
    assert_eq!(known(20).wants(&grown(90 * MB), LATER_NS), Wanted::Nothing);
    // Where the guess was too low, a fiftieth.
    let misled = |main_bytes: u64| {
        let mut account = known(20);
        account.is_guess_good = false;
        account.wants(&grown(main_bytes), LATER_NS)
    };
    assert_eq!(misled(102_400_000 + 65_536), Wanted::SecondLook);
    assert_eq!(misled(102_400_000 + 65_537), PASS);
}

#[test]
fn copies_are_asked_from_the_least_that_matters() {
    let pass = |size: u64, unshared_at_most_bytes: u64| {
        let rollup = Rollup { rss_bytes: size, ..Rollup::default() };
        let copy = MemoryReading {
            is_copy: true,
            rss_bytes: size,
            anon_at_birth_bytes: size,
            rollup: Some(rollup),
            rollup_cost_ns: 50_000,
            unshared_at_most_bytes,
            ..MemoryReading::default()
        };
        let readings = [with_rollup(main_of(10, 0), 10, 10), copy];
        let mut account = MemoryAccount::default();
        account.take_pass(&readings, &readings, 1_000_000, LATER_NS);
        account.take(&readings);
        account.wants(&readings, LATER_NS + 100_000_000)
    };
    let enough = 100_000 + 65_536 + 1;
    assert_eq!(pass(NEGLIGIBLE_BYTES + 1, enough), PASS);
    assert_eq!(pass(NEGLIGIBLE_BYTES, enough), Wanted::Nothing, "copies this small do not matter");
    assert_eq!(pass(NEGLIGIBLE_BYTES + 1, enough - 1), Wanted::Nothing, "nor do so few pages");
}

#[test]
fn a_pass_is_whole_where_everybody_of_size_was_asked_and_little_moved() {
    let verified = |before: &[MemoryReading], after: &[MemoryReading]| {
        let mut account = MemoryAccount::default();
        account.take_pass(before, after, 1, LATER_NS);
        account.verified.map(|(count, _)| count)
    };
    let of = |rss_bytes| MemoryReading { rss_bytes, ..program(0, 0) };
    let main = with_rollup(main_of(100, 0), 60, 60);
    let beside = |rss_bytes| verified(&[main, of(rss_bytes)], &[main, of(rss_bytes)]);
    assert_eq!(beside(NEGLIGIBLE_BYTES), Some(2));
    assert_eq!(beside(NEGLIGIBLE_BYTES + 1), None, "it may share everything or nothing");
    assert_eq!(verified(&[main_of(90, 30)], &[main_of(90, 30)]), Some(1), "nobody to share with");
    let second = with_rollup(program(140, 40), 120, 100);
    assert_eq!(verified(&[main, program(140, 39)], &[main, second]), Some(2), "1 and 1 of 240 MB moved");
    assert_eq!(verified(&[main, program(140, 20)], &[main, second]), None, "20 and 20 did");
}

#[test]
fn a_second_look_is_for_what_is_proven_and_for_the_estimate() {
    let readings = [main_of(10, 0), program(20, 0)];
    let wants = |proven_mb: u64, best_mb: u64| {
        let mut account = MemoryAccount {
            spent_ns: u64::MAX / 2,
            proven_bytes: [proven_mb * MB; 3],
            best_bytes: [best_mb * MB; 3],
            ..MemoryAccount::default()
        };
        account.wants(&readings, LATER_NS)
    };
    assert_eq!(wants(29, 1000), Wanted::SecondLook, "more is proven");
    assert_eq!(wants(1000, 29), Wanted::SecondLook, "the estimate is a new maximum");
    assert_eq!(wants(30, 30), Wanted::Nothing);
}
