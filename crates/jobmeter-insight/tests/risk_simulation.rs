//! The risk-aware bound on simulated job families: how often it is exceeded and what it wastes.
//! Deterministic: every figure below follows from its seed. `--nocapture` prints the table.

#![allow(clippy::print_stdout)] // The printed table is a product of this test.

use jobmeter_insight::policy::risk::upper_bound;
use jobmeter_insight::policy::scale::fit;

type Family<'a> = &'a dyn Fn(&mut Random) -> f64;

const CHANCE: f64 = 0.01;
const FRESH_DRAWS: usize = 100_000;

/// SplitMix64 and the polar method: independent of the code under test.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }
}

/// Outcome for one family: advised by us, and by "the largest seen plus a fifth".
struct Outcome {
    exceeded: f64,
    waste: f64,
    rule_exceeded: f64,
    rule_waste: f64,
}

fn trial(seed: u64, runs: usize, draws: usize, family: Family<'_>) -> Outcome {
    let mut random = Random(seed);
    let seen: Vec<f64> = (0..runs).map(|_| family(&mut random)).collect();
    let advised = upper_bound(&seen, CHANCE).unwrap().value;
    let rule = seen.iter().fold(0f64, |a, b| a.max(*b)) * 1.2;
    let mut outcome = Outcome { exceeded: 0.0, waste: 0.0, rule_exceeded: 0.0, rule_waste: 0.0 };
    let share = 1.0 / draws as f64;
    for _ in 0..draws {
        let need = family(&mut random);
        outcome.exceeded += if need > advised { share } else { 0.0 };
        outcome.rule_exceeded += if need > rule { share } else { 0.0 };
        outcome.waste += (advised - need).max(0.0) * share;
        outcome.rule_waste += (rule - need).max(0.0) * share;
    }
    outcome
}

fn lognormal(sigma: f64) -> impl Fn(&mut Random) -> f64 {
    move |random| 10e9 * (sigma * random.normal()).exp()
}

/// Over many families, so that no seed is lucky: figures are means over the replicates.
fn average(runs: usize, replicates: u64, family: Family<'_>) -> (Outcome, f64) {
    let mut sum = Outcome { exceeded: 0.0, waste: 0.0, rule_exceeded: 0.0, rule_waste: 0.0 };
    let mut held = 0.0;
    for seed in 0..replicates {
        let one = trial(1000 + seed, runs, 5000, family);
        let share = 1.0 / replicates as f64;
        sum.exceeded += one.exceeded * share;
        sum.waste += one.waste * share;
        sum.rule_exceeded += one.rule_exceeded * share;
        sum.rule_waste += one.rule_waste * share;
        held += if one.exceeded <= 0.015 { share } else { 0.0 };
    }
    (sum, held)
}

#[test]
fn lognormal_families_with_a_hundred_runs_and_more() {
    println!("seed 20251115, risk 1 %, {FRESH_DRAWS} fresh draws; waste in GB per run");
    println!("sigma  runs  exceeded  waste   | max+20 %: exceeded  waste");
    for sigma in [0.1, 0.25, 0.5, 1.0] {
        for runs in [10, 100, 1000] {
            let one = trial(20_251_115, runs, FRESH_DRAWS, &lognormal(sigma));
            println!(
                "{sigma:5} {runs:5}  {:6.3} %  {:6.2}  |           {:6.3} %  {:6.2}",
                100.0 * one.exceeded,
                one.waste / 1e9,
                100.0 * one.rule_exceeded,
                one.rule_waste / 1e9
            );
            if runs >= 100 {
                assert!(one.exceeded <= 0.015, "sigma {sigma}, {runs} runs: {}", one.exceeded);
                assert!(one.waste < one.rule_waste, "sigma {sigma}, {runs} runs");
            }
        }
    }
}

#[test]
fn the_figures_are_not_luck() {
    println!("means over 60 families each; `held` is the share of families exceeded at most 1.5 %");
    println!("sigma  runs  exceeded   held   waste  | max+20 %: exceeded  waste");
    for sigma in [0.1, 0.25, 0.5, 1.0] {
        for runs in [10, 100, 1000] {
            let (mean, held) = average(runs, 60, &lognormal(sigma));
            println!(
                "{sigma:5} {runs:5}  {:6.3} %  {:4.0} %  {:6.2}  |           {:6.3} %  {:6.2}",
                100.0 * mean.exceeded,
                100.0 * held,
                mean.waste / 1e9,
                100.0 * mean.rule_exceeded,
                mean.rule_waste / 1e9
            );
            assert!(mean.exceeded <= 0.015, "sigma {sigma}, {runs} runs: {}", mean.exceeded);
            if runs >= 100 {
                assert!(mean.exceeded <= CHANCE, "sigma {sigma}, {runs} runs: {}", mean.exceeded);
                assert!(held >= 0.93, "sigma {sigma}, {runs} runs: held in {held}");
            }
            if runs >= 1000 || (runs >= 100 && sigma <= 0.5) {
                assert!(mean.waste < mean.rule_waste, "sigma {sigma}, {runs} runs");
            }
        }
    }
}

/// Families that are not lognormal must not be a catastrophe: the observed order statistics hold the bound up.
#[test]
fn other_families_are_not_a_catastrophe() {
    let mixture = |random: &mut Random| {
        let scale = if random.uniform() < 0.05 { 8.0 } else { 1.0 };
        1e9 * scale * (0.1 * random.normal()).exp()
    };
    let pareto = |random: &mut Random| 1e9 * (1.0 - random.uniform()).powf(-1.0 / 3.0);
    let uniform = |random: &mut Random| 1e9 * (1.0 + random.uniform());
    let normal = |random: &mut Random| 1e9 * (10.0 + random.normal()).max(1.0);
    let families: [(&str, Family<'_>, f64); 4] = [
        ("mixture", &mixture, 0.03),
        ("pareto", &pareto, 0.03),
        ("uniform", &uniform, 0.01),
        ("normal", &normal, 0.012),
    ];
    for (name, family, allowed) in families {
        for runs in [100, 1000] {
            let (mean, _) = average(runs, 40, family);
            println!("{name} {runs}: exceeded {:.3} %", 100.0 * mean.exceeded);
            let allowed = if runs >= 1000 { 0.0125 } else { allowed };
            assert!(mean.exceeded <= allowed, "{name}, {runs} runs: {}", mean.exceeded);
        }
    }
}

/// Need that follows the input size: the bound at a new size holds as well, and needs far less than the largest
/// run plus a fifth.
#[test]
fn families_that_follow_their_input() {
    let input = |random: &mut Random| 1e9 * (1.0 + 29.0 * random.uniform());
    let need_of = |random: &mut Random, input: f64| (2e9 + 0.6 * input) * (0.15 * random.normal()).exp();
    for runs in [10, 30, 100] {
        let (mut exceeded, mut waste, mut rule_waste, mut count) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..40 {
            let mut random = Random(7000 + seed);
            let mut draw = || {
                let input = input(&mut random);
                (input, need_of(&mut random, input))
            };
            let seen: Vec<(f64, f64)> = (0..runs).map(|_| draw()).collect();
            let curve = fit(&seen).unwrap();
            let rule = seen.iter().fold(0f64, |most, (_, need)| most.max(*need)) * 1.2;
            for input in [2e9, 8e9, 15e9, 25e9] {
                let advised = curve.upper_bound(input, CHANCE);
                for _ in 0..500 {
                    let need = need_of(&mut random, input);
                    exceeded += f64::from(u8::from(need > advised));
                    waste += (advised - need).max(0.0);
                    rule_waste += (rule - need).max(0.0);
                    count += 1.0;
                }
            }
        }
        println!(
            "input-scaled, {runs} runs: exceeded {:.2} %, waste {:.2} GB against {:.2} GB",
            100.0 * exceeded / count,
            waste / count / 1e9,
            rule_waste / count / 1e9
        );
        let allowed = if runs >= 30 { 0.012 } else { 0.025 };
        assert!(exceeded / count <= allowed, "{runs} runs: {}", exceeded / count);
        assert!(waste < 0.7 * rule_waste, "{runs} runs: {waste} against {rule_waste}");
    }
}
