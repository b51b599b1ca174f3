//! Lists that a newer version may lengthen: how a run ended, what a warning is about, how a run was measured. Each is
//! stored as a word; a word that this version does not know is kept as it is.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! open_list {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A word of a newer version. Hostile text: escape on output.
            Other(String),
        }

        impl $name {
            /// Every one that this version knows.
            pub const KNOWN: &[$name] = &[$($name::$variant,)*];

            /// The word that is stored.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $text,)*
                    $name::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                match text {
                    $($text => $name::$variant,)*
                    other => $name::Other(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> $name {
                $name::from(text.as_str())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                self.as_str() == text
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer).map($name::from)
            }
        }
    };
}

open_list! {
    /// How a run ended.
    VerdictKind {
        /// By itself, with an exit code.
        Exited = "exited",
        /// By a signal.
        Signaled = "signaled",
        /// The kernel killed it for want of memory.
        OomKilled = "oom_killed",
        /// We ended it because its time was up.
        Timeout = "timeout",
        /// We stopped looking; it goes on.
        Detached = "detached",
        /// The record ends without a trailer: jobmeter itself was killed, or still runs.
        Crashed = "crashed",
        /// It has not ended.
        Running = "running",
        /// It ended, and its exit status is not ours to know.
        Unknown = "unknown",
    }
}

open_list! {
    /// What a warning is about.
    WarningKind {
        /// The record has no trailer.
        NoTrailer = "no_trailer",
        /// The record cannot be read to its end.
        DamagedRecord = "damaged_record",
        /// The record was too large to keep or to read whole.
        RecordLimit = "record_limit",
        /// The record could not be written.
        Record = "record",
        /// The job's marks could not be received.
        Marks = "marks",
        /// A source of the job's process could not be read at its start.
        Unreadable = "unreadable",
        /// A process ended and was reaped before it could be read.
        Unreaped = "unreaped",
        /// Descriptors ran out, so processes are missing.
        Descriptors = "descriptors",
        /// A container that the job started could not be found or read.
        ContainerUnread = "container_unread",
        /// Ticks were taken less often, because each took too long.
        Thinned = "thinned",
        /// Ticks came late.
        LateTicks = "late_ticks",
        /// Descendants live on after the main process.
        DescendantsRemain = "descendants_remain",
        /// The kernel dropped events about processes.
        ProcessEventsLost = "process_events_lost",
        /// More processes came and went than are kept.
        ProcessEventsCapped = "process_events_capped",
        /// The ranks of a job cannot be merged without doubt.
        Job = "job",
        /// GPUs cannot be measured.
        Gpu = "gpu",
        /// The GPU driver does not answer.
        GpuHung = "gpu_hung",
        /// The process that the GPU driver was loaded in has ended.
        GpuDriverLost = "gpu_driver_lost",
        /// A GPU has fallen off the bus.
        GpuLost = "gpu_lost",
        /// A GPU needs a reset.
        GpuResetRequired = "gpu_reset_required",
        /// A GPU has reported an error by number.
        GpuXid = "gpu_xid",
        /// A GPU had memory errors, or rows of its memory wait for a reset.
        GpuEcc = "gpu_ecc",
        /// Heat, the hardware or a power brake held a GPU's clocks down.
        GpuSlowed = "gpu_slowed",
    }
}

open_list! {
    /// How a run was measured.
    Mode {
        /// We started the job.
        Run = "run",
        /// We attached to a process.
        Attach = "attach",
        /// A program measured itself.
        Own = "self",
        /// The whole machine.
        System = "system",
    }
}

/// Not said.
impl Default for Mode {
    fn default() -> Mode {
        Mode::Other(String::new())
    }
}
