use super::*;

fn account(base: u64) -> Account {
    Account {
        cpu_ns: base,
        system_ns: base + 1,
        io: Io {
            read_chars_bytes: base + 2,
            write_chars_bytes: base + 3,
            read_storage_bytes: base + 4,
            write_storage_bytes: base + 5,
        },
        faults_minor: base + 6,
        faults_major: base + 7,
        switches_voluntary: base + 8,
        switches_involuntary: base + 9,
        gaps: Gaps::default(),
    }
}

fn fields(account: &Account) -> [u64; 10] {
    [
        account.cpu_ns,
        account.system_ns,
        account.io.read_chars_bytes,
        account.io.write_chars_bytes,
        account.io.read_storage_bytes,
        account.io.write_storage_bytes,
        account.faults_minor,
        account.faults_major,
        account.switches_voluntary,
        account.switches_involuntary,
    ]
}

#[test]
fn every_amount_is_added_and_subtracted() {
    let mut sum = account(100);
    sum.add(&account(1000));
    for (at, value) in fields(&sum).into_iter().enumerate() {
        assert_eq!(value, 1100 + 2 * at as u64, "field {at}");
    }
    assert_eq!(sum.since(&account(100)), account(1000));
    assert_eq!(fields(&account(1).since(&account(100))), [0; 10], "a counter that steps back is no negative");
}

#[test]
fn a_sum_and_a_difference_have_the_gaps_of_both() {
    let with = |gaps| Account { gaps, ..account(5) };
    let all = Gaps { chars: true, storage: true, switches: true, rounded: 2 };
    for gaps in [
        Gaps { chars: true, ..Gaps::default() },
        Gaps { storage: true, ..Gaps::default() },
        Gaps { switches: true, ..Gaps::default() },
        Gaps { rounded: 2, ..Gaps::default() },
    ] {
        let mut sum = account(1);
        sum.add(&with(gaps));
        assert_eq!(sum.gaps, gaps);
        assert_eq!(account(9).since(&with(gaps)).gaps, gaps);
        assert_eq!(with(all).since(&with(gaps)).gaps.rounded, 2 + gaps.rounded);
    }
}

#[test]
fn user_time_is_what_is_not_of_the_kernel() {
    assert_eq!(Account { cpu_ns: 10, system_ns: 3, ..Account::default() }.user_ns(), 7);
    assert_eq!(Account { cpu_ns: 3, system_ns: 10, ..Account::default() }.user_ns(), 0);
}

#[test]
fn time_of_a_meter_inside_comes_off_the_kernels_part_first() {
    let account = |cpu_ns, system_ns| Account { cpu_ns, system_ns, ..Account::default() };
    assert_eq!(account(100, 40).without_cpu(30), account(70, 10));
    assert_eq!(account(100, 20).without_cpu(30), account(70, 0));
    assert_eq!(account(100, 95).without_cpu(10), account(90, 85));
    assert_eq!(account(20, 20).without_cpu(30), account(0, 0));
}

#[test]
fn no_part_is_above_its_whole() {
    let steps = [0u64, 1, 10, 30, 60, 90, 100, 130];
    for cpu_ns in steps {
        for system_ns in steps.into_iter().filter(|system_ns| *system_ns <= cpu_ns) {
            let whole = Account { cpu_ns, system_ns, ..Account::default() };
            for main_cpu_ns in steps {
                for main_system_ns in steps.into_iter().filter(|system_ns| *system_ns <= main_cpu_ns) {
                    let main =
                        Account { cpu_ns: main_cpu_ns, system_ns: main_system_ns, ..Account::default() };
                    let (main, rest) = share_out(&whole, main);
                    assert_eq!(main.cpu_ns + rest.cpu_ns, whole.cpu_ns);
                    assert_eq!(main.system_ns + rest.system_ns, whole.system_ns);
                    assert_eq!(main.user_ns() + rest.user_ns(), whole.user_ns(), "{whole:?} {main:?}");
                    assert!(main.system_ns <= main.cpu_ns && rest.system_ns <= rest.cpu_ns);
                }
            }
        }
    }
}

#[test]
fn a_guess_that_fits_stands() {
    let account = |cpu_ns, system_ns| Account { cpu_ns, system_ns, ..Account::default() };
    assert_eq!(share_out(&account(100, 40), account(60, 30)), (account(60, 30), account(40, 10)));
}

#[test]
fn a_split_that_the_kernel_changes_its_mind_about_neither_falls_nor_exceeds_its_total() {
    let of = |cpu_ns, system_ns| Account { cpu_ns, system_ns, ..Account::default() };
    // (total, system as the kernel says) at one tick after the other.
    let ticks = [(100, 0), (101, 11), (150, 60), (200, 55), (200, 90), (190, 0), (400, 300)];
    let (mut cpu, mut user, mut system) = (0, 0, 0);
    for (cpu_ns, system_ns) in ticks {
        let account = of(cpu_ns, system_ns).with_steady_split(user, system);
        let now = (cpu_ns.max(cpu), account.user_ns().max(user), account.system_ns.max(system));
        assert_eq!((now.1, now.2), (account.user_ns().max(user), account.system_ns), "no part falls");
        assert!(now.1 + now.2 <= now.0, "{now:?} after {:?}", (cpu, user, system));
        (cpu, user, system) = now;
    }
    // In the end the kernel's word is followed as far as it can be.
    assert_eq!((cpu, user, system), (400, 145, 255));
}

#[test]
fn the_whole_has_the_switches_of_its_part() {
    let part = Account { switches_voluntary: 7, switches_involuntary: 13, cpu_ns: 9, ..Account::default() };
    let whole = Account { switches_voluntary: 20, switches_involuntary: 12, cpu_ns: 5, ..Account::default() };
    let whole = whole.with_switches_of(&part);
    assert_eq!((whole.switches_voluntary, whole.switches_involuntary, whole.cpu_ns), (20, 13, 5));
}
