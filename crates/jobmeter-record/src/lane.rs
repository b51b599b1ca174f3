//! One column as the writer and the reader both remember it. The two sides run the same steps, so a tick
//! needs to carry only what neither could foresee.
//!
//! Kernel figures come in grains: pages, KiB, clock ticks of 10 ms. A lane counts in its grain (`quantum`)
//! and foresees either the last value or the last value plus the last step, whichever has lately been the
//! cheaper guess. A busy counter thus costs the jitter of its rate, an idle one nothing.

use crate::varint::zigzag;
use jobmeter_model::{Column, Metric, Scope};

/// How far past successes of one guess may outweigh new evidence, in bits.
const TRUST_LIMIT: i32 = 40;

#[derive(Debug, Clone)]
pub(crate) struct Lane {
    pub(crate) present: bool,
    quantum: u64,
    /// Last known value in quanta; kept while the value is absent.
    units: u64,
    step: u64,
    /// Bits that foreseeing the step has saved over foreseeing no change.
    trust: i32,
}

impl Lane {
    pub(crate) fn new(quantum: u64) -> Lane {
        Lane { present: false, quantum: quantum.max(1), units: 0, step: 0, trust: 0 }
    }

    pub(crate) fn foreseen(&self) -> u64 {
        if self.trust > 0 { self.units.wrapping_add(self.step) } else { self.units }
    }

    /// Whether the column rests at this very value, so that both guesses hold. Spares the busy path two
    /// divisions for each column that stands still.
    pub(crate) fn rests_at(&self, value: u64) -> bool {
        self.present && self.step == 0 && self.units.checked_mul(self.quantum) == Some(value)
    }

    /// `None` when the value is no multiple of the grain.
    pub(crate) fn to_units(&self, value: u64) -> Option<u64> {
        // Most grains are 1; a division is dear on this path.
        if self.quantum == 1 {
            return Some(value);
        }
        value.is_multiple_of(self.quantum).then(|| value / self.quantum)
    }

    /// `None` when no `u64` holds the value: damage.
    pub(crate) fn value(&self) -> Option<u64> {
        self.units.checked_mul(self.quantum)
    }

    pub(crate) fn learn(&mut self, units: u64) {
        let step = units.wrapping_sub(self.units);
        if step == 0 && self.step == 0 {
            // An idle column, as most are: both guesses were right and nothing changes.
            self.present = true;
            return;
        }
        let still = width(zigzag(step));
        let moving = width(zigzag(step.wrapping_sub(self.step)));
        self.trust = (self.trust + still - moving).clamp(-TRUST_LIMIT, TRUST_LIMIT);
        self.step = step;
        self.units = units;
        self.present = true;
    }

    /// A value off the grid: the grain shrinks until it fits.
    pub(crate) fn restart(&mut self, value: u64) {
        self.quantum = greatest_common_divisor(self.quantum, value).max(1);
        self.units = value / self.quantum;
        self.step = 0;
        self.trust = 0;
        self.present = true;
    }
}

fn width(code: u64) -> i32 {
    64 - code.leading_zeros() as i32
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The grain a metric usually comes in. Only a guess that saves bytes: `restart` corrects it.
pub(crate) fn usual_quantum(column: &Column) -> u64 {
    use Metric::*;
    const CLOCK_TICK_NS: u64 = 10_000_000;
    match column.metric {
        CpuNs if column.scope == Scope::System => CLOCK_TICK_NS,
        CpuUserNs | CpuSystemNs | CpuIowaitNs | CpuStealNs | CoreBusyNs => CLOCK_TICK_NS,
        RssBytes | RssPrivateBytes | RssSharedBytes | RssSumBytes => 4096,
        MountTotalBytes | MountUsedBytes | MountFreeBytes => 4096,
        SwapBytes | SwapTotalBytes | MemoryTotalBytes | MemoryUsedBytes | MemoryFreeBytes => 1024,
        MemoryAvailableBytes | MemoryBuffersBytes | MemoryCachedBytes => 1024,
        MemoryActiveBytes | MemoryInactiveBytes => 1024,
        PsiCpuSomeNs | PsiMemorySomeNs | PsiMemoryFullNs | PsiIoSomeNs | PsiIoFullNs => 1000,
        DiskReadBytes | DiskWriteBytes => 512,
        Load1Milli => 10,
        GpuBusyPpm | GpuMemoryBusyPpm => 10_000,
        GpuTemperatureMc => 1000,
        GpuClockSmHz | GpuClockMemoryHz => 1_000_000,
        _ => 1,
    }
}
