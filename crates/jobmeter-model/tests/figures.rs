//! Figures, summaries, open lists and what is made of figures at the end of a run.

use jobmeter_model::metric::TABLE;
use jobmeter_model::summary::{EntityFigures, Overhead, SCHEMA_VERSION};
use jobmeter_model::*;

fn summary() -> Summary {
    let replay = replay::Replay::default();
    let mut summary = replay.summary(&RunInfo { mode: Mode::Run, ..RunInfo::default() });
    summary.overhead = Overhead::default();
    summary
}

#[test]
fn figures_are_found_by_metric_and_statistic_and_by_key() {
    let mut figures = Figures::new();
    assert!(figures.is_empty());
    figures.set(Metric::RssBytes, Stat::Max, Figure::int(7, Quality::Sampled));
    figures.set_of(Scope::Main, Metric::GpuBusyPpm, Stat::Mean, Figure::float(2.5, Quality::Sampled));
    figures.set_by_key("of_a_newer_version", Figure::unavailable("who knows"));
    assert_eq!(figures.len(), 3);
    assert!(!figures.is_empty());
    assert_eq!(figures.whole(Metric::RssBytes, Stat::Max), Some(7));
    assert_eq!(figures.value(Metric::RssBytes, Stat::Max), Some(7.0));
    assert_eq!(figures.value(Metric::RssBytes, Stat::Mean), None);
    assert_eq!(figures["main_gpu_busy_ppm_mean"].as_u64(), Some(2));
    assert_eq!(figures.of(Scope::Main, Metric::GpuBusyPpm, Stat::Mean).and_then(Figure::as_f64), Some(2.5));
    assert!(figures.get(Metric::GpuBusyPpm, Stat::Mean).is_none());
    let keys: Vec<&str> = figures.keys().collect();
    assert_eq!(keys, ["main_gpu_busy_ppm_mean", "of_a_newer_version", "rss_bytes_max"]);
    assert_eq!(figures.iter().map(|(key, _)| key).collect::<Vec<_>>(), keys);
    figures.get_mut(Metric::RssBytes, Stat::Max).expect("there").quality = Quality::Exact;
    figures.of_mut(Scope::Main, Metric::GpuBusyPpm, Stat::Mean).expect("there").quality = Quality::Estimate;
    assert_eq!(figures.iter_mut().filter(|(_, figure)| figure.quality == Quality::Exact).count(), 1);
    assert_eq!(figures.values_mut().filter(|figure| figure.value.is_none()).count(), 1);
    let text = serde_json::to_string(&figures).expect("JSON");
    assert_eq!(serde_json::from_str::<Figures>(&text).expect("back"), figures);
    let mut others = Figures::new();
    others.set(Metric::RssBytes, Stat::Max, Figure::int(9, Quality::Sampled));
    figures.extend(others);
    assert_eq!(figures.remove(Metric::RssBytes, Stat::Max).and_then(|figure| figure.as_u64()), Some(9));
    assert_eq!(figures.by_key("rss_bytes_max"), None);
    assert_eq!(figures.clone().into_iter().collect::<Figures>(), figures);
}

#[test]
fn a_summary_without_a_trailer_says_so() {
    let summary = summary();
    assert_eq!(summary.schema_version, SCHEMA_VERSION);
    assert_eq!(summary.verdict.kind, VerdictKind::Crashed);
    assert_eq!(summary.warnings[0].kind, WarningKind::NoTrailer);
}

#[test]
fn scopes_and_devices_of_a_summary() {
    let mut summary = summary();
    for (value, scope) in (1..).zip(Scope::ALL) {
        summary.scope_mut(scope).set(Metric::CpuNs, Stat::Total, Figure::int(value, Quality::Exact));
    }
    for (value, scope) in (1..).zip(Scope::ALL) {
        let figure = summary.get(scope, Metric::CpuNs, Stat::Total).expect("there");
        assert_eq!(figure.as_u64(), Some(value));
        assert_eq!(Scope::from_key(scope.key()), Some(scope));
        assert!(!scope.title().is_empty());
    }
    assert_eq!(Scope::from_key("nobody"), None);
    for kind in EntityKind::ALL {
        assert!(summary.devices(kind).is_empty());
    }
    let device = |name: &str| EntityFigures {
        name: name.to_owned(),
        figures: Figures::new(),
        facts: Default::default(),
    };
    (summary.cores, summary.disks) = (vec![device("core")], vec![device("disk")]);
    (summary.mounts, summary.networks) = (vec![device("mount")], vec![device("network")]);
    summary.gpus = vec![device("gpu")];
    for kind in EntityKind::ALL {
        assert_eq!(summary.devices(kind)[0].name, kind.key());
    }
}

#[test]
fn words_of_a_newer_version_are_kept() {
    for kind in VerdictKind::KNOWN {
        assert_eq!(&VerdictKind::from(kind.as_str()), kind);
    }
    for kind in WarningKind::KNOWN {
        assert_eq!(&WarningKind::from(kind.to_string()), kind);
    }
    for mode in Mode::KNOWN {
        let text = serde_json::to_string(mode).expect("JSON");
        assert_eq!(text, format!("{:?}", mode.as_str()));
        assert_eq!(&serde_json::from_str::<Mode>(&text).expect("back"), mode);
    }
    let newer: VerdictKind = serde_json::from_str("\"paused\"").expect("any word");
    assert_eq!((newer.as_str(), &newer), ("paused", &VerdictKind::Other("paused".to_owned())));
    assert_eq!(serde_json::to_string(&newer).expect("JSON"), "\"paused\"");
    assert!(newer == "paused" && newer != *"exited" && VerdictKind::Exited == *"exited");
    assert_eq!(Mode::default().as_str(), "");
}

#[test]
fn series_are_drawn_in_units_that_people_read() {
    for (metric, unit, factor) in [
        (Metric::CpuNs, Unit::Cores, 1e-9),
        (Metric::CoreBusyNs, Unit::Ratio, 1e-9),
        (Metric::PsiIoFullNs, Unit::Ratio, 1e-9),
        (Metric::ReadStorageBytes, Unit::BytesPerSecond, 1.0),
        (Metric::FaultsMajor, Unit::PerSecond, 1.0),
        (Metric::EnergyPackageUj, Unit::Watts, 1e-6),
        (Metric::RssBytes, Unit::Bytes, 1.0),
        (Metric::Processes, Unit::Count, 1.0),
        (Metric::GpuBusyPpm, Unit::Ratio, 1e-6),
        (Metric::Load1Milli, Unit::Plain, 1e-3),
        (Metric::GpuPowerMw, Unit::Watts, 1e-3),
        (Metric::GpuTemperatureMc, Unit::Celsius, 1e-3),
        (Metric::GpuClockSmHz, Unit::Hertz, 1.0),
        (Metric::GpuPcieReceiveBytesPerS, Unit::BytesPerSecond, 1.0),
        (Metric::GpuThrottleBits, Unit::Plain, 1.0),
        (Metric::GpuIdleNs, Unit::Plain, 1e-9),
        (Metric::GpuIdleEnergyUj, Unit::Plain, 1e-6),
    ] {
        assert_eq!(metric.info().series(), (unit, factor), "{metric:?}");
    }
}

#[test]
fn the_table_says_who_has_what() {
    for row in TABLE {
        assert!(!row.yields.stats.is_empty(), "{}", row.key);
        let has_any =
            !row.places.scopes.is_empty() || row.places.device.is_some() || !row.places.derived.is_empty();
        assert!(has_any, "nobody has {}", row.key);
        assert_eq!(row.is_of(Scope::Main), row.places.scopes.contains(&Scope::Main));
    }
    assert!(
        !Metric::RssSumBytes.info().is_of(Scope::Main) && Metric::RssSumBytes.info().is_of(Scope::Combined)
    );
}

fn with_energy(job_ns: u64, machine_ns: u64, package_uj: Option<u64>) -> Summary {
    let mut summary = summary();
    summary.combined.set(Metric::CpuNs, Stat::Total, Figure::int(job_ns, Quality::Exact));
    summary.system.set(Metric::CpuNs, Stat::Total, Figure::int(machine_ns, Quality::Exact));
    if let Some(uj) = package_uj {
        summary.system.set(Metric::EnergyPackageUj, Stat::Total, Figure::int(uj, Quality::Exact));
    }
    summary
}

fn gpu(name: &str, energy_uj: u64, facts: &[(&str, &str)]) -> EntityFigures {
    let mut figures = Figures::new();
    figures.set(Metric::GpuEnergyUj, Stat::Total, Figure::int(energy_uj, Quality::Exact));
    let facts = facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    EntityFigures { name: name.to_owned(), figures, facts }
}

#[test]
fn the_job_has_its_share_of_the_packages_energy() {
    let mut summary = with_energy(25, 100, Some(8_000_000));
    footprint::estimate(&mut summary, Some(360.0));
    let total = |metric| summary.combined.get(metric, Stat::Total).expect("there");
    assert_eq!(total(Metric::EnergyPackageUj).as_u64(), Some(2_000_000));
    assert_eq!(total(Metric::EnergyJoules).as_f64(), Some(2.0));
    assert_eq!(total(Metric::EnergyJoules).quality, Quality::Estimate);
    let grams = total(Metric::Co2Grams).as_f64().expect("known");
    assert!((grams - 2.0 / 3.6e6 * 360.0).abs() < 1e-12, "{grams}");
    // A job cannot have more than all of it; without a counter, or without CPU time, nothing is said.
    let mut whole = with_energy(300, 100, Some(8_000_000));
    footprint::estimate(&mut whole, None);
    assert_eq!(whole.combined.value(Metric::EnergyJoules, Stat::Total), Some(8.0));
    assert!(whole.combined.get(Metric::Co2Grams, Stat::Total).is_none());
    // On an idle machine the clock ticks may have missed a short job altogether.
    let mut short = with_energy(25, 0, Some(8_000_000));
    footprint::estimate(&mut short, None);
    assert_eq!(short.combined.value(Metric::EnergyJoules, Stat::Total), Some(8.0));
    for mut silent in [with_energy(25, 100, None), with_energy(0, 100, Some(5))] {
        footprint::estimate(&mut silent, Some(1.0));
        assert!(silent.combined.get(Metric::EnergyJoules, Stat::Total).is_none());
    }
}

#[test]
fn energy_of_gpus_is_that_of_the_used_ones_and_doubt_stays() {
    let energy = |gpus: Vec<EntityFigures>| {
        let mut summary = with_energy(0, 0, None);
        summary.gpus = gpus;
        footprint::estimate(&mut summary, None);
        let figure = summary.combined.get(Metric::GpuEnergyUj, Stat::Total).cloned();
        (figure, summary.combined.get(Metric::EnergyJoules, Stat::Total).cloned())
    };
    let (gpus, all) =
        energy(vec![gpu("a", 5_000_000, &[("used", "yes")]), gpu("b", 9_000_000, &[("used", "no")])]);
    assert_eq!(gpus.as_ref().and_then(Figure::as_u64), Some(5_000_000));
    assert_eq!(gpus.map(|figure| figure.quality), Some(Quality::Estimate));
    assert_eq!(all.and_then(|figure| figure.as_f64()), Some(5.0));
    let (gpus, all) = energy(vec![gpu("a", 5_000_000, &[("used", "yes")]), gpu("b", 9_000_000, &[])]);
    let quality = |figure: &Option<Figure>| figure.as_ref().map(|figure| figure.quality);
    assert_eq!((quality(&gpus), quality(&all)), (Some(Quality::LowerBound), Some(Quality::LowerBound)));
    let (gpus, all) = energy(vec![gpu("b", 9_000_000, &[("used", "unknown")])]);
    assert_eq!((quality(&gpus), quality(&all)), (Some(Quality::Unavailable), Some(Quality::Unavailable)));
    let (gpus, all) = energy(vec![gpu("b", 9_000_000, &[("visible", "no")])]);
    assert_eq!((quality(&gpus), quality(&all)), (Some(Quality::Estimate), Some(Quality::Estimate)));
    assert_eq!(energy(Vec::new()), (None, None));
}

#[test]
fn use_of_gpus_is_a_share_of_the_expected_ones() {
    let mut summary = summary();
    summary.gpus = vec![gpu("a", 0, &[]), gpu("b", 0, &[]), gpu("parent", 0, &[("mig_enabled", "yes")])];
    summary.main.set(Metric::GpuBusyPpm, Stat::Mean, Figure::float(500_000.0, Quality::Sampled));
    summary.system.set(Metric::GpuBusyPpm, Stat::Max, Figure::int(1_500_000, Quality::LowerBound));
    summary.combined.set(Metric::GpuBusyPpm, Stat::Max, Figure::unavailable("no driver"));
    hardware::add_ratios(&mut summary);
    assert_eq!(summary.main.value(Metric::GpuBusyPpm, Stat::ShareMean), Some(0.25));
    let share = summary.system.get(Metric::GpuBusyPpm, Stat::ShareMax).expect("there");
    assert_eq!((share.as_f64(), share.quality), (Some(0.75), Quality::LowerBound));
    assert!(summary.combined.get(Metric::GpuBusyPpm, Stat::ShareMax).is_none());
    let mut none = summary.clone();
    none.gpus.retain(|gpu| gpu.name == "parent");
    none.main = Figures::new();
    none.main.set(Metric::GpuBusyPpm, Stat::Mean, Figure::float(5.0, Quality::Sampled));
    hardware::add_ratios(&mut none);
    assert!(none.main.get(Metric::GpuBusyPpm, Stat::ShareMean).is_none());
}

#[test]
fn signals_are_named() {
    assert_eq!(verdict::signal_text(9), "SIGKILL (9)");
    assert_eq!(verdict::signal_text(64), "signal 64");
    assert_eq!(verdict::signal_text(-1), "signal -1");
    assert!(!verdict::is_signaled(0) && !verdict::is_signaled(0x137f) && verdict::is_signaled(11));
    assert_eq!((verdict::exit_code_of(0x1700), verdict::signal_of(0x8b)), (0x17, 11));
    let watch = verdict::of_watch(VerdictKind::Detached, "it goes on");
    assert_eq!(
        (watch.kind, watch.text.as_str(), watch.exit_code),
        (VerdictKind::Detached, "it goes on", None)
    );
}
