//! What can be wrong with a request for GPUs. A driver that fails is no error: it costs its own figures.

use std::fmt;
use std::time::Duration;

/// Why GPUs cannot be watched as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GpuError {
    /// A list of GPUs was given and names none.
    EmptyUuidList,
    /// A list names GPUs that are not there.
    UnknownUuids {
        /// The names that match nothing.
        unknown: Vec<String>,
        /// The names that there are.
        valid: Vec<String>,
    },
    /// No maker of this name.
    UnknownBrand {
        /// What was written.
        given: String,
    },
    /// No such view of process numbers.
    UnknownPidView {
        /// What was written.
        given: String,
    },
    /// A driver did not answer in time.
    Timeout {
        /// What it was asked to do.
        doing: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// The thread or process for drivers could not be started.
    Thread {
        /// Why.
        reason: String,
    },
    /// A driver has ended the process that it was loaded into.
    Lost {
        /// Why.
        reason: String,
    },
    /// The drivers cannot have a process of their own, and in ours they could harm the job.
    NoProcess {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuError::EmptyUuidList => {
                write!(
                    f,
                    "the list of GPU UUIDs is empty: name at least one, or leave the option out to take all"
                )
            }
            GpuError::UnknownUuids { unknown, valid } if valid.is_empty() => {
                write!(f, "no GPU has the UUID {}: no GPU was found on this machine", unknown.join(", "))
            }
            GpuError::UnknownUuids { unknown, valid } => {
                write!(f, "no GPU has the UUID {}: valid are {}", unknown.join(", "), valid.join(", "))
            }
            GpuError::UnknownBrand { given } => {
                write!(f, "{given:?} is no GPU brand: choose nvidia, amd or intel")
            }
            GpuError::UnknownPidView { given } => {
                write!(
                    f,
                    "JOBMETER_GPU_PIDS is {given:?}: it says whose process numbers the driver reports, ours or host"
                )
            }
            GpuError::Timeout { doing, after } => write!(
                f,
                "the GPU driver did not answer within {:.1} s (in {doing}): is it hung?",
                after.as_secs_f64()
            ),
            GpuError::Lost { reason } => write!(f, "{reason}"),
            GpuError::NoProcess { reason } => write!(
                f,
                "no GPU figures are taken: the process that keeps the GPU drivers away from the job cannot be \
                 started: {reason}"
            ),
            GpuError::Thread { reason } => write!(f, "the GPU thread cannot be started: {reason}"),
        }
    }
}

impl std::error::Error for GpuError {}
