use super::*;

const T: u64 = 1_700_000_000_000_000;
const ID: ProcessId = ProcessId { pid: 7, start_ticks: 1 };

fn entry(time_us: u64, sm: u32) -> UtilizationSample {
    UtilizationSample { pid: 7, time_us, sm, memory: sm.min(100) / 2, ..UtilizationSample::default() }
}

fn at(ms: u64) -> Look {
    Look { wall_us: T + ms * 1000, steady_us: 50_000 + ms * 1000 }
}

/// One look: what was heard, and the level after it.
fn look(window: &mut Window, ms: u64, entries: &[UtilizationSample]) -> (Heard, Option<u64>) {
    let heard = window.take(ID, at(ms), entries);
    window.settle(at(ms), |_| true);
    (heard, window.level(ID).map(|level| level.busy_ppm / 10_000))
}

#[test]
fn entries_are_weighed_by_the_time_between_their_own_stamps() {
    let mut window = Window::default();
    assert_eq!(look(&mut window, 0, &[entry(T, 40)]), (Heard::News, Some(40)));
    assert_eq!(window.since_us(at(0)), T);
    let pair = [entry(T + 500_000, 40), entry(T + 600_000, 100)];
    assert_eq!(look(&mut window, 600, &pair), (Heard::News, Some(50)));
    // A driver that ignores the time stamp and repeats itself tells nothing new; the level stands.
    assert_eq!(look(&mut window, 650, &pair), (Heard::Nothing, Some(50)));
}

#[test]
fn silence_is_idle_after_two_periods_of_our_own_clock() {
    let mut window = Window::default();
    look(&mut window, 0, &[entry(T, 10)]);
    look(&mut window, 200, &[entry(T + 200_000, 80)]);
    assert_eq!(look(&mut window, 550, &[]).1, Some(80));
    assert_eq!(look(&mut window, 650, &[]).1, None);
    // Idle, it no longer holds the question back.
    assert_eq!(window.since_us(at(5000)), T + 650_000 - LONGEST_PERIOD_US);
    assert_eq!(look(&mut window, 5000, &[entry(T + 4_900_000, 30)]).1, Some(30));
}

#[test]
fn garbage_is_told_apart_and_never_becomes_a_level() {
    for garbage in [entry(T, 2_147_483_632), entry(T + 10_000_000_000_000, 100), entry(5, 100)] {
        let mut window = Window::default();
        assert_eq!(look(&mut window, 0, &[garbage]), (Heard::Garbage, None));
        assert_eq!(look(&mut window, 100, &[entry(T + 90_000, 40), garbage]), (Heard::News, Some(40)));
        assert_eq!(look(&mut window, 200, &[garbage]).1, Some(40), "the true level is held");
    }
}

#[test]
fn a_clock_that_is_set_back_loses_no_process() {
    let mut window = Window::default();
    look(&mut window, 3_600_000, &[entry(T + 3_600_000_000, 70)]);
    assert!(window.since_us(at(0)) <= T);
    assert_eq!(look(&mut window, 0, &[entry(T, 20)]), (Heard::News, Some(20)));
}

#[test]
fn what_is_old_at_the_first_look_is_no_level() {
    let mut window = Window::default();
    assert_eq!(look(&mut window, 0, &[entry(T - 20_000_000, 90)]), (Heard::Nothing, None));
}
