//! The one system call of perf, for the software events that the meter opens.

use crate::linux::sys;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `perf_event_attr` up to the clock id (PERF_ATTR_SIZE_VER3, 96 bytes).
#[repr(C)]
#[derive(Default)]
pub(crate) struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    pub(crate) sample_type: u64,
    read_format: u64,
    flags: u64,
    pub(crate) wakeup_watermark: u32,
    bp_type: u32,
    config_1_and_2: [u64; 2],
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    pub(crate) clock: i32,
}

const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACE_POINT: u32 = 2;
const SAMPLE_RAW: u64 = 1 << 10;
pub(crate) const SAMPLE_TIME: u64 = 1 << 2;
const FLAG_WATERMARK: u64 = 1 << 14;
const FLAG_OWN_CLOCK: u64 = 1 << 25;
pub(crate) const FLAG_INHERIT: u64 = 1 << 1;
/// With a record of what each thread has counted, when it ends.
pub(crate) const FLAG_INHERIT_STAT: u64 = 1 << 11;
pub(crate) const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
/// Puts the records of an event into the ring of another of the same CPU: `_IO('$', 5)`.
pub(crate) const SET_OUTPUT: libc::c_ulong = 0x2405;

impl Attributes {
    /// A software event, by its number in the kernel's list.
    pub(crate) fn software(config: u64, flags: u64) -> Attributes {
        let size = size_of::<Attributes>() as u32;
        Attributes { kind: TYPE_SOFTWARE, size, config, flags, ..Attributes::default() }
    }

    /// A record for each time that a trace point is passed, with its fields.
    pub(crate) fn trace_point(number: u64, wakeup_watermark: u32) -> Attributes {
        let (kind, flags, sample_type) = (TYPE_TRACE_POINT, FLAG_WATERMARK, SAMPLE_RAW);
        let software = Attributes::software(number, flags);
        Attributes { kind, sample_period: 1, sample_type, wakeup_watermark, ..software }
    }

    /// A record with the time of every `sample_period`th time that a software event happens, in the kernel too.
    pub(crate) fn timed(config: u64, sample_period: u64, wakeup_watermark: u32) -> Attributes {
        let (flags, clock) = (FLAG_WATERMARK | FLAG_OWN_CLOCK, libc::CLOCK_MONOTONIC);
        let software = Attributes::software(config, flags);
        Attributes { sample_period, sample_type: SAMPLE_TIME, wakeup_watermark, clock, ..software }
    }

    /// Opens it for `pid` and `cpu`; -1 stands for all.
    pub(crate) fn open(&self, pid: i32, cpu: i32) -> io::Result<OwnedFd> {
        const NO_GROUP: i32 = -1;
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        // SAFETY: the attributes outlive the call; a fresh descriptor is ours to own.
        unsafe {
            let fd = libc::syscall(
                libc::SYS_perf_event_open,
                std::ptr::from_ref(self),
                pid,
                cpu,
                NO_GROUP,
                CLOSE_ON_EXEC,
            );
            Ok(OwnedFd::from_raw_fd(sys::check(fd as libc::c_int)?))
        }
    }
}
