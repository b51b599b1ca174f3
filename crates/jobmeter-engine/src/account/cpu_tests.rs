use super::*;
use crate::account::amounts::Gaps;

const MS: u64 = 1_000_000;

fn evidence(cpu_ms: u64) -> CpuEvidence {
    let combined = Account { cpu_ns: cpu_ms * MS, system_ns: cpu_ms * MS / 4, ..Account::default() };
    CpuEvidence { combined, tick_ns: 10 * MS, ..CpuEvidence::default() }
}

fn group(total_ms: u64, system_ms: Option<u64>) -> Option<GroupCpu> {
    let ns = |ms: u64| ms * MS;
    Some(GroupCpu {
        total_ns: ns(total_ms),
        user_ns: system_ms.map(|system_ms| ns(total_ms - system_ms)),
        system_ns: system_ms.map(ns),
    })
}

#[test]
fn conservation_alone_is_exact_and_its_split_a_guess() {
    let total = evidence(1000).settle();
    assert_eq!((total.total_ns, total.quality), (1000 * MS, Quality::Exact));
    assert_eq!((total.system_ns, total.split), (250 * MS, Quality::Estimate));
    assert_eq!(total.split_reason, SPLIT_BY_TICKS);
    assert!(!total.accounts_are_short && !total.main_is_short);
    assert_eq!((total.bounds_ns, total.reason), (None, None));
}

#[test]
fn a_group_that_agrees_gives_the_split_only() {
    let total = CpuEvidence { group: group(1001, Some(0)), ..evidence(1000) }.settle();
    assert_eq!((total.total_ns, total.quality, total.reason), (1000 * MS, Quality::Exact, None));
    assert_eq!((total.system_ns, total.split), (0, Quality::Sampled), "the accounts guessed 250 ms");
    assert_eq!(total.split_reason, SPLIT_BY_GROUP);
    assert!(!total.accounts_are_short);
}

#[test]
fn a_group_above_the_accounts_is_right_and_the_accounts_are_short() {
    let total = CpuEvidence { group: group(1500, None), ..evidence(1000) }.settle();
    assert_eq!((total.total_ns, total.quality), (1500 * MS, Quality::Exact));
    assert!(total.accounts_are_short && total.reason.is_some());
    assert_eq!((total.split, total.split_reason), (Quality::Estimate, SPLIT_BY_TICKS));
}

/// A parent's account was read too early, and its child taken for lost: 86 ms were called exact where the group had counted 66.
#[test]
fn a_group_below_accounts_with_lost_ones_is_what_is_certain() {
    let lost = CpuEvidence { group: group(66, Some(40)), has_hole: true, ..evidence(86) };
    let total = lost.settle();
    assert_eq!((total.total_ns, total.quality), (66 * MS, Quality::LowerBound));
    assert!(total.accounts_are_short && total.reason.is_some());
    assert_eq!(total.whole(lost.combined, Some(85 * MS)).cpu_ns, 66 * MS, "nor what a tick has shown");
    let left = CpuEvidence { has_hole: false, ..lost }.settle();
    assert_eq!((left.total_ns, left.quality), (86 * MS, Quality::Exact), "somebody left the group");
}

/// 40,000 threads were short of 190 ms: the group's count stood as that of a child of a millisecond.
#[test]
fn what_threads_lose_may_be_of_main() {
    let churn = CpuEvidence { group: group(1600, None), threads: 20_000, ..evidence(1400) };
    let total = churn.settle();
    assert_eq!((total.total_ns, total.quality), (1600 * MS, Quality::Exact));
    assert!(total.main_is_short && total.accounts_are_short, "somebody may be missing as well");
    assert_eq!(total.beyond_accounts_ns, 200 * MS);
    let listed = CpuEvidence { nobody_is_missing: true, ..churn.clone() }.settle();
    assert!(listed.main_is_short && !listed.accounts_are_short && listed.reason.is_some());
    let more = CpuEvidence { nobody_is_missing: true, threads: 5_000, ..churn }.settle();
    assert!(more.accounts_are_short, "threads do not lose that much");
    let agrees = CpuEvidence { group: group(1401, None), threads: 20_000, ..evidence(1400) };
    assert!(!agrees.settle().main_is_short, "the group has counted no more");
}

#[test]
fn kernel_time_is_never_more_than_the_total() {
    let total = CpuEvidence { group: group(1001, Some(1001)), ..evidence(1000) }.settle();
    assert_eq!((total.total_ns, total.system_ns), (1000 * MS, 1000 * MS));
}

#[test]
fn sources_may_differ_by_a_slack_and_no_more() {
    assert!(!exceeds(1000 * MS + 2 * MS + 2 * MS, 1000 * MS, 500));
    assert!(exceeds(1000 * MS + 2 * MS + 2 * MS + 1, 1000 * MS, 500));
    assert!(!exceeds(SLACK_NS, 0, 500));
    assert!(exceeds(SLACK_NS + 1, 0, 500));
    assert!(!exceeds(u64::MAX, u64::MAX, 1));
}

#[test]
fn each_sign_makes_it_a_lower_bound() {
    let perf = CpuEvidence { perf_clock_ns: Some(1100 * MS), ..evidence(1000) }.settle();
    // It counts interrupts as well: a twelfth is taken off.
    assert_eq!((perf.total_ns, perf.quality), (1100 * MS - 1100 * MS / 12, Quality::LowerBound));
    let barely = CpuEvidence { perf_clock_ns: Some(1086 * MS), ..evidence(1000) }.settle();
    assert_eq!(
        (barely.total_ns, barely.quality),
        (1000 * MS, Quality::LowerBound),
        "never below the accounts"
    );
    assert!(perf.accounts_are_short && !perf.main_is_short);
    assert!(perf.reason.expect("a reason").contains("perf"));
    let agrees = CpuEvidence { perf_clock_ns: Some(1080 * MS), ..evidence(1000) }.settle();
    assert_eq!((agrees.total_ns, agrees.quality), (1000 * MS, Quality::Exact));

    let missed = CpuEvidence { missed_processes: Some("none was free"), ..evidence(1000) }.settle();
    assert_eq!((missed.total_ns, missed.quality), (1000 * MS, Quality::LowerBound));
    assert_eq!(missed.reason.as_deref(), Some("none was free"));
    assert!(missed.accounts_are_short && !missed.main_is_short);

    let hole = CpuEvidence { has_hole: true, ..evidence(1000) }.settle();
    assert_eq!((hole.total_ns, hole.quality), (1000 * MS, Quality::LowerBound));
    assert!(hole.reason.expect("a reason").contains("discards"));
    assert!(hole.accounts_are_short && !hole.main_is_short);

    let end = CpuEvidence { end_is_missing: true, ..evidence(1000) }.settle();
    assert_eq!((end.total_ns, end.quality), (1000 * MS, Quality::LowerBound));
    assert!(end.accounts_are_short && end.main_is_short);

    let threads = CpuEvidence { threads: 400, ..evidence(1000) }.settle();
    assert_eq!((threads.total_ns, threads.quality), (1000 * MS, Quality::LowerBound));
    assert!(
        !threads.accounts_are_short && threads.main_is_short,
        "bytes and faults are not lost with threads"
    );
    let few = CpuEvidence { threads: 200, ..evidence(1000) }.settle();
    assert_eq!(few.quality, Quality::Exact);
    // 2,000 short programs were short of 8 ms in 2 s, and of 12 in 4.06 s on a machine whose cores were taken away.
    for accounts_ms in [2000, 4059] {
        let storm = CpuEvidence { processes: 2_000, ..evidence(accounts_ms) }.settle();
        assert_eq!((storm.quality, storm.main_is_short), (Quality::LowerBound, false));
    }
    let usual = CpuEvidence { processes: 500, ..evidence(2000) }.settle();
    assert_eq!(usual.quality, Quality::Exact);
}

#[test]
fn time_in_whole_ticks_has_bounds() {
    let rounded = |rounded, before| {
        let mut evidence = CpuEvidence { rounded_before: before, ..evidence(1000) };
        evidence.combined.gaps = Gaps { rounded, ..Gaps::default() };
        evidence.settle()
    };
    let one = rounded(1, 0);
    assert_eq!((one.quality, one.bounds_ns), (Quality::LowerBound, Some((1000 * MS, 1020 * MS))));
    assert!(!one.accounts_are_short && one.reason.is_some());
    let three = rounded(3, 1);
    assert_eq!((three.quality, three.bounds_ns), (Quality::Estimate, Some((980 * MS, 1040 * MS))));
}

#[test]
fn what_a_tick_has_shown_stands_where_it_is_close() {
    let total = evidence(1000).settle();
    let combined = evidence(1000).combined;
    assert_eq!(total.whole(combined, None).cpu_ns, 1000 * MS);
    assert_eq!(total.whole(combined, Some(1001 * MS)).cpu_ns, 1001 * MS);
    assert_eq!(total.whole(combined, Some(900 * MS)).cpu_ns, 1000 * MS);
    assert_eq!(total.whole(combined, Some(1100 * MS)).cpu_ns, 1000 * MS, "counted twice while it looked");
    let by_group = CpuEvidence { group: group(1001, Some(7)), ..evidence(1000) }.settle();
    assert_eq!(by_group.whole(combined, None).system_ns, 7 * MS, "not what the accounts guess");
}
