//! What the made-up job is said to have needed.

use super::{GIB, Plan, hostile_names};
use jobmeter_model::summary::{EntityFigures, Limits, Overhead, SCHEMA_VERSION, Source, Warning};
use jobmeter_model::{Figure, Figures, Metric, Number, Quality, RunInfo, Stat, Summary, Verdict};

fn figures(rows: &[(&str, Number, Quality)]) -> Figures {
    rows.iter()
        .map(|(key, value, quality)| {
            ((*key).to_owned(), Figure { value: Some(*value), ..Figure::int(0, *quality) })
        })
        .collect()
}

pub(crate) fn summary(plan: &Plan) -> Summary {
    use Number::{Float, Int};
    use Quality::{Exact, Sampled};
    let wall = plan.ticks * plan.interval_ns;
    let scale = |share: f64| {
        figures(&[
            ("cpu_ns", Int((wall as f64 * 6.1 * share * plan.factor) as u64), Exact),
            ("cores_used_mean", Float(6.1 * share), Exact),
            ("cores_used_max", Float(15.2 * share), Sampled),
            ("hardware_ratio_mean", Float(6.1 / 16.0 * share), Exact),
            ("rss_bytes_max", Int((10.96 * GIB * share * plan.factor) as u64), Sampled),
            ("rss_bytes_mean", Int((4.6 * GIB * share * plan.factor) as u64), Sampled),
            ("read_storage_bytes", Int((90e9 * share) as u64), Exact),
            ("write_storage_bytes", Int((42e9 * share) as u64), Exact),
            ("read_chars_bytes", Int((300e9 * share) as u64), Exact),
            ("faults_major", Int((1_204.0 * share) as u64), Exact),
            ("switches_involuntary", Int((812_044.0 * share) as u64), Exact),
            ("processes_max", Int((15.0 * share) as u64 + 1), Sampled),
        ])
    };
    let mut combined = scale(1.0);
    let peak = combined.get_mut(Metric::RssBytes, Stat::Max).expect("just made");
    peak.lower = Some(Int((10.96 * GIB * plan.factor) as u64));
    peak.upper = Some(Int((11.9 * GIB * plan.factor) as u64));
    let mut gpus = Vec::new();
    if plan.gpu {
        combined.extend(figures(&[
            ("gpu_memory_bytes_max", Int((37.8 * GIB) as u64), Sampled),
            ("gpu_memory_bytes_mean", Int((21.0 * GIB) as u64), Sampled),
            ("gpu_busy_ppm_mean", Float(498_000.0), Sampled),
            ("gpu_busy_ppm_max", Int(989_000), Sampled),
        ]));
        for index in 0..2 {
            gpus.push(EntityFigures {
                name: format!("GPU-5f0c1a2e-0000-0000-0000-00000000000{index}"),
                figures: figures(&[
                    ("gpu_busy_ppm_mean", Float(498_000.0), Sampled),
                    ("gpu_busy_ppm_max", Int(989_000), Sampled),
                    ("gpu_memory_bytes_max", Int((18.9 * GIB) as u64), Sampled),
                    ("gpu_power_mw_mean", Int(214_000), Sampled),
                    ("gpu_energy_uj", Int(771_000_000_000), Exact),
                    ("gpu_temperature_mc_max", Int(72_000), Sampled),
                ]),
                facts: [
                    ("index", index.to_string().as_str()),
                    ("name", "NVIDIA A100-SXM4-40GB"),
                    ("visible", "yes"),
                    ("used", "yes"),
                ]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            });
        }
    }
    let system = figures(&[
        ("cpu_ns", Int((wall as f64 * 7.2) as u64), Exact),
        ("memory_total_bytes_max", Int((64.0 * GIB) as u64), Exact),
        ("memory_used_bytes_max", Int((20.1 * GIB) as u64), Sampled),
        ("net_receive_bytes", Int(34_000_000_000), Exact),
        ("net_transmit_bytes", Int(2_600_000_000), Exact),
    ]);
    let mut main = scale(0.35);
    let reason = "the kernel was built without task accounting";
    main.set(Metric::SwitchesVoluntary, Stat::Total, Figure::unavailable(reason));
    let hostile = hostile_names();
    let text =
        |index: usize, plain: &str| if plan.hostile { hostile[index].clone() } else { plain.to_owned() };
    let arguments =
        ["python", "train.py", "--epochs", "5", "--data", "/data/imagenet subset", "--token=[redacted]"]
            .map(str::to_owned);
    let mut command: Vec<String> = arguments.into();
    if plan.hostile {
        command.extend(hostile.iter().cloned());
    }
    Summary {
        schema_version: SCHEMA_VERSION,
        run: RunInfo {
            job: None,
            id: "20261115T220212-1f3a9c".into(),
            jobmeter_version: "0.1.0".into(),
            mode: "run".into(),
            name: Some(plan.label.clone()),
            tags: [("team".to_owned(), "vision".to_owned()), ("seed".to_owned(), text(3, "7"))].into(),
            command,
            cwd: text(1, "/home/ada/project"),
            host: text(0, "node-17"),
            kernel: "Linux 6.1.0-18-amd64 x86_64".into(),
            pid: 4242,
            started_unix_ns: 1_794_780_132_000_000_000,
            interval_ns: Some(plan.interval_ns),
            expected_cores: 16.0,
            system_cores: 16,
            wall_ns: Some(wall),
            ticks: plan.ticks,
            late_ticks: 3,
            skipped_ticks: 0,
        },
        verdict: Verdict {
            kind: "exited".into(),
            exit_code: Some(0),
            signal: None,
            core_dumped: false,
            text: "The job ran to its end and exited with code 0.".into(),
            evidence: Vec::new(),
        },
        main,
        containers: Default::default(),
        descendants: scale(0.65),
        combined,
        system,
        cores: Vec::new(),
        disks: vec![EntityFigures {
            name: text(2, "nvme0n1"),
            figures: figures(&[
                ("disk_read_bytes", Int(96_000_000_000), Exact),
                ("disk_write_bytes", Int(44_000_000_000), Exact),
                ("disk_read_bytes_per_s_max", Float(612e6), Sampled),
            ]),
            facts: Default::default(),
        }],
        mounts: vec![EntityFigures {
            name: text(6, "/data"),
            figures: figures(&[
                ("mount_total_bytes_max", Int(2 << 40), Exact),
                ("mount_used_bytes_max", Int(1 << 40), Exact),
                ("mount_free_bytes_min", Int(900 << 30), Exact),
            ]),
            facts: [("type".to_owned(), "ext4".to_owned())].into(),
        }],
        networks: Vec::new(),
        gpus,
        limits: Limits {
            cgroup_memory_bytes: Some((12.0 * GIB) as u64),
            cgroup_cores: None,
            affinity_cores: Some(16),
            address_space_bytes: None,
        },
        sources: vec![
            Source {
                name: "conservation".into(),
                used: true,
                detail: "CPU time of the living, the waited-for and the reaped".into(),
            },
            Source {
                name: "smaps_rollup".into(),
                used: true,
                detail: "shared pages counted once when a peak may move".into(),
            },
            Source {
                name: "cgroup".into(),
                used: false,
                detail: "no writable cgroup; the kernel's own peak is not known".into(),
            },
        ],
        warnings: vec![Warning {
            kind: "late_ticks".into(),
            text: text(
                4,
                "3 ticks came more than 10 % late; the machine was fully loaded from 7 min to 18 min.",
            ),
        }],
        overhead: Overhead { cpu_ns: Some(wall / 2_500), peak_rss_bytes: Some(3 << 20) },
    }
}
