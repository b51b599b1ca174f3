use super::*;

const T: u64 = 1_700_000_000_000_000;

fn sample(pid: u32, time_us: u64, sm: u32) -> UtilizationSample {
    UtilizationSample { pid, time_us, sm, memory: sm / 2, ..UtilizationSample::default() }
}

fn busy(verdict: Verdict) -> Vec<(i32, u64, u64)> {
    match verdict {
        Verdict::Shares(list) => {
            list.iter().map(|share| (share.pid, share.busy_ns, share.busy_ppm)).collect()
        }
        other => panic!("expected shares, got {other:?}"),
    }
}

#[test]
fn time_is_neither_lost_nor_counted_twice() {
    let mut window = Window::default();
    assert_eq!(busy(window.take(T, &mut [sample(7, T, 40)])), [(7, 0, 400_000)]);
    assert_eq!(window.since_us(), T);
    // One second at 50 %, given whole or in two halves, is half a second.
    assert_eq!(
        busy(window.take(T + 1_000_000, &mut [sample(7, T + 1_000_000, 50)])),
        [(7, 500_000_000, 500_000)]
    );
    let mut halves =
        [sample(7, T + 2_000_000, 60), sample(7, T + 1_500_000, 40), sample(8, T + 2_000_000, 10)];
    assert_eq!(
        busy(window.take(T + 2_000_000, &mut halves)),
        [(7, 500_000_000, 500_000), (8, 100_000_000, 100_000)]
    );
    // A driver that ignores the time stamp and repeats itself adds nothing.
    assert_eq!(window.take(T + 2_000_100, &mut [sample(7, T + 2_000_000, 60)]), Verdict::Hold);
}

#[test]
fn a_process_that_stops_in_the_window_counts_up_to_its_last_sample() {
    let mut window = Window::default();
    window.take(T, &mut [sample(1, T, 0)]);
    let mut samples = [sample(1, T + 250_000, 100), sample(2, T + 1_000_000, 20)];
    assert_eq!(
        busy(window.take(T + 1_000_000, &mut samples)),
        [(1, 250_000_000, 250_000), (2, 200_000_000, 200_000)]
    );
}

#[test]
fn silence_is_held_for_a_period_and_then_idle_and_a_pause_is_not_filled_up() {
    let mut window = Window::default();
    window.take(T, &mut [sample(1, T, 10)]);
    window.take(T + 200_000, &mut [sample(1, T + 200_000, 80)]);
    assert_eq!(window.take(T + 300_000, &mut []), Verdict::Hold);
    assert_eq!(window.take(T + 700_000, &mut []), Verdict::Idle);
    for step in 1..=20 {
        assert_eq!(window.take(T + 700_000 + step * 1_000_000, &mut []), Verdict::Idle);
    }
    // 20 s of silence, then a busy sample: at most two call distances are charged, not 20 s.
    let mut late = [sample(1, T + 21_000_000, 100)];
    let counted = busy(window.take(T + 21_100_000, &mut late));
    assert!(counted[0].1 <= 2_000_000_000, "{counted:?}");
}

#[test]
fn work_that_begins_after_the_first_empty_call_counts_from_that_call() {
    let mut window = Window::default();
    assert_eq!(window.take(T, &mut []), Verdict::Idle);
    let mut first = [sample(3, T + 500_000, 100)];
    assert_eq!(busy(window.take(T + 600_000, &mut first)), [(3, 500_000_000, 1_000_000)]);
}

#[test]
fn splitting_the_calls_never_changes_the_total() {
    let script: Vec<_> =
        (1..=60u64).map(|step| sample(5, T + step * 167_000, (step * 37 % 101) as u32)).collect();
    let total = |batch: usize| -> u64 {
        let mut window = Window::default();
        window.take(T, &mut [sample(5, T, 0)]);
        script
            .chunks(batch)
            .map(|chunk| {
                let now = chunk.last().unwrap().time_us;
                busy(window.take(now, &mut chunk.to_vec())).iter().map(|row| row.1).sum::<u64>()
            })
            .sum()
    };
    let whole = total(60);
    for batch in [1, 2, 3, 7, 59] {
        assert_eq!(total(batch), whole);
    }
}
