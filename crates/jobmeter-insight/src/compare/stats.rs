//! Order statistics and the exact rank test. No distribution is assumed of the noise.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Up to this many values in both sets together the null distribution is counted out; beyond it the normal
/// approximation is closer than anything that matters.
const EXACT_LIMIT: usize = 60;

/// Middle value, mean of the two middle ones; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The pair of order statistics that holds the true median with at least 95 % confidence; below six values
/// no pair does.
pub fn median_interval(values: &[f64]) -> Option<[f64; 2]> {
    let sorted = sorted(values);
    let count = sorted.len();
    if count > 1000 {
        // Two to the power of -count underflows; the binomial is normal by now. Rounded outwards.
        let rank = ((count as f64 - 1.96 * (count as f64).sqrt()) / 2.0).floor() as usize - 1;
        return Some([sorted[rank], sorted[count - 1 - rank]]);
    }
    // P(fewer than k + 1 of n values lie below the median), from the binomial with one half.
    let mut term = 0.5f64.powi(count as i32);
    let mut below = 0.0;
    let mut rank = None;
    for k in 0..count / 2 {
        below += term;
        if below > 0.025 {
            break;
        }
        rank = Some(k);
        term *= (count - k) as f64 / (k + 1) as f64;
    }
    rank.map(|rank| [sorted[rank], sorted[count - 1 - rank]])
}

/// Median absolute deviation, scaled to be the standard deviation of normal noise.
pub(super) fn robust_spread(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let middle = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&deviations).map(|deviation| 1.4826 * deviation)
}

/// Two-sided p-value of the rank-sum (Mann-Whitney) test that both sets come from one distribution. Exact,
/// ties included, up to sixty values; `None` if a set is empty.
pub fn rank_sum_p(base: &[f64], new: &[f64]) -> Option<f64> {
    if base.is_empty() || new.is_empty() {
        return None;
    }
    let (ranks, tied) = doubled_ranks(base, new);
    let sum: u64 = ranks[base.len()..].iter().sum();
    let p = if ranks.len() > EXACT_LIMIT {
        normal_p(&ranks, new.len(), sum)
    } else if tied {
        let (counts, observed) = subset_sums(&ranks, new.len(), sum);
        two_tails(&counts, observed)
    } else {
        // Doubled rank sum to Mann-Whitney's U.
        let u = sum / 2 - (new.len() * (new.len() + 1) / 2) as u64;
        two_tails(&u_counts(base.len(), new.len()), u as usize)
    };
    Some(p.min(1.0))
}

/// The smallest p-value that sets of these sizes can show at all.
pub(super) fn least_p(base: usize, new: usize) -> f64 {
    // 2 / C(base + new, new), multiplied out to stay in range.
    (1..=new).fold(2.0, |p, i| p * i as f64 / (base + i) as f64)
}

/// Confidence interval (95 %) of the ratio new/base: the Hodges-Lehmann interval over all pairs, which
/// agrees with the rank test. `None` unless all values are positive and the sets large enough.
pub(super) fn ratio_interval(base: &[f64], new: &[f64]) -> Option<[f64; 2]> {
    if base.iter().chain(new).any(|value| *value <= 0.0) {
        return None;
    }
    let pairs = base.len() * new.len();
    let cut = if base.len() + new.len() > EXACT_LIMIT {
        let spread = (pairs as f64 * (base.len() + new.len() + 1) as f64 / 12.0).sqrt();
        (pairs as f64 / 2.0 - 1.96 * spread).floor().max(0.0) as usize
    } else {
        let counts = u_counts(base.len(), new.len());
        let whole: f64 = counts.iter().sum();
        let mut tail = 0.0;
        counts
            .iter()
            .take_while(|count| {
                tail += *count / whole;
                tail <= 0.025
            })
            .count()
    };
    if cut == 0 {
        return None;
    }
    let (base, new) = (thinned(base), thinned(new));
    let ratios: Vec<f64> = new.iter().flat_map(|new| base.iter().map(move |base| new / base)).collect();
    let ratios = sorted(&ratios);
    // The same share of the pairs, where the sets were thinned; the same pair, where not.
    let place = ((cut - 1) as f64 / pairs as f64 * ratios.len() as f64) as usize;
    Some([ratios[place], ratios[ratios.len() - 1 - place]])
}

/// All values, or as many evenly spaced quantiles as make a pairing that costs little.
fn thinned(values: &[f64]) -> Vec<f64> {
    const MOST: usize = 500;
    let sorted = sorted(values);
    if sorted.len() <= MOST {
        return sorted;
    }
    (0..MOST).map(|i| sorted[i * (sorted.len() - 1) / (MOST - 1)]).collect()
}

/// Twice the mid-rank of each value in the joint order, base first, so that ties stay integers.
fn doubled_ranks(base: &[f64], new: &[f64]) -> (Vec<u64>, bool) {
    let values: Vec<f64> = base.iter().chain(new).copied().collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut tied = false;
    let mut first = 0;
    while first < order.len() {
        let mut last = first;
        while last + 1 < order.len() && values[order[last + 1]] == values[order[first]] {
            last += 1;
        }
        tied |= last > first;
        for place in &order[first..=last] {
            ranks[*place] = (first + last + 2) as u64;
        }
        first = last + 1;
    }
    (ranks, tied)
}

/// Null distributions by the sizes of both sets.
type Distributions = BTreeMap<(usize, usize), Rc<[f64]>>;

/// How many ways each U arises without ties. Every figure of a comparison asks for the same sizes, so they are
/// kept; at most some 1,800 pairs of sizes are below the limit.
fn u_counts(base: usize, new: usize) -> Rc<[f64]> {
    // Of each thread: a lock would stay taken in a child that is forked while another thread counts.
    thread_local! { static KEPT: RefCell<Distributions> = const { RefCell::new(BTreeMap::new()) } }
    KEPT.with_borrow_mut(|kept| {
        Rc::clone(kept.entry((base, new)).or_insert_with(|| gaussian_binomial(base, new).into()))
    })
}

/// The coefficients of the Gaussian binomial.
fn gaussian_binomial(base: usize, new: usize) -> Vec<f64> {
    let top = base * new;
    // Whole numbers below C(60, 30), about 1.2e17, with signs on the way.
    let mut counts = vec![0i128; top + 1];
    counts[0] = 1;
    for i in 1..=new {
        let shift = base + i;
        for place in (shift..=top).rev() {
            counts[place] -= counts[place - shift];
        }
        for place in i..=top {
            counts[place] += counts[place - i];
        }
    }
    counts.into_iter().map(|count| count as f64).collect()
}

/// How many subsets of `size` ranks have each sum, and where the observed sum stands: the permutation
/// distribution with ties. Ranks are measured from the least one in their greatest common step, which makes
/// the table small exactly where ties are many.
fn subset_sums(ranks: &[u64], size: usize, observed: u64) -> (Vec<f64>, usize) {
    let least = ranks.iter().copied().min().unwrap_or(0);
    let step = ranks.iter().fold(0, |step, rank| greatest_common_divisor(step, rank - least)).max(1);
    let mut ranks: Vec<usize> = ranks.iter().map(|rank| ((rank - least) / step) as usize).collect();
    ranks.sort_unstable();
    let width = ranks[ranks.len() - size..].iter().sum::<usize>() + 1;
    let mut counts = vec![0.0f64; (size + 1) * width];
    counts[0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        // Fewer could not be filled up from what is left; larger sums cannot have arisen yet.
        let fewest = (size + seen + 1).saturating_sub(ranks.len()).max(1);
        for chosen in (fewest..=size.min(seen + 1)).rev() {
            let reached = ranks[seen + 1 - chosen..=seen].iter().sum::<usize>() + 1;
            let (fewer, more) = counts.split_at_mut(chosen * width);
            let fewer = &fewer[(chosen - 1) * width..];
            for (target, source) in more[*rank..reached].iter_mut().zip(fewer) {
                *target += source;
            }
        }
    }
    (counts.split_off(size * width), ((observed - least * size as u64) / step) as usize)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Twice the smaller tail, the observed value included.
fn two_tails(counts: &[f64], observed: usize) -> f64 {
    let whole: f64 = counts.iter().sum();
    let low: f64 = counts[..=observed].iter().sum();
    let high: f64 = counts[observed..].iter().sum();
    2.0 * low.min(high) / whole
}

/// Normal approximation with the variance of the tied ranks and a continuity correction.
fn normal_p(ranks: &[u64], new: usize, sum: u64) -> f64 {
    let count = ranks.len() as f64;
    let (n, m) = (new as f64, count - new as f64);
    let mean = ranks.iter().sum::<u64>() as f64 / count;
    let variance = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let spread = (n * m / count * variance).sqrt();
    if spread == 0.0 {
        return 1.0;
    }
    // One rank is two in doubled ranks; half a rank of correction is one.
    let z = ((sum as f64 - n * mean).abs() - 1.0).max(0.0) / spread;
    normal_two_tails(z)
}

/// 2 (1 - Phi(z)) by a continued fraction in the tail and a series near zero; relative error below 1e-9.
fn normal_two_tails(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 3.0 {
        let mut term = z;
        let mut series = z;
        for k in 1..200 {
            term *= z * z / (2 * k + 1) as f64;
            series += term;
        }
        return (1.0 - 2.0 * density * series).max(0.0);
    }
    let fraction = (1..=100).rev().fold(0.0, |tail, k| k as f64 / (z + tail));
    2.0 * density / (z + fraction)
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
