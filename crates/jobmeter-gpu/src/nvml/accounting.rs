//! Accounting mode, where an administrator has switched it on: the driver's own peak of memory of every process, also
//! of one that had the GPU between two samples only.

use super::NvmlSource;
use crate::gather::Gather;
use crate::hash::PidMap;
use crate::identity::{Call, Resolved};
use std::ffi::c_uint;

/// What the driver could not tell.
const UNKNOWN: u64 = u64::MAX;

/// The job's processes that the driver accounts for on one device.
#[derive(Default)]
pub(super) struct Accounts {
    /// By number, with the driver's time of their start: a number that is used again is another process.
    ours: PidMap<u32, u64>,
    peak_bytes: Option<u64>,
}

impl NvmlSource {
    /// After the members were checked.
    pub(super) fn read_accounts(&mut self, gather: &mut Gather<'_>) {
        let mut pids: Vec<c_uint> = Vec::new();
        for unit in self.units.iter_mut().filter(|unit| !unit.lost && !unit.asleep) {
            let Some(accounts) = &mut unit.accounts else { continue };
            if let Err(fault) = self.api.accounting_pids(unit.handle, &mut pids) {
                gather.fail(unit.slot, "accounting", || fault.reason());
                continue;
            }
            for pid in &pids {
                let is_member = matches!(gather.members.resolve(*pid as i32, Call::Lists), Resolved::Ours(_));
                if !is_member && !accounts.ours.contains_key(pid) {
                    continue;
                }
                let Ok(stats) = self.api.accounting_stats(unit.handle, *pid) else { continue };
                if is_member {
                    accounts.ours.insert(*pid, stats.start_us);
                }
                if accounts.ours.get(pid) == Some(&stats.start_us) && stats.max_memory != UNKNOWN {
                    accounts.peak_bytes = accounts.peak_bytes.max(Some(stats.max_memory));
                }
            }
            gather.readings[unit.slot].accounted_peak_bytes = accounts.peak_bytes;
        }
    }
}
