//! What `/proc` still shows of a process after its exit record.

use crate::linux::proc::root::ProcRoot;
use crate::linux::sys;

/// What is left of a process that has ended.
pub(super) enum Remains {
    None,
    Zombie {
        start_ticks: u64,
        cpu_ns: u64,
    },
    Leaving {
        start_ticks: u64,
    },
    /// It lives on without records: it changed to rights that we may not watch.
    Alive,
}

pub(super) fn remains_of(proc: ProcRoot, pid: i32, buffer: &mut [u8]) -> Remains {
    let Some(cpu_ns) = sys::process_cpu_ns(pid) else { return Remains::None };
    match proc.stat(pid, buffer) {
        None => Remains::None,
        Some(stat) if stat.state == b'Z' => Remains::Zombie { start_ticks: stat.start_ticks, cpu_ns },
        Some(stat) if stat.is_exiting() => Remains::Leaving { start_ticks: stat.start_ticks },
        Some(_) => Remains::Alive,
    }
}
