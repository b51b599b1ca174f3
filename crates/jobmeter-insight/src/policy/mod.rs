//! Rules that turn measured peaks into a request.
//!
//! `Simple` is the rule of thumb of the field: mean cores rounded, peaks plus a fifth. `Risk` asks how
//! much the next run will need at most, with a stated chance of being wrong, and lets go of headroom as runs
//! accumulate.

pub mod risk;
pub mod scale;
mod stats;

use crate::units::{GIB, MIB};
use serde::Serialize;

/// The usual chance that a run needs more than was asked for.
pub const DEFAULT_CHANCE: f64 = 0.01;

/// How a request is sized from what runs used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "policy")]
pub enum Policy {
    /// Rules of thumb over means and peaks.
    Simple,
    /// `chance`: how often a run may need more than advised.
    Risk {
        /// That a run needs more than was asked for.
        chance: f64,
    },
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::Risk { chance: DEFAULT_CHANCE }
    }
}

/// The headroom of the simple rule.
pub const SIMPLE_HEADROOM: f64 = 1.2;

/// What the simple rule reads: averages and peaks of the job's processes over one or many runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SimpleInput {
    /// Cores in use, mean over the run.
    pub cores_mean: f64,
    /// The most memory that the job held.
    pub memory_peak_bytes: f64,
    /// GPUs kept busy, on average and at most; 1.0 is one GPU fully busy.
    pub gpus_mean: f64,
    /// GPUs in use, the most at any sample.
    pub gpus_max: f64,
    /// The most memory that the job held on GPUs.
    pub vram_peak_bytes: f64,
}

/// What the simple policy asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SimpleAdvice {
    /// Cores.
    pub cores: u64,
    /// Memory.
    pub memory_bytes: u64,
    /// GPUs.
    pub gpus: u64,
    /// Memory on GPUs.
    pub vram_bytes: u64,
}

/// The reference rules, with memory in its right unit. Halves round to even as they do there.
pub fn simple(input: SimpleInput) -> SimpleAdvice {
    let at_least_one = |value: f64| (value.round_ties_even() as u64).max(1);
    SimpleAdvice {
        cores: at_least_one(input.cores_mean),
        memory_bytes: round_memory(input.memory_peak_bytes * SIMPLE_HEADROOM),
        gpus: if input.gpus_mean > 0.0 { at_least_one(input.gpus_max) } else { 0 },
        vram_bytes: match input.vram_peak_bytes {
            peak if peak > 0.0 => round_memory(peak * SIMPLE_HEADROOM),
            _ => 0,
        },
    }
}

/// Up to the next sensible amount: 128, 256, 512, 1024 or 2048 MiB, then whole GiB.
pub fn round_memory(bytes: f64) -> u64 {
    let small = [128 * MIB, 256 * MIB, 512 * MIB, GIB, 2 * GIB];
    // Half a byte of tolerance: a product such as 10 GiB x 1.2 must not fall over the next step by rounding.
    let bytes = (bytes - 0.5).ceil().max(0.0) as u64;
    small.into_iter().find(|step| bytes <= *step).unwrap_or_else(|| bytes.div_ceil(GIB) * GIB)
}

/// Up to the next minute, 5 minutes past an hour, 15 minutes past three hours, an hour past a day.
pub fn round_seconds(seconds: f64) -> u64 {
    let step = match seconds {
        s if s <= 3600.0 => 60,
        s if s <= 3.0 * 3600.0 => 300,
        s if s <= 86_400.0 => 900,
        _ => 3600,
    };
    ((seconds - 1e-6).ceil().max(1.0) as u64).div_ceil(step) * step
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: the reference's formula worked out with memory in MiB.
    #[test]
    fn the_reference_rules_in_the_right_unit() {
        let mib = |value: f64| value * MIB as f64;
        let cases = [
            // (cores mean, memory MiB, gpu mean, gpu max, vram MiB) → (cpu, memory MiB, gpu, vram MiB)
            ((0.2, 50.0, 0.0, 0.0, 0.0), (1, 128, 0, 0)),
            ((1.5, 100.0, 0.0, 0.7, 0.0), (2, 128, 0, 0)),
            ((2.5, 200.0, 0.01, 0.3, 100.0), (2, 256, 1, 128)),
            ((3.1, 700.0, 0.9, 1.0, 9000.0), (3, 1024, 1, 11_264)),
            ((3.5, 1700.0, 1.7, 2.0, 20_000.0), (4, 2048, 2, 24_576)),
            ((15.6, 3219.0, 2.2, 3.6, 65_000.0), (16, 4096, 4, 78_848)),
        ];
        for ((cores_mean, memory, gpus_mean, gpus_max, vram), (cpu, want_memory, gpu, want_vram)) in cases {
            let advice = simple(SimpleInput {
                cores_mean,
                memory_peak_bytes: mib(memory),
                gpus_mean,
                gpus_max,
                vram_peak_bytes: mib(vram),
            });
            assert_eq!(advice.cores, cpu, "{cores_mean} cores");
            assert_eq!(advice.memory_bytes / MIB, want_memory, "{memory} MiB");
            assert_eq!(advice.gpus, gpu, "{gpus_max} GPUs");
            assert_eq!(advice.vram_bytes / MIB, want_vram, "{vram} MiB VRAM");
        }
    }

    #[test]
    fn sixty_thousand_mib_advise_seventy_two_thousand_or_the_next_step() {
        let advice =
            simple(SimpleInput { memory_peak_bytes: 60_000.0 * MIB as f64, ..SimpleInput::default() });
        let mib = advice.memory_bytes / MIB;
        assert!((72_000..=73_728).contains(&mib), "{mib}");
    }

    #[test]
    fn steps_never_round_down() {
        assert_eq!(round_memory(0.0), 128 * MIB);
        assert_eq!(round_memory(10.0 * GIB as f64 * 1.2), 12 * GIB);
        assert_eq!(round_memory(2.0 * GIB as f64 + 1.0), 3 * GIB);
        for seconds in [0.0, 59.9, 60.0, 61.0, 3599.0, 3601.0, 10_801.0, 86_399.0, 86_401.0, 1e6] {
            let rounded = round_seconds(seconds) as f64;
            assert!(rounded >= seconds && rounded <= seconds * 1.1 + 60.0, "{seconds} → {rounded}");
        }
        assert_eq!((round_seconds(60.0), round_seconds(61.0), round_seconds(5400.0)), (60, 120, 5400));
    }
}
