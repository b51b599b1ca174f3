//! One function per format. Units differ: Slurm, Docker, AWS Batch and Metaflow count mebibytes, Snakemake's
//! `mem_mb` counts millions of bytes, Nextflow's `MB` is a mebibyte again.

use super::Request;
use serde_json::{Value, json};

/// Directives for the head of a batch script.
pub(super) fn slurm(request: &Request) -> String {
    let mut out = format!("#SBATCH --job-name={}\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n", request.name);
    let mut add = |text: String| out.push_str(&format!("#SBATCH {text}\n"));
    if let Some(cores) = request.cores {
        add(format!("--cpus-per-task={cores}"));
    }
    if let Some(mib) = request.memory_mib {
        add(format!("--mem={mib}M"));
    }
    if let Some(minutes) = request.minutes {
        add(format!("--time={}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60));
    }
    if request.gpus > 0 {
        add(format!("--gres=gpu:{}", request.gpus));
    }
    if let Some(mib) = request.disk_mib {
        add(format!("--tmp={mib}M"));
    }
    out + &request.comments("#", "", false, false)
}

/// The `resources` of a container. Memory and disk are limits as well as requests; CPU is a request only,
/// because a CPU limit throttles bursts without protecting anyone.
pub(super) fn kubernetes(request: &Request) -> String {
    let mut requests = String::new();
    let mut limits = String::new();
    if let Some(cores) = request.cores {
        requests.push_str(&format!("    cpu: \"{cores}\"\n"));
    }
    if let Some(mib) = request.memory_mib {
        requests.push_str(&format!("    memory: {mib}Mi\n"));
        limits.push_str(&format!("    memory: {mib}Mi\n"));
    }
    if let Some(mib) = request.disk_mib {
        requests.push_str(&format!("    ephemeral-storage: {mib}Mi\n"));
        limits.push_str(&format!("    ephemeral-storage: {mib}Mi\n"));
    }
    if request.gpus > 0 {
        limits.push_str(&format!("    nvidia.com/gpu: {}\n", request.gpus));
    }
    let mut out = "resources:\n".to_owned();
    for (name, body) in [("requests", requests), ("limits", limits)] {
        if !body.is_empty() {
            out.push_str(&format!("  {name}:\n{body}"));
        }
    }
    if let Some(minutes) = request.minutes {
        out.push_str(&format!("# in the spec of the Job: activeDeadlineSeconds: {}\n", minutes * 60));
    }
    out + &request.comments("#", "", false, false)
}

/// A block for nextflow.config.
pub(super) fn nextflow(request: &Request) -> String {
    let mut out = format!("process {{\n    withName: '{}' {{\n", request.name);
    let mut add = |text: String| out.push_str(&format!("        {text}\n"));
    if let Some(cores) = request.cores {
        add(format!("cpus = {cores}"));
    }
    if let Some(mib) = request.memory_mib {
        add(format!("memory = '{mib} MB'"));
    }
    if let Some(minutes) = request.minutes {
        add(format!("time = '{minutes} min'"));
    }
    if let Some(mib) = request.disk_mib {
        add(format!("disk = '{mib} MB'"));
    }
    if request.gpus > 0 {
        add(format!("accelerator = {}", request.gpus));
    }
    out + &request.comments("//", "        ", false, false) + "    }\n}\n"
}

/// Directives for the body of a rule.
pub(super) fn snakemake(request: &Request) -> String {
    let mut out = request.comments("#", "    ", false, false);
    if let Some(cores) = request.cores {
        out.push_str(&format!("    threads: {cores}\n"));
    }
    let millions = |mib: u64| (u128::from(mib) << 20).div_ceil(1_000_000);
    let mut resources = Vec::new();
    if let Some(mib) = request.memory_mib {
        resources.push(format!("mem_mb={}", millions(mib)));
    }
    if let Some(minutes) = request.minutes {
        resources.push(format!("runtime={minutes}"));
    }
    if let Some(mib) = request.disk_mib {
        resources.push(format!("disk_mb={}", millions(mib)));
    }
    if request.gpus > 0 {
        resources.push(format!("gpu={}", request.gpus));
    }
    if !resources.is_empty() {
        out.push_str(&format!("    resources:\n        {}\n", resources.join(",\n        ")));
    }
    out
}

/// Decorators for a step.
pub(super) fn metaflow(request: &Request) -> String {
    let mut arguments = Vec::new();
    if let Some(cores) = request.cores {
        arguments.push(format!("cpu={cores}"));
    }
    if let Some(mib) = request.memory_mib {
        arguments.push(format!("memory={mib}"));
    }
    if request.gpus > 0 {
        arguments.push(format!("gpu={}", request.gpus));
    }
    if let Some(mib) = request.disk_mib {
        arguments.push(format!("disk={mib}"));
    }
    let mut out = request.comments("#", "", false, false);
    out.push_str(&format!("@resources({})\n", arguments.join(", ")));
    if let Some(minutes) = request.minutes {
        out.push_str(&format!("@timeout(minutes={minutes})\n"));
    }
    out
}

/// A command line to complete with the image and its command.
pub(super) fn docker(request: &Request) -> String {
    let mut words = vec!["docker run".to_owned()];
    if let Some(cores) = request.cores {
        words.push(format!("--cpus={cores}"));
    }
    if let Some(mib) = request.memory_mib {
        // Equal to memory: no swap, so that the limit is the limit.
        words.push(format!("--memory={mib}m --memory-swap={mib}m"));
    }
    if request.gpus > 0 {
        words.push(format!("--gpus={}", request.gpus));
    }
    words.push("IMAGE COMMAND".to_owned());
    request.comments("#", "", true, true) + &words.join(" ") + "\n"
}

/// A job definition to complete with the image, as `aws batch register-job-definition --cli-input-json` reads it.
pub(super) fn aws_batch(request: &Request) -> String {
    let needs = [
        ("VCPU", request.cores),
        ("MEMORY", request.memory_mib),
        ("GPU", Some(request.gpus).filter(|g| *g > 0)),
    ];
    let requirements: Vec<Value> = needs
        .iter()
        .filter_map(|(kind, value)| Some(json!({"type": kind, "value": (*value)?.to_string()})))
        .collect();
    let mut definition = json!({
        "jobDefinitionName": request.name,
        "type": "container",
        "containerProperties": {"image": "IMAGE", "resourceRequirements": requirements},
    });
    if let Some(minutes) = request.minutes {
        definition["timeout"] = json!({"attemptDurationSeconds": minutes * 60});
    }
    // Plain data with string keys: serialising it cannot fail.
    serde_json::to_string_pretty(&definition).unwrap_or_default() + "\n"
}
