//! Who started this job: a batch scheduler, a workflow system or a CI service, told from the environment.
//!
//! Only variables named in the table below are looked at, and none of them is a secret: tokens, keys and
//! passwords of these systems live in other variables and are never read.

use serde::Serialize;
use std::collections::BTreeMap;

/// A job as its scheduler names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobIdentity {
    /// `slurm`, `pbs`, `lsf`, `sge`, `kubernetes`, `aws-batch`, `metaflow`, `github-actions`, `gitlab-ci`.
    pub system: &'static str,
    /// Fact to value: `job_id`, `name`, `queue`, `cpus` … Hostile text: escape on output.
    pub facts: BTreeMap<&'static str, String>,
}

struct System {
    name: &'static str,
    /// The system is believed when this variable is set.
    evidence: &'static str,
    facts: &'static [(&'static str, &'static str)],
}

const SYSTEMS: &[System] = &[
    System {
        name: "slurm",
        evidence: "SLURM_JOB_ID",
        facts: &[
            ("job_id", "SLURM_JOB_ID"),
            ("array_job_id", "SLURM_ARRAY_JOB_ID"),
            ("array_task_id", "SLURM_ARRAY_TASK_ID"),
            ("step_id", "SLURM_STEP_ID"),
            ("name", "SLURM_JOB_NAME"),
            ("queue", "SLURM_JOB_PARTITION"),
            ("cluster", "SLURM_CLUSTER_NAME"),
            ("nodes", "SLURM_JOB_NUM_NODES"),
            ("node", "SLURMD_NODENAME"),
            ("tasks", "SLURM_NTASKS"),
            ("cpus_per_task", "SLURM_CPUS_PER_TASK"),
            ("cpus_on_node", "SLURM_CPUS_ON_NODE"),
            ("memory_per_node_mib", "SLURM_MEM_PER_NODE"),
            ("memory_per_cpu_mib", "SLURM_MEM_PER_CPU"),
            ("gpus", "SLURM_JOB_GPUS"),
        ],
    },
    System {
        name: "pbs",
        evidence: "PBS_JOBID",
        facts: &[
            ("job_id", "PBS_JOBID"),
            ("name", "PBS_JOBNAME"),
            ("queue", "PBS_QUEUE"),
            ("array_index", "PBS_ARRAY_INDEX"),
            ("nodes", "PBS_NUM_NODES"),
            ("cpus_on_node", "PBS_NUM_PPN"),
            ("cpus", "NCPUS"),
        ],
    },
    System {
        name: "lsf",
        evidence: "LSB_JOBID",
        facts: &[
            ("job_id", "LSB_JOBID"),
            ("array_index", "LSB_JOBINDEX"),
            ("name", "LSB_JOBNAME"),
            ("queue", "LSB_QUEUE"),
            ("cpus", "LSB_DJOB_NUMPROC"),
        ],
    },
    System {
        // JOB_ID alone is set by many programs; SGE_TASK_ID only by Grid Engine.
        name: "sge",
        evidence: "SGE_TASK_ID",
        facts: &[
            ("job_id", "JOB_ID"),
            ("array_task_id", "SGE_TASK_ID"),
            ("name", "JOB_NAME"),
            ("queue", "QUEUE"),
            ("cluster", "SGE_CLUSTER_NAME"),
            ("cpus", "NSLOTS"),
            ("nodes", "NHOSTS"),
        ],
    },
    System {
        name: "kubernetes",
        evidence: "KUBERNETES_SERVICE_HOST",
        facts: &[
            ("pod", "POD_NAME"),
            ("pod", "HOSTNAME"),
            ("namespace", "POD_NAMESPACE"),
            ("node", "NODE_NAME"),
        ],
    },
    System {
        name: "aws-batch",
        evidence: "AWS_BATCH_JOB_ID",
        facts: &[
            ("job_id", "AWS_BATCH_JOB_ID"),
            ("attempt", "AWS_BATCH_JOB_ATTEMPT"),
            ("array_index", "AWS_BATCH_JOB_ARRAY_INDEX"),
            ("node_index", "AWS_BATCH_JOB_NODE_INDEX"),
            ("queue", "AWS_BATCH_JQ_NAME"),
            ("compute_environment", "AWS_BATCH_CE_NAME"),
        ],
    },
    System {
        name: "metaflow",
        evidence: "METAFLOW_RUN_ID",
        facts: &[
            ("flow", "METAFLOW_FLOW_NAME"),
            ("job_id", "METAFLOW_RUN_ID"),
            ("step", "METAFLOW_STEP_NAME"),
            ("task_id", "METAFLOW_TASK_ID"),
            ("attempt", "METAFLOW_RETRY_COUNT"),
        ],
    },
    System {
        name: "github-actions",
        evidence: "GITHUB_ACTIONS",
        facts: &[
            ("repository", "GITHUB_REPOSITORY"),
            ("workflow", "GITHUB_WORKFLOW"),
            ("name", "GITHUB_JOB"),
            ("job_id", "GITHUB_RUN_ID"),
            ("attempt", "GITHUB_RUN_ATTEMPT"),
            ("commit", "GITHUB_SHA"),
            ("ref", "GITHUB_REF_NAME"),
            ("runner", "RUNNER_NAME"),
        ],
    },
    System {
        name: "gitlab-ci",
        evidence: "GITLAB_CI",
        facts: &[
            ("repository", "CI_PROJECT_PATH"),
            ("job_id", "CI_JOB_ID"),
            ("name", "CI_JOB_NAME"),
            ("stage", "CI_JOB_STAGE"),
            ("pipeline_id", "CI_PIPELINE_ID"),
            ("commit", "CI_COMMIT_SHA"),
            ("ref", "CI_COMMIT_REF_NAME"),
            ("runner", "CI_RUNNER_DESCRIPTION"),
        ],
    },
];

/// A fact is an identity, not a document.
const LONGEST_FACT: usize = 256;

/// Every system that shows itself; several may (a Metaflow step on AWS Batch).
pub(crate) fn read(environment: &[(String, String)]) -> Vec<JobIdentity> {
    let get = |name: &str| {
        environment
            .iter()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.chars().take(LONGEST_FACT).collect::<String>())
    };
    SYSTEMS
        .iter()
        .filter(|system| get(system.evidence).is_some())
        .map(|system| {
            let mut facts = BTreeMap::new();
            for (fact, variable) in system.facts {
                if let Some(value) = get(variable) {
                    facts.entry(*fact).or_insert(value);
                }
            }
            JobIdentity { system: system.name, facts }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn no_table_row_names_a_secret() {
        for system in SYSTEMS {
            for (_, variable) in system.facts {
                for word in ["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "_KEY", "AUTH"] {
                    assert!(!variable.contains(word), "{variable}");
                }
            }
        }
    }

    #[test]
    fn systems_are_told_apart_and_secrets_stay_out() {
        let found = read(&environment(&[
            ("GITLAB_CI", "true"),
            ("CI_JOB_ID", "42"),
            ("CI_JOB_TOKEN", "hunter2"),
            ("AWS_SECRET_ACCESS_KEY", "hunter2"),
            ("JOB_ID", "7"),
            ("SLURM_JOB_ID", ""),
        ]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].system, "gitlab-ci");
        assert_eq!(found[0].facts["job_id"], "42");
        assert!(!serde_json::to_string(&found).unwrap().contains("hunter2"));
    }

    #[test]
    fn layers_are_all_named_and_the_first_variable_of_a_fact_wins() {
        let found = read(&environment(&[
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("HOSTNAME", "pod-from-hostname"),
            ("POD_NAME", "pod-from-downward-api"),
            ("METAFLOW_RUN_ID", "1"),
            ("SGE_TASK_ID", "undefined"),
            ("JOB_ID", "9"),
            ("NSLOTS", &"9".repeat(1000)),
        ]));
        let names: Vec<_> = found.iter().map(|identity| identity.system).collect();
        assert_eq!(names, ["sge", "kubernetes", "metaflow"]);
        assert_eq!(found[1].facts["pod"], "pod-from-downward-api");
        assert_eq!(found[0].facts["cpus"].len(), LONGEST_FACT);
    }
}
