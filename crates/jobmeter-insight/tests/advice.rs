//! Advice from summaries with known figures.

mod common;

use common::{GIB, Sample};
use jobmeter_insight::advice::{Advice, Options, Run, advise};
use jobmeter_insight::allocation::{Rule, Verdict, allocation};
use jobmeter_insight::catalogue::Catalogue;
use jobmeter_insight::policy::Policy;
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::{Figure, Metric, Quality, Stat, Summary};

fn risk(runs: &[Summary]) -> Advice {
    advise(runs, &Options::default()).unwrap()
}

fn simple(runs: &[Summary]) -> Advice {
    advise(runs, &Options { policy: Policy::Simple, ..Options::default() }).unwrap()
}

fn gib(advice: &Advice) -> f64 {
    advice.memory_bytes.value.unwrap() as f64 / GIB
}

#[test]
fn the_simple_policy_is_the_reference_rule() {
    let run = Sample {
        memory_bytes: 60_000.0 * 1048576.0,
        gpus: Some((0.8, 1.4, 10.0 * GIB)),
        ..Sample::default()
    };
    let advice = simple(&[run.summary()]);
    assert_eq!(advice.cores.value, Some(3));
    assert_eq!(advice.memory_bytes.value, Some(72_704 << 20), "72,000 MiB or the next step up");
    assert_eq!((advice.gpus.value, advice.vram_bytes.value), (Some(1), Some(12 << 30)));
    assert_eq!(advice.time_s.value, Some(720));
    let rules = Advice::simple_rules(&[Run::of(&run.summary(), "input")]);
    assert_eq!(Some(rules.memory_bytes), advice.memory_bytes.value);
    assert_eq!((rules.cores, rules.gpus, rules.vram_bytes), (3, 1, 12 << 30));

    // Many runs: means are averaged, peaks are maxima, as the reference combines its history.
    let runs = [(2.0, 4.0), (5.0, 9.0), (4.0, 5.0)].map(|(cores_mean, mem)| {
        Sample { cores_mean, memory_bytes: mem * GIB, ..Sample::default() }.summary()
    });
    let advice = simple(&runs);
    assert_eq!((advice.cores.value, gib(&advice)), (Some(4), 11.0));
}

#[test]
fn one_run_says_its_headroom_and_what_was_wasted() {
    let advice = risk(&[Sample::default().summary()]);
    assert_eq!(advice.cores.value, Some(4), "{}", advice.cores.why);
    assert!((15.0..=18.0).contains(&gib(&advice)), "{}", gib(&advice));
    assert!(
        advice.memory_bytes.why.contains("one run says nothing about the spread"),
        "{}",
        advice.memory_bytes.why
    );
    let present = advice.present.as_ref().unwrap();
    assert_eq!(present.text, "asked for 68.7 GB and 16 cores, used 11.8 GB and 3.1 cores");
    assert!((present.memory_times_used.unwrap() - 64.0 / 11.0).abs() < 1e-9);
    let text = advice.to_text();
    assert!(
        text.contains("asked for 68.7 GB and 16 cores") && text.contains("chance of needing more 1 %"),
        "{text}"
    );
}

#[test]
fn headroom_shrinks_as_runs_accumulate() {
    let family = |count: usize| -> Vec<Summary> {
        let wobble = |i: usize| 1.0 + 0.03 * ((i * 7 % 11) as f64 / 5.0 - 1.0);
        (0..count)
            .map(|i| Sample { memory_bytes: 100.0 * GIB * wobble(i), ..Sample::default() }.summary())
            .collect()
    };
    let needs: Vec<f64> = [1, 3, 10, 100].map(|n| risk(&family(n)).memory_bytes.need.unwrap() / GIB).to_vec();
    assert!(needs[1..].windows(2).all(|w| w[1] < w[0]) && needs[3] < needs[0], "{needs:?}");
    assert!(needs[3] > 103.0 && needs[3] < 112.0, "{needs:?}");
    let why = risk(&family(100)).memory_bytes.why;
    assert!(why.contains("at most 1 % of runs need more than") && why.contains("100 runs"), "{why}");
}

#[test]
fn the_upper_bound_counts_not_the_sampled_peak() {
    let run = Sample { memory_bytes: 4.0 * GIB, memory_upper: Some(8.0 * GIB), ..Sample::default() };
    let advice = risk(&[run.summary()]);
    assert!(gib(&advice) >= 11.0, "{}", gib(&advice));
    assert!(advice.memory_bytes.unknown.unwrap().contains("may have reached 8.59 GB instead of the 4.29 GB"));
}

#[test]
fn failed_runs_teach_nothing_and_killed_ones_ask_for_more() {
    let good = Sample::default().summary();
    let failed = Sample { memory_bytes: 90.0 * GIB, exit_code: Some(1), ..Sample::default() }.summary();
    let advice = risk(&[good.clone(), failed]);
    assert_eq!((advice.runs, advice.runs_used), (2, 1));
    assert!(gib(&advice) < 20.0);
    assert!(advice.notes[0].contains("1 of 2 runs failed"), "{:?}", advice.notes);

    let killed =
        Sample { memory_bytes: 64.0 * GIB, verdict: "oom_killed", exit_code: None, ..Sample::default() };
    let advice = risk(&[good, killed.summary()]);
    assert_eq!(gib(&advice), 96.0, "{}", advice.memory_bytes.why);
    assert!(advice.memory_bytes.unknown.unwrap().contains("the true need is not known"));

    let late = Sample { wall_s: 3600.0, verdict: "timeout", exit_code: None, ..Sample::default() };
    assert!(risk(&[late.summary()]).time_s.value.unwrap() >= 5400);
    assert!(advise(&[], &Options::default()).is_err());
}

/// A job that failed halfway says so first, and its figures are what a whole run needs at least.
#[test]
fn a_failed_run_makes_a_floor_and_is_named_first() {
    let failed = Sample { exit_code: Some(3), ..Sample::default() };
    let advice = risk(&[failed.summary()]);
    assert!(advice.is_floor);
    assert_eq!(
        advice.notes[0],
        "the run failed with exit code 3: a whole run may need more, each amount is a floor"
    );
    let text = advice.to_text();
    assert!(
        text.lines().nth(1).is_some_and(|line| line.starts_with("the run failed with exit code 3")),
        "{text}"
    );
    assert!(text.contains("memory  ≥ "), "{text}");
    let killed = Sample { verdict: "oom_killed", exit_code: None, ..Sample::default() };
    assert!(risk(&[killed.summary()]).notes[0].contains("was killed for want of memory"));
    let both = risk(&[failed.summary(), killed.summary()]);
    assert!(both.notes[0].starts_with("none of 2 runs ended well"), "{:?}", both.notes);
    assert!(!risk(&[Sample::default().summary()]).is_floor);
}

#[test]
fn the_advice_says_how_the_bound_was_reached() {
    let mut summary = Sample { memory_upper: Some(12.0 * GIB), ..Sample::default() }.summary();
    let figure = summary.combined.get_mut(Metric::RssBytes, Stat::Max).unwrap();
    figure.reason = Some("upper bound by the peak of the job's own cgroup".to_owned());
    let why = risk(&[summary]).memory_bytes.why;
    assert!(why.ends_with("; upper bound by the peak of the job's own cgroup"), "{why}");
}

/// 500 MB in a memfd are charged to the job by every scheduler.
#[test]
fn memory_that_no_process_maps_is_asked_for() {
    let mut summary = Sample { memory_bytes: GIB, memory_upper: Some(GIB), ..Sample::default() }.summary();
    let mut held = Figure::float(2.0 * GIB, Quality::Estimate);
    held.upper = Some(jobmeter_model::Number::Float(3.0 * GIB));
    summary.combined.set_by_key("unmapped_memory_peak_bytes", held);
    let advice = risk(&[summary]);
    assert!(advice.memory_bytes.need.unwrap() >= 4.0 * GIB, "{:?}", advice.memory_bytes);
    assert!(advice.memory_bytes.why.contains("3.22 GB of it in tmpfs, memfd"), "{}", advice.memory_bytes.why);
}

#[test]
fn a_pool_that_filled_two_cores_is_told_two() {
    let mut summary = Sample { cores_mean: 1.04, ..Sample::default() }.summary();
    assert_eq!(risk(&[summary.clone()]).cores.value, Some(1), "without the figure only the mean is known");
    summary.combined.set_by_key("cores_when_busy", Figure::float(1.96, Quality::Estimate));
    let cores = risk(&[summary.clone()]).cores;
    assert_eq!(cores.value, Some(2), "{}", cores.why);
    assert!(
        cores.why.starts_with("1.96 cores were in use when the job was busy (1.04 on average"),
        "{}",
        cores.why
    );
    summary.combined.set_by_key("cores_when_busy", Figure::float(1.12, Quality::Estimate));
    assert_eq!(risk(&[summary.clone()]).cores.value, Some(1), "a short burst is not worth a core");
    assert_eq!(simple(&[summary]).cores.value, Some(1), "the reference rule knows the mean alone");
}

/// Two cards with 10 and 6 GiB need cards of 10, not of 16.
#[test]
fn vram_is_that_of_one_card() {
    let mut summary = Sample { gpus: Some((1.8, 2.0, 16.0 * GIB)), ..Sample::default() }.summary();
    for (name, gib) in [("0", 10.0), ("1", 6.0)] {
        let figure = Figure::float(gib * GIB, Quality::Sampled);
        summary.gpus.push(EntityFigures {
            name: name.to_owned(),
            figures: [("combined_gpu_memory_bytes_max".to_owned(), figure)].into_iter().collect(),
            facts: std::collections::BTreeMap::new(),
        });
    }
    let advice = simple(&[summary.clone()]);
    assert_eq!((advice.gpus.value, advice.vram_bytes.value), (Some(2), Some(12 << 30)));
    assert!(advice.to_text().contains("VRAM/GPU 12.9 GB"), "{}", advice.to_text());
    let filters = advice.filters();
    assert!(filters.vram_bytes.is_some_and(|bytes| bytes as f64 > 12.0 * GIB && (bytes as f64) < 13.0 * GIB));
}

#[test]
fn the_input_size_scales_the_advice() {
    let runs: Vec<Summary> = (1..=12)
        .map(|i| {
            let wobble = 1.0 + 0.02 * f64::from(i * 5 % 7 - 3) / 3.0;
            let input = f64::from(i) * 1e9;
            Sample {
                memory_bytes: (2.0 * GIB + 0.5 * input) * wobble,
                wall_s: (60.0 + 30.0 * f64::from(i)) * wobble,
                input: Some(format!("{i}GB")),
                ..Sample::default()
            }
            .summary()
        })
        .collect();
    let options = Options { input_bytes: Some(20e9), ..Options::default() };
    let advice = advise(&runs, &options).unwrap();
    let truth = 2.0 * GIB + 10e9;
    let need = advice.memory_bytes.need.unwrap();
    assert!(need > truth && need < truth * 1.25, "{} of {}", need / GIB, truth / GIB);
    let fit = advice.memory_bytes.fit.as_ref().unwrap();
    assert!(fit.r_squared > 0.95 && fit.prediction_error < 0.05, "{fit:?}");
    assert!(advice.memory_bytes.why.contains("R² 0.99") || advice.memory_bytes.why.contains("R² 1.00"));
    assert!(advice.memory_bytes.unknown.as_ref().unwrap().contains("outside the inputs seen"));
    assert!(advice.time_s.need.unwrap() > 660.0 && advice.time_s.need.unwrap() < 900.0);

    // Two sizes are no curve, none at all is said.
    let two = advise(&runs[..2], &options).unwrap();
    assert!(two.memory_bytes.unknown.unwrap().contains("too few different input sizes"));
    let none = advise(&[Sample::default().summary()], &options).unwrap();
    assert!(none.memory_bytes.unknown.unwrap().contains("no run carries a size in the tag `input`"));
}

#[test]
fn unknown_stays_unknown() {
    let mut summary = Sample::default().summary();
    summary.combined.set_by_key("rss_bytes_max", Figure::unavailable("permission denied"));
    summary.combined.set_by_key("gpu_memory_bytes_max", Figure::unavailable("the driver did not answer"));
    let advice = risk(&[summary]);
    assert_eq!((advice.memory_bytes.value, advice.gpus.value), (None, None));
    assert_eq!(advice.memory_bytes.unknown.as_deref(), Some("permission denied"));
    assert_eq!(advice.gpus.unknown.as_deref(), Some("the driver did not answer"));
    let json: serde_json::Value = serde_json::from_str(&advice.to_json()).unwrap();
    assert!(json["memory_bytes"]["value"].is_null());
    assert_eq!(json["policy"], "risk");
}

#[test]
fn the_recommended_server_holds_the_job() {
    let run = Sample { gpus: Some((0.9, 1.0, 20.0 * GIB)), ..Sample::default() };
    let advice = risk(&[run.summary()]);
    let filters = advice.filters();
    let offer = Catalogue::embedded().recommend_server(&filters).unwrap();
    assert!(u64::from(offer.vcpus) >= advice.cores.value.unwrap());
    assert!(offer.memory_bytes as f64 > advice.memory_bytes.need.unwrap());
    assert!(offer.gpu_count >= 1 && offer.vram_bytes.unwrap() as f64 > advice.vram_bytes.need.unwrap());
    assert_ne!(offer.category, "burstable");
}

#[test]
fn a_machine_is_shared_when_others_use_it() {
    let with = |job: f64, system: f64, used: f64| {
        let mut summary = Sample { cores_mean: job, ..Sample::default() }.summary();
        summary.system.set_by_key("cores_used_mean", Figure::float(system, Quality::Exact));
        summary.system.set_by_key("memory_used_bytes_mean", Figure::float(used, Quality::Exact));
        summary
    };
    let verdict = |s: &Summary, rule| allocation(s, rule).allocation;
    assert_eq!(verdict(&with(8.0, 8.1, 8.0 * GIB), Rule::Both), Verdict::Dedicated);
    assert_eq!(
        verdict(&with(8.0, 8.3, 8.0 * GIB), Rule::Both),
        Verdict::Dedicated,
        "a daemon is no neighbour"
    );
    assert_eq!(verdict(&with(8.0, 8.3, 8.0 * GIB), Rule::Either), Verdict::Shared, "the reference's rule");
    assert_eq!(verdict(&with(8.0, 12.0, 8.0 * GIB), Rule::Both), Verdict::Shared);
    assert_eq!(verdict(&with(8.0, 8.0, 60.0 * GIB), Rule::Both), Verdict::Shared);
    let told = allocation(&with(8.0, 12.0, 8.0 * GIB), Rule::Both);
    assert_eq!(told.allocation.as_str(), "shared");
    assert_eq!(
        told.evidence[0],
        "CPU: the job used 8.00 of the 12.00 cores in use on average; others used the rest"
    );
    let unknown = allocation(&Sample::default().summary(), Rule::Both);
    assert_eq!(unknown.allocation, Verdict::Unknown);
    assert!(!unknown.evidence.is_empty());
}
