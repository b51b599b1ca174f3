use super::*;
use std::collections::BTreeSet;

/// Whose figures a key stands among: a scope, or a kind of device.
fn home(id: &FigureId) -> String {
    id.entity.as_ref().map_or(id.scope.key().to_owned(), |entity| entity.kind.key().to_owned())
}

#[test]
fn every_figure_that_a_run_can_have_is_read_back_from_its_key() {
    let all = FigureId::all();
    assert!(all.len() > 300, "{}", all.len());
    let mut keys = BTreeSet::new();
    for id in all {
        assert!(keys.insert((home(&id), id.key())), "{id:?} has the key of another");
        // The scope of a device's figure is in its key.
        let scope = if id.entity.is_some() { Scope::Main } else { id.scope };
        assert_eq!(FigureId::parse(scope, id.entity.as_ref(), &id.key()), Some(id.clone()));
        assert!(!id.title().is_empty() && !id.title().contains('_'), "{}", id.title());
    }
}

#[test]
fn a_key_of_a_newer_version_is_nobodys() {
    for key in
        ["", "rss", "rss_bytes", "rss_bytes_median", "rss_bytes_max_max", "cpu_ns_per_s_max", "main_cpu_ns"]
    {
        assert_eq!(FigureId::parse(Scope::Combined, None, key), None, "{key}");
    }
    let gpu = Entity { kind: EntityKind::Gpu, name: "x".to_owned() };
    assert_eq!(FigureId::parse(Scope::System, Some(&gpu), "combined_"), None);
    assert_eq!(FigureId::parse(Scope::System, Some(&gpu), "combinedgpu_busy_ppm_max"), None);
    assert_eq!(describe_key(Scope::System, None, "npu_bytes_max"), ("npu bytes max".to_owned(), Unit::Bytes));
}

#[test]
fn titles_and_units_of_each_kind() {
    let gpu = || Some(Entity { kind: EntityKind::Gpu, name: "GPU-1".to_owned() });
    let core = || Some(Entity { kind: EntityKind::Core, name: "0".to_owned() });
    for (scope, metric, stat, entity, key, title, unit) in [
        (Scope::Combined, Metric::RssBytes, Stat::Max, None, "rss_bytes_max", "RAM, peak", Unit::Bytes),
        (Scope::Main, Metric::CpuNs, Stat::Total, None, "cpu_ns", "CPU time", Unit::Nanos),
        (
            Scope::Main,
            Metric::CpuNs,
            Stat::RateMean,
            None,
            "cores_used_mean",
            "Cores in use, mean",
            Unit::Cores,
        ),
        (
            Scope::Main,
            Metric::CpuNs,
            Stat::ShareMax,
            None,
            "hardware_ratio_max",
            "Share of the cores, peak",
            Unit::Ratio,
        ),
        (
            Scope::Main,
            Metric::CpuUserNs,
            Stat::RateMax,
            None,
            "cpu_user_ns_per_s_max",
            "CPU time, user, peak rate",
            Unit::NanosPerSecond,
        ),
        (
            Scope::System,
            Metric::EnergyPackageUj,
            Stat::RateMean,
            None,
            "energy_package_uj_per_s_mean",
            "CPU package energy, mean rate",
            Unit::Microwatts,
        ),
        (
            Scope::System,
            Metric::MemoryAvailableBytes,
            Stat::Min,
            None,
            "memory_available_bytes_min",
            "Memory, available, lowest",
            Unit::Bytes,
        ),
        (
            Scope::Combined,
            Metric::Processes,
            Stat::Total,
            None,
            "processes_total",
            "Processes total",
            Unit::Count,
        ),
        (
            Scope::System,
            Metric::CoreBusyNs,
            Stat::RateMax,
            core(),
            "busy_ratio_max",
            "Core busy, peak share",
            Unit::Ratio,
        ),
        (
            Scope::System,
            Metric::GpuBusyPpm,
            Stat::Mean,
            gpu(),
            "gpu_busy_ppm_mean",
            "GPU use, mean",
            Unit::Ppm,
        ),
        (
            Scope::Combined,
            Metric::GpuMemoryBytes,
            Stat::Max,
            gpu(),
            "combined_gpu_memory_bytes_max",
            "GPU RAM, peak (job)",
            Unit::Bytes,
        ),
    ] {
        let id = FigureId { scope, metric, stat, entity };
        assert_eq!((id.key().as_ref(), id.title().as_str(), id.unit()), (key, title, unit));
        assert_eq!(id.has_own_name(), !key.contains(metric.key()) || key == "processes_total", "{key}");
    }
}

#[test]
fn what_no_run_yields_has_no_key() {
    assert_eq!(Metric::MountUsedBytes.key_of(Stat::Min), None);
    assert_eq!(Metric::RssBytes.key_of(Stat::Total), None);
    assert_eq!(Metric::CpuUserNs.key_of(Stat::ShareMax), None);
    assert_eq!(Metric::MountFreeBytes.key_of(Stat::Min), Some("mount_free_bytes_min"));
    assert_eq!(Metric::GpuBusyPpm.key_of(Stat::ShareMax), Some("gpu_hardware_ratio_max"));
    assert_eq!((Metric::CpuNs.first_stat(), Metric::RssBytes.first_stat()), (Stat::Total, Stat::Max));
}
