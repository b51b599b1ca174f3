//! PCIe throughput, where GPM does not tell it. The driver counts for 20 ms before it answers each reading, so only a small part of the time is
//! spent on them: one device after the other, each at most once a second.

use super::{NvmlSource, Pcie};
use crate::gather::Gather;
use std::time::{Duration, Instant};

/// No device is read more often.
const EACH: Duration = Duration::from_secs(1);
/// After a reading that took so long, ten times as long passes before the next.
const SHARE: u32 = 10;
/// A value is told until it is so old.
const VALID: Duration = Duration::from_secs(10);

impl NvmlSource {
    pub(super) fn read_pcie(&mut self, gather: &mut Gather<'_>) {
        let mut now = Instant::now();
        while now >= self.pcie_due && self.read_oldest(now, gather) {
            let after = Instant::now();
            self.pcie_due = after + (after - now) * SHARE;
            // A driver that answers at once is asked for all devices in one go.
            if after - now > Duration::from_millis(1) {
                break;
            }
            now = after.max(self.pcie_due);
        }
        for unit in self.units.iter().filter(|unit| !unit.lost && !unit.asleep) {
            if let Some(pcie) = unit.pcie.filter(|pcie| pcie.at.elapsed() < VALID) {
                gather.readings[unit.slot].pcie_receive_bytes_per_s = pcie.receive_bytes_per_s;
                gather.readings[unit.slot].pcie_transmit_bytes_per_s = pcie.transmit_bytes_per_s;
            }
        }
    }

    /// Reads the device whose reading is the oldest; `false`: none is due.
    fn read_oldest(&mut self, now: Instant, gather: &mut Gather<'_>) -> bool {
        let is_due = |at: Instant| now.saturating_duration_since(at) >= EACH;
        let due = self
            .units
            .iter_mut()
            .filter(|unit| {
                !unit.is_instance
                    && unit.activity.is_none()
                    && !unit.lost
                    && !unit.asleep
                    && unit.pcie.is_none_or(|pcie| is_due(pcie.at))
            })
            .min_by_key(|unit| unit.pcie.map(|pcie| pcie.at));
        let Some(unit) = due else { return false };
        let mut read = |figure, receive| match self.api.pcie_kb_per_s(unit.handle, receive) {
            Ok(kb) => Some(kb * 1024),
            Err(fault) => {
                gather.fail(unit.slot, figure, || fault.reason());
                None
            }
        };
        unit.pcie = Some(Pcie {
            receive_bytes_per_s: read("pcie_receive_bytes_per_s", true),
            transmit_bytes_per_s: read("pcie_transmit_bytes_per_s", false),
            at: Instant::now(),
        });
        true
    }
}
