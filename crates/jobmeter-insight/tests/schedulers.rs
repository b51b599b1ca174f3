//! Every scheduler output through a parser of its format. What has its parser in Python (Snakemake, Metaflow,
//! AWS Batch, Docker's client) is also checked in python/tests/test_advice_formats.py.

mod common;

use common::{GIB, Sample};
use jobmeter_insight::advice::{Advice, Options, advise};
use jobmeter_insight::schedulers::{Format, render};
use std::collections::BTreeMap;
use yaml_rust2::{Yaml, YamlLoader};

fn with(sample: Sample) -> Advice {
    advise(&[sample.summary()], &Options::default()).unwrap()
}

fn plain() -> Advice {
    with(Sample { wall_s: 100_000.0, ..Sample::default() })
}

fn gpu() -> Advice {
    with(Sample {
        name: Some("x'; rm -rf /\n#SBATCH --exclusive"),
        gpus: Some((1.5, 1.9, 30.0 * GIB)),
        written_bytes: 5e9,
        ..Sample::default()
    })
}

/// The grammar of a directive line: `#SBATCH --name=value`, values as sbatch reads them.
fn sbatch(text: &str) -> BTreeMap<String, String> {
    let mut directives = BTreeMap::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("#SBATCH --") else {
            assert!(line.starts_with("# "), "neither directive nor comment: {line:?}");
            continue;
        };
        let (name, value) = rest.split_once('=').expect("a long option with a value");
        let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let valid = match name {
            "job-name" => value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "nodes" | "ntasks" | "cpus-per-task" => digits(value) && value != "0",
            "mem" | "tmp" => value.strip_suffix('M').is_some_and(digits),
            "gres" => value.strip_prefix("gpu:").is_some_and(digits),
            "time" => {
                let (days, clock) = value.split_once('-').expect("days-hours:minutes:seconds");
                let parts: Vec<u32> = clock.split(':').map(|p| p.parse().unwrap()).collect();
                digits(days) && matches!(parts[..], [h, m, s] if h < 24 && m < 60 && s < 60)
            }
            _ => panic!("unknown directive {name}"),
        };
        assert!(valid, "{line}");
        assert!(directives.insert(name.to_owned(), value.to_owned()).is_none(), "{name} twice");
    }
    directives
}

#[test]
fn slurm_directives() {
    let directives = sbatch(&render(&plain(), Format::Slurm));
    assert_eq!(directives["cpus-per-task"], "4");
    assert_eq!(directives["job-name"], "train");
    let advised = plain().memory_bytes.value.unwrap();
    assert_eq!(directives["mem"], format!("{}M", advised >> 20));
    let seconds = plain().time_s.value.unwrap();
    assert_eq!(
        directives["time"],
        format!("{}-{:02}:{:02}:00", seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60)
    );
    assert!(!directives.contains_key("gres") && !directives.contains_key("tmp"));

    let hostile = sbatch(&render(&gpu(), Format::Slurm));
    assert_eq!(
        (hostile["gres"].as_str(), hostile["job-name"].as_str()),
        ("gpu:2", "x-rm-rf-SBATCH-exclusive")
    );
    assert!(!hostile.contains_key("exclusive"));
}

#[test]
fn kubernetes_resources() {
    let documents = YamlLoader::load_from_str(&render(&gpu(), Format::Kubernetes)).unwrap();
    assert_eq!(documents.len(), 1);
    let resources = &documents[0]["resources"];
    assert_eq!(resources["requests"]["cpu"].as_str(), Some("4"));
    assert_eq!(resources["limits"]["nvidia.com/gpu"].as_i64(), Some(2));
    assert!(resources["limits"]["cpu"].is_badvalue());
    for place in ["requests", "limits"] {
        for name in ["memory", "ephemeral-storage"] {
            let quantity = resources[place][name].as_str().unwrap();
            let mib: u64 = quantity.strip_suffix("Mi").unwrap().parse().unwrap();
            assert!(mib > 128, "{quantity}");
        }
    }
    let Yaml::Hash(all) = &documents[0] else { panic!() };
    assert_eq!(all.len(), 1);
}

/// A reader of Nextflow's configuration blocks: `name {`, `name: 'selector' {`, `name = value`, `}`, `//`.
fn nextflow(text: &str) -> BTreeMap<String, String> {
    let mut scopes: Vec<String> = Vec::new();
    let mut settings = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")) {
        if let Some(scope) = line.strip_suffix('{') {
            let scope = scope.trim();
            let selector = scope.strip_prefix("withName: '").and_then(|s| s.strip_suffix('\''));
            assert!(scope == "process" || selector.is_some_and(|s| !s.contains(['\'', '\\', '$'])), "{line}");
            scopes.push(scope.to_owned());
        } else if line == "}" {
            scopes.pop().expect("a scope to close");
        } else {
            let (name, value) = line.split_once(" = ").expect("a setting");
            let amount = |units: &[&str]| {
                let inner = value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')).unwrap();
                let (number, unit) = inner.split_once(' ').unwrap();
                number.parse::<u64>().unwrap() > 0 && units.contains(&unit)
            };
            let valid = match name {
                "cpus" | "accelerator" => value.parse::<u64>().unwrap() > 0,
                "memory" | "disk" => amount(&["MB", "GB"]),
                "time" => amount(&["min", "h"]),
                _ => false,
            };
            assert!(valid && scopes.len() == 2, "{line}");
            settings.insert(name.to_owned(), value.to_owned());
        }
    }
    assert!(scopes.is_empty());
    settings
}

#[test]
fn nextflow_configuration() {
    let settings = nextflow(&render(&gpu(), Format::Nextflow));
    assert_eq!((settings["cpus"].as_str(), settings["accelerator"].as_str()), ("4", "2"));
    assert_eq!(settings.len(), 5);
    assert_eq!(nextflow(&render(&plain(), Format::Nextflow)).len(), 3);
}

#[test]
fn aws_batch_job_definition() {
    let advice = gpu();
    let definition: serde_json::Value = serde_json::from_str(&render(&advice, Format::AwsBatch)).unwrap();
    let needs = definition["containerProperties"]["resourceRequirements"].as_array().unwrap();
    let need = |kind: &str| {
        let found = needs.iter().find(|n| n["type"] == kind).unwrap();
        found["value"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!((need("VCPU"), need("GPU")), (4, 2));
    assert_eq!(need("MEMORY"), advice.memory_bytes.value.unwrap() >> 20);
    assert_eq!(definition["timeout"]["attemptDurationSeconds"], advice.time_s.value.unwrap());
}

#[test]
fn docker_and_workflow_lines() {
    let docker = render(&gpu(), Format::Docker);
    let command = docker.lines().find(|l| !l.starts_with('#')).unwrap();
    let memory = gpu().memory_bytes.value.unwrap() >> 20;
    assert_eq!(
        command,
        format!("docker run --cpus=4 --memory={memory}m --memory-swap={memory}m --gpus=2 IMAGE COMMAND")
    );
    let metaflow = render(&plain(), Format::Metaflow);
    assert!(
        metaflow.starts_with(&format!("@resources(cpu=4, memory={memory})\n@timeout(minutes=")),
        "{metaflow}"
    );
    let snakemake = render(&plain(), Format::Snakemake);
    assert!(snakemake.contains("    threads: 4\n    resources:\n        mem_mb="), "{snakemake}");
    // mem_mb counts millions of bytes: it must not fall below the mebibytes meant.
    let mem_mb: u64 = snakemake.split("mem_mb=").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(mem_mb * 1_000_000 >= memory << 20 && mem_mb * 1_000_000 < (memory + 1) << 20);
}

#[test]
fn every_format_has_a_name_and_unknown_ones_list_them() {
    for (name, format) in Format::ALL {
        assert_eq!(Format::parse(name).unwrap(), format);
        assert!(render(&plain(), format).ends_with('\n'), "{name}");
        assert!(!render(&gpu(), format).contains("\n#SBATCH --exclusive"), "{name}");
    }
    let message = Format::parse("pbs").unwrap_err().to_string();
    assert!(message.contains("known: slurm, kubernetes"), "{message}");
}
