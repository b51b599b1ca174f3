//! The variables of each system, as its documentation names them.

pub(super) struct Scheduler {
    pub(super) name: &'static str,
    /// The system is believed when this is set.
    pub(super) evidence: &'static str,
    pub(super) id: &'static [&'static str],
    /// What of the value is the same for all parts of the job.
    pub(super) shorten: fn(&str) -> &str,
    pub(super) step: &'static [&'static str],
    pub(super) array_index: &'static [&'static str],
    /// The index that a job has which is no array.
    pub(super) no_array: u64,
    pub(super) node: &'static [&'static str],
    pub(super) attempt: &'static [&'static str],
}

const NONE: Scheduler = Scheduler {
    name: "",
    evidence: "",
    id: &[],
    shorten: |id| id,
    step: &[],
    array_index: &[],
    no_array: u64::MAX,
    node: &[],
    attempt: &[],
};

pub(super) const SCHEDULERS: [Scheduler; 10] = [
    // A Flux instance may run inside a Slurm job, and is then the one that knows the ranks.
    Scheduler { name: "flux", evidence: "FLUX_JOB_ID", id: &["FLUX_JOB_ID"], ..NONE },
    Scheduler {
        name: "slurm",
        evidence: "SLURM_JOB_ID",
        id: &["SLURM_JOB_ID"],
        step: &["SLURM_STEP_ID", "SLURM_STEPID"],
        array_index: &["SLURM_ARRAY_TASK_ID"],
        node: &["SLURMD_NODENAME"],
        attempt: &["SLURM_RESTART_COUNT"],
        ..NONE
    },
    Scheduler {
        name: "pbs",
        evidence: "PBS_JOBID",
        id: &["PBS_JOBID"],
        array_index: &["PBS_ARRAY_INDEX", "PBS_ARRAYID"],
        ..NONE
    },
    Scheduler {
        name: "lsf",
        evidence: "LSB_JOBID",
        id: &["LSB_JOBID"],
        array_index: &["LSB_JOBINDEX"],
        no_array: 0,
        ..NONE
    },
    // JOB_ID alone is set by many programs; SGE_TASK_ID only by Grid Engine.
    Scheduler {
        name: "sge",
        evidence: "SGE_TASK_ID",
        id: &["JOB_ID"],
        array_index: &["SGE_TASK_ID"],
        ..NONE
    },
    // HTCondor itself names the job in a file only; CONDOR_CLUSTER_ID and CONDOR_PROC_ID are what submit files pass on.
    Scheduler {
        name: "htcondor",
        evidence: "_CONDOR_SLOT",
        id: &["CONDOR_CLUSTER_ID", "CONDOR_CLUSTER", "CONDOR_ID"],
        shorten: before_dot,
        array_index: &["CONDOR_PROC_ID", "CONDOR_PROCESS"],
        node: &["_CONDOR_SLOT"],
        ..NONE
    },
    Scheduler {
        name: "aws-batch",
        evidence: "AWS_BATCH_JOB_ID",
        id: &["AWS_BATCH_JOB_ID"],
        shorten: before_colon_or_hash,
        array_index: &["AWS_BATCH_JOB_ARRAY_INDEX"],
        attempt: &["AWS_BATCH_JOB_ATTEMPT"],
        ..NONE
    },
    // The pods of an Indexed Job are called JOB-INDEX, with five letters more in their names.
    Scheduler {
        name: "kubernetes",
        evidence: "KUBERNETES_SERVICE_HOST",
        id: &["KUBERNETES_JOB_NAME", "POD_NAME", "HOSTNAME"],
        shorten: without_index,
        node: &["NODE_NAME"],
        ..NONE
    },
    Scheduler { name: "ray", evidence: "RAY_JOB_ID", id: &["RAY_JOB_ID"], node: &["RAY_NODE_ID"], ..NONE },
    Scheduler { name: "dask", evidence: "DASK_SCHEDULER_ADDRESS", id: &["DASK_SCHEDULER_ADDRESS"], ..NONE },
];

pub(super) struct Launcher {
    pub(super) name: &'static str,
    /// Believed when one of these is set, and the rank is a number.
    pub(super) evidence: &'static [&'static str],
    pub(super) rank: &'static [&'static str],
    pub(super) local_rank: &'static [&'static str],
    pub(super) world_size: &'static [&'static str],
    /// The launch, where it has a name of its own.
    pub(super) id: &'static [&'static str],
    pub(super) attempt: &'static [&'static str],
}

pub(super) const LAUNCHERS: [Launcher; 9] = [
    Launcher {
        name: "torchrun",
        evidence: &["TORCHELASTIC_RUN_ID"],
        rank: &["RANK"],
        local_rank: &["LOCAL_RANK"],
        world_size: &["WORLD_SIZE"],
        id: &["TORCHELASTIC_RUN_ID"],
        attempt: &["TORCHELASTIC_RESTART_COUNT"],
    },
    Launcher {
        name: "open-mpi",
        evidence: &["OMPI_COMM_WORLD_RANK"],
        rank: &["OMPI_COMM_WORLD_RANK"],
        local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
        world_size: &["OMPI_COMM_WORLD_SIZE"],
        id: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
        attempt: &[],
    },
    // Before Slurm: PMI of `srun --mpi=pmi2` says the same as Slurm itself, hydra inside a Slurm job does not.
    Launcher {
        name: "mpich",
        evidence: &["PMI_RANK"],
        rank: &["PMI_RANK"],
        local_rank: &["MPI_LOCALRANKID"],
        world_size: &["PMI_SIZE"],
        id: &["PMI_JOBID"],
        attempt: &[],
    },
    Launcher {
        name: "flux",
        evidence: &["FLUX_TASK_RANK"],
        rank: &["FLUX_TASK_RANK"],
        local_rank: &["FLUX_TASK_LOCAL_ID"],
        world_size: &["FLUX_JOB_SIZE"],
        id: &["FLUX_JOB_ID"],
        attempt: &[],
    },
    // In the batch script itself, which no step has started, SLURM_PROCID is 0 as well.
    Launcher {
        name: "slurm",
        evidence: &["SLURM_STEP_ID", "SLURM_STEPID"],
        rank: &["SLURM_PROCID"],
        local_rank: &["SLURM_LOCALID"],
        world_size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        id: &[],
        attempt: &[],
    },
    Launcher {
        name: "pmix",
        evidence: &["PMIX_RANK"],
        rank: &["PMIX_RANK"],
        local_rank: &[],
        world_size: &[],
        id: &["PMIX_NAMESPACE"],
        attempt: &[],
    },
    Launcher {
        name: "htcondor",
        evidence: &["_CONDOR_PROCNO"],
        rank: &["_CONDOR_PROCNO"],
        local_rank: &[],
        world_size: &["_CONDOR_NPROCS"],
        id: &[],
        attempt: &[],
    },
    Launcher {
        name: "aws-batch",
        evidence: &["AWS_BATCH_JOB_NODE_INDEX"],
        rank: &["AWS_BATCH_JOB_NODE_INDEX"],
        local_rank: &[],
        world_size: &["AWS_BATCH_JOB_NUM_NODES"],
        id: &[],
        attempt: &[],
    },
    Launcher {
        name: "kubernetes",
        evidence: &["JOB_COMPLETION_INDEX"],
        rank: &["JOB_COMPLETION_INDEX"],
        local_rank: &[],
        world_size: &[],
        id: &[],
        attempt: &[],
    },
];

/// The first letters of all names below.
pub(super) const INITIALS: &[u8] = b"ACDFHJKLMNOPRSTW_";

/// Every variable that is looked at.
pub(super) fn variables() -> impl Iterator<Item = &'static str> {
    let of_schedulers = SCHEDULERS.iter().flat_map(|scheduler| {
        [scheduler.id, scheduler.step, scheduler.array_index, scheduler.node, scheduler.attempt]
            .into_iter()
            .flatten()
            .copied()
            .chain([scheduler.evidence])
    });
    let of_launchers = LAUNCHERS.iter().flat_map(|launcher| {
        [
            launcher.evidence,
            launcher.rank,
            launcher.local_rank,
            launcher.world_size,
            launcher.id,
            launcher.attempt,
        ]
        .into_iter()
        .flatten()
        .copied()
    });
    of_schedulers.chain(of_launchers)
}

fn before_dot(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

/// Children of an array are called `ID:INDEX`, nodes of a parallel job `ID#INDEX`.
fn before_colon_or_hash(id: &str) -> &str {
    id.split([':', '#']).next().unwrap_or(id)
}

/// `train-3` and `train-3-x7k2p` are parts of `train`; a name without an index is the pod's own.
fn without_index(pod: &str) -> &str {
    let is_index = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_suffix = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let Some((rest, last)) = pod.rsplit_once('-') else { return pod };
    if let Some((job, index)) = rest.rsplit_once('-')
        && is_suffix(last)
        && is_index(index)
    {
        return job;
    }
    if is_index(last) { rest } else { pod }
}
