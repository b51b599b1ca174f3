use super::*;

fn program(rss_bytes: u64, file_bytes: u64) -> MemoryReading {
    MemoryReading { rss_bytes, file_bytes, ..MemoryReading::default() }
}

fn copy(rss_bytes: u64, file_bytes: u64, anon_at_birth_bytes: u64) -> MemoryReading {
    MemoryReading { is_copy: true, anon_at_birth_bytes, ..program(rss_bytes, file_bytes) }
}

fn sums(readings: &[MemoryReading]) -> Sums {
    let mut sums = Sums::default();
    readings.iter().for_each(|reading| sums.take(reading));
    sums
}

/// Proportional, private and shared bytes.
type Split = (u64, u64, u64);

fn rolled(readings: &[(MemoryReading, Option<Split>)]) -> Union {
    let mut rolled = Rolled::default();
    for (reading, rollup) in readings {
        let rollup = rollup.map(|(pss_bytes, private_bytes, shared_bytes)| Rollup {
            rss_bytes: private_bytes + shared_bytes,
            pss_bytes,
            pss_anon_bytes: 0,
            private_bytes,
            shared_bytes,
            ..Rollup::default()
        });
        rolled.take(&MemoryReading { rollup, ..*reading });
    }
    rolled.union()
}

#[test]
fn programs_share_files_only() {
    let sums = sums(&[program(100, 30), program(60, 20)]);
    assert_eq!(sums.guess(), Union { total_bytes: 70 + 40 + 30, private_bytes: 110 });
    assert_eq!(sums.proven_bytes(None), 140);
    assert_eq!((sums.count, sums.rss_bytes, sums.copied_bytes), (2, 160, 0));
}

#[test]
fn a_copy_shares_what_it_inherited_and_adds_what_it_grew() {
    let sums = sums(&[program(500, 10), copy(520, 10, 490)]);
    assert_eq!(sums.guess(), Union { total_bytes: 490 + 20 + 10, private_bytes: 510 });
    assert_eq!(sums.proven_bytes(None), 520);
    assert_eq!(sums.copied_bytes, 520);
}

/// Shared memory that copies attach after the fork counted once as file and once more as grown.
#[test]
fn shared_memory_that_copies_attach_counts_once() {
    let readings = [program(20, 10), copy(110, 105, 5), copy(110, 105, 5)];
    assert_eq!(sums(&readings).guess().total_bytes, 10 + 105);
    assert_eq!(sums(&readings).proven_bytes(None), 115);
}

#[test]
fn a_copy_that_outlives_its_parent_holds_what_it_inherited() {
    let sums = sums(&[program(10, 0), copy(300, 0, 250)]);
    assert_eq!(sums.guess().total_bytes, 250 + 50);
    assert_eq!(sums.proven_bytes(None), 300, "the largest process is certain");
}

/// The grandchild inherited what its parent grew: adding both would count those pages twice.
#[test]
fn what_a_copy_grew_and_its_own_copy_inherited_is_proven_once() {
    let sums = sums(&[copy(300, 0, 100), copy(310, 0, 300)]);
    assert_eq!(sums.proven_bytes(None), 310);
    assert_eq!(sums.guess().total_bytes, 300 + 200 + 10);
}

#[test]
fn a_copy_that_gave_memory_back_inherited_no_more_than_it_has() {
    assert_eq!(sums(&[program(500, 0), copy(100, 0, 490)]).guess().total_bytes, 500);
    assert_eq!(sums(&[copy(100, 0, 490)]).guess(), Union { total_bytes: 100, private_bytes: 0 });
}

#[test]
fn a_file_part_above_the_size_is_no_panic() {
    let reading = program(10, 30);
    assert_eq!(reading.anon_bytes(), 0);
    assert_eq!(sums(&[reading]).guess().total_bytes, 10);
}

#[test]
fn a_pass_moves_with_the_guess() {
    let before = sums(&[program(100, 20), program(100, 20)]);
    let verified =
        Verified { found: Union { total_bytes: 170, private_bytes: 140 }, guessed: before.guess() };
    assert_eq!(before.guess(), Union { total_bytes: 180, private_bytes: 160 });
    let after = sums(&[program(130, 20), program(100, 20)]);
    assert_eq!(after.since(&verified), Union { total_bytes: 200, private_bytes: 170 });
    let empty = sums(&[program(0, 0), program(5, 5)]);
    assert_eq!(empty.since(&verified), Union { total_bytes: 5, private_bytes: 0 }, "never below one process");
}

/// A server whose copies have changed most of what they inherited, and go on growing.
#[test]
fn what_a_pass_proved_goes_on_to_count() {
    let asked_copy = |anon_bytes, pss_anon_bytes| MemoryReading {
        rollup: Some(Rollup { rss_bytes: anon_bytes, pss_anon_bytes, ..Rollup::default() }),
        ..copy(anon_bytes, 0, 100)
    };
    let at_pass = [asked_copy(100, 90), asked_copy(100, 80)];
    let mut rolled = Rolled::default();
    at_pass.iter().for_each(|reading| rolled.take(reading));
    let asked = Asked::new(&rolled, &sums(&at_pass), 10);
    assert_eq!(sums(&at_pass).proven_bytes(None), 100);
    assert_eq!(sums(&at_pass).proven_bytes(Some(asked)), 160, "170 less what moved");
    let proven = |readings: &[MemoryReading]| sums(readings).proven_bytes(Some(asked));
    assert_eq!(proven(&[asked_copy(150, 0), asked_copy(100, 0)]), 210, "one has grown by 50");
    assert_eq!(proven(&[asked_copy(150, 0), asked_copy(70, 0)]), 180, "the other has given 30 back");
    assert_eq!(proven(&[asked_copy(150, 0), asked_copy(100, 0), program(40, 10)]), 210 + 30 + 10);
    assert_eq!(
        proven(&[asked_copy(100, 0), asked_copy(100, 0), copy(120, 0, 100)]),
        180,
        "a copy came and grew"
    );
    assert_eq!(proven(&[asked_copy(100, 0)]), 100, "all that the other had may be gone");
}

#[test]
fn the_least_and_the_most_of_two_looks() {
    let least = program(100, 30).least(&program(90, 10));
    assert_eq!((least.rss_bytes, least.file_bytes), (80, 10), "70 of its own and 10 of files");
    let most = program(100, 30).most(&program(90, 10));
    assert_eq!((most.rss_bytes, most.file_bytes), (110, 30), "80 of its own and 30 of files");
    assert_eq!(program(100, 30).moved_bytes(&program(90, 10)), 10 + 20);
    assert_eq!(program(100, 30).least(&program(0, 0)).rss_bytes, 0, "it is gone");
    assert!(copy(9, 0, 3).least(&copy(9, 0, 3)).is_copy);
}

#[test]
fn rollups_tell_what_is_shared_inside() {
    let whole = rolled(&[(program(100, 0), Some((60, 20, 80))), (program(100, 0), Some((60, 20, 80)))]);
    assert_eq!(whole, Union { total_bytes: 120, private_bytes: 40 });
}

#[test]
fn rollups_correct_for_pages_shared_with_others() {
    // 80 bytes are shared with many outsiders: proportional sizes hardly show them.
    let whole = rolled(&[(program(100, 0), Some((22, 20, 80)))]);
    assert_eq!(whole, Union { total_bytes: 100, private_bytes: 20 });
}

#[test]
fn without_a_rollup_a_process_shares_its_files() {
    let whole = rolled(&[(program(50, 20), None), (program(100, 0), Some((60, 20, 80)))]);
    assert_eq!(whole, Union { total_bytes: 130, private_bytes: 50 });
}

#[test]
fn scopes_are_main_the_others_and_both() {
    let main = MemoryReading { is_main: true, ..program(7, 0) };
    let all: [Sums; 3] = over_scopes(&[main, program(3, 0), program(2, 0)], Sums::take);
    assert_eq!(all.map(|sums| (sums.count, sums.rss_bytes)), [(1, 7), (2, 5), (3, 12)]);
}

#[test]
fn the_least_has_the_smaller_file_part_whichever_came_first() {
    let least = program(90, 10).least(&program(100, 30));
    assert_eq!((least.rss_bytes, least.file_bytes), (80, 10));
}

#[test]
fn files_of_processes_without_a_rollup_count_once() {
    let whole = rolled(&[(program(50, 20), None), (program(50, 10), None)]);
    assert_eq!(whole, Union { total_bytes: 30 + 40 + 20, private_bytes: 70 });
}

/// Two pairs, each with pages of its own: the largest shared part is only one of them.
#[test]
fn proportional_sizes_tell_of_pages_that_different_pairs_share() {
    let pair = |pss_bytes, shared_bytes| (program(shared_bytes, 0), Some((pss_bytes, 0, shared_bytes)));
    let whole = rolled(&[pair(40, 80), pair(40, 80), pair(30, 60), pair(30, 60)]);
    assert_eq!(whole, Union { total_bytes: 140, private_bytes: 0 });
}
