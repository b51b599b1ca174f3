use super::*;

/// Brute force over all subsets: the independent witness of the counted distributions.
fn brute_force_p(base: &[f64], new: &[f64]) -> f64 {
    let (ranks, _) = doubled_ranks(base, new);
    let observed: u64 = ranks[base.len()..].iter().sum();
    let (mut low, mut high, mut whole) = (0u32, 0u32, 0u32);
    for mask in 0u32..1 << ranks.len() {
        if mask.count_ones() as usize != new.len() {
            continue;
        }
        let sum: u64 =
            ranks.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, rank)| rank).sum();
        whole += 1;
        low += u32::from(sum <= observed);
        high += u32::from(sum >= observed);
    }
    (2.0 * f64::from(low.min(high)) / f64::from(whole)).min(1.0)
}

#[test]
fn p_values_agree_with_brute_force_with_and_without_ties() {
    let sets: &[(&[f64], &[f64])] = &[
        (&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]),
        (&[1.0, 4.0, 3.0, 9.0], &[2.0, 5.0, 6.0, 7.0, 8.0]),
        (&[1.0, 1.0, 2.0, 2.0, 3.0], &[2.0, 2.0, 3.0, 3.0]),
        (&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], &[0.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        (&[5.0, 5.0], &[5.0, 5.0, 5.0]),
        (&[1.5], &[1.0, 2.0, 3.0, 0.5, 0.1, 9.0, 7.0]),
    ];
    for (base, new) in sets {
        for (a, b) in [(base, new), (new, base)] {
            let p = rank_sum_p(a, b).unwrap();
            assert!((p - brute_force_p(a, b)).abs() < 1e-12, "{a:?} {b:?} {p}");
        }
    }
    assert_eq!(rank_sum_p(&[], &[1.0]), None);
}

#[test]
fn known_values_of_the_literature() {
    // Complete separation of two sets of n has p = 2 / C(2n, n).
    let low: Vec<f64> = (0..20).map(f64::from).collect();
    let high: Vec<f64> = (100..120).map(f64::from).collect();
    let p = rank_sum_p(&low, &high).unwrap();
    assert!((p / (2.0 / 137_846_528_820.0) - 1.0).abs() < 1e-9);
    assert!((least_p(20, 20) / p - 1.0).abs() < 1e-9);
    assert!((least_p(5, 5) - 2.0 / 252.0).abs() < 1e-12);
    // Critical value of Mann-Whitney tables: n = m = 10, U = 23 is the last with p <= 0.05.
    let counts = u_counts(10, 10);
    assert!(two_tails(&counts, 23) <= 0.05 && two_tails(&counts, 24) > 0.05);
    assert!((normal_two_tails(1.959_963_985) - 0.05).abs() < 1e-9);
    assert!((normal_two_tails(2.999_999) - normal_two_tails(3.000_001)).abs() < 1e-7);
    assert!((normal_two_tails(4.0) / 6.334_248_366_6e-5 - 1.0).abs() < 1e-8);
    assert_eq!(normal_two_tails(0.0), 1.0);
}

#[test]
fn the_approximation_continues_the_exact_test() {
    let base: Vec<f64> = (0..30).map(|i| f64::from(i) * 1.01).collect();
    let new: Vec<f64> = (0..30).map(|i| f64::from(i) * 1.07 + 4.0).collect();
    let exact = rank_sum_p(&base, &new).unwrap();
    let (ranks, _) = doubled_ranks(&base, &new);
    let approximate = normal_p(&ranks, 30, ranks[30..].iter().sum());
    assert!((exact - approximate).abs() < 0.005, "{exact} {approximate}");
    let more: Vec<f64> = new.iter().chain(&[99.0]).copied().collect();
    assert!((rank_sum_p(&base, &more).unwrap() - exact).abs() < 0.05);
    assert_eq!(rank_sum_p(&[1.0; 40], &[1.0; 40]), Some(1.0));
}

#[test]
fn medians_and_their_intervals() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
    assert_eq!(median_interval(&[6.0, 1.0, 2.0, 3.0, 4.0, 5.0]), Some([1.0, 6.0]));
    // The table value for n = 20: the 6th and the 15th.
    let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
    assert_eq!(median_interval(&twenty), Some([6.0, 15.0]));
    // Where the exact count gives way to the approximation, the interval goes on growing like a root.
    for count in [1000, 1001, 5000] {
        let many: Vec<f64> = (0..count).map(f64::from).collect();
        let [low, high] = median_interval(&many).unwrap();
        let expected = 1.96 * f64::from(count).sqrt();
        assert!((high - low - expected).abs() < 4.0, "{count}: {low} {high}");
    }
}

#[test]
fn the_ratio_interval_brackets_the_truth_and_needs_positive_values() {
    let base: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i % 7)).collect();
    let new: Vec<f64> = base.iter().map(|value| value * 1.1).collect();
    let [low, high] = ratio_interval(&base, &new).unwrap();
    // The table value for 20 and 20: the 128th smallest and the 128th largest of 400 pairs.
    let mut pairs: Vec<f64> = new.iter().flat_map(|new| base.iter().map(move |base| new / base)).collect();
    pairs.sort_by(f64::total_cmp);
    assert_eq!([low, high], [pairs[127], pairs[400 - 128]]);
    assert!(low > 1.07 && low <= 1.1 && (1.1..1.13).contains(&high), "{low} {high}");
    // Thousands of runs: thinned, narrower, and still around the truth.
    let base: Vec<f64> = (0..6000).map(|i| 100.0 + f64::from(i % 997) / 100.0).collect();
    let new: Vec<f64> = base.iter().map(|value| value * 1.1).collect();
    let [low, high] = ratio_interval(&base, &new).unwrap();
    assert!((1.095..=1.1).contains(&low) && (1.1..1.105).contains(&high), "{low} {high}");
    assert_eq!(ratio_interval(&[0.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]), None);
    assert_eq!(ratio_interval(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), None);
}
