//! The floor: the kernel reads that a meter cannot do without, in a bare loop over kept-open descriptors, with
//! nothing parsed, kept or decided. What a meter costs above this is its own.

use crate::{sys, tree, truth};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How often each read is done: every so many ticks, 0 is never.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub clock_every: u64,
    pub statm_every: u64,
    pub children_every: u64,
    pub stat_every: u64,
    pub io_every: u64,
    pub status_every: u64,
    pub task_every: u64,
    pub system_every: u64,
    /// Bytes written to a file with one call each tick, as a run file is.
    pub record_bytes: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            clock_every: 1,
            statm_every: 1,
            children_every: 10,
            stat_every: 0,
            io_every: 0,
            status_every: 0,
            task_every: 0,
            system_every: 1,
            record_bytes: 60,
        }
    }
}

impl Plan {
    /// Changes one setting, given as `io=10`.
    pub fn set(&mut self, text: &str) -> io::Result<()> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let field = match key {
            "clock" => &mut self.clock_every,
            "statm" => &mut self.statm_every,
            "children" => &mut self.children_every,
            "stat" => &mut self.stat_every,
            "io" => &mut self.io_every,
            "status" => &mut self.status_every,
            "task" => &mut self.task_every,
            "system" => &mut self.system_every,
            "record" => &mut self.record_bytes,
            _ => return Err(io::Error::other(format!("'{key}' is no read that the floor program knows"))),
        };
        *field = value.parse().map_err(|_| io::Error::other(format!("'{text}' needs a number after '='")))?;
        Ok(())
    }
}

const SYSTEM_FILES: &[&str] = &[
    "/proc/stat",
    "/proc/meminfo",
    "/proc/diskstats",
    "/proc/net/dev",
    "/proc/loadavg",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
];

struct Process {
    pid: i32,
    statm: File,
    children: File,
    stat: File,
    io: File,
    status: File,
    task: File,
}

impl Process {
    fn open(pid: i32) -> io::Result<Process> {
        let open = |name: &str| File::open(format!("/proc/{pid}/{name}"));
        Ok(Process {
            pid,
            statm: open("statm")?,
            children: open(&format!("task/{pid}/children"))?,
            stat: open("stat")?,
            io: open("io")?,
            status: open("status")?,
            task: open("task")?,
        })
    }
}

/// Watches a tree of `processes` sleeping processes for `ticks` ticks and writes the CPU time per tick.
pub fn run(processes: u64, interval_ms: u64, ticks: u64, plan: Plan, truth_file: &Path) -> io::Result<()> {
    raise_descriptor_limit();
    let ready_file = truth_file.with_extension("ready");
    let hold_ms = interval_ms * ticks + 3_600_000;
    let main_pid = sys::fork_child(|| i32::from(tree::many(processes, hold_ms, &ready_file).is_err()))?;
    while !ready_file.exists() {
        sys::sleep_ms(1);
    }
    let watched = open_tree(main_pid)?;
    let system: Vec<File> = SYSTEM_FILES.iter().filter_map(|path| File::open(path).ok()).collect();
    let record_file = truth_file.with_extension("record");
    let mut record = OpenOptions::new().create(true).append(true).open(&record_file)?;

    let own_clock = libc::CLOCK_PROCESS_CPUTIME_ID;
    let start_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let cpu_before_ns = sys::clock_ns(own_clock);
    for tick in 1..=ticks {
        sys::sleep_until_ns(start_ns + tick * interval_ms * 1_000_000);
        read_once(tick, &watched, &system, &plan, &mut record)?;
    }
    let cpu_ns = sys::clock_ns(own_clock) - cpu_before_ns;

    // SAFETY: our own child, not yet waited for; its children end with it.
    unsafe { libc::kill(main_pid, libc::SIGKILL) };
    sys::wait_all();
    fs::remove_file(record_file)?;
    fs::remove_file(ready_file)?;
    truth::write(
        truth_file,
        &[
            ("processes", watched.len().to_string()),
            ("cpu_ns_per_tick", (cpu_ns / ticks.max(1)).to_string()),
            ("peak_rss_bytes", sys::usage(libc::RUSAGE_SELF).max_rss_bytes.to_string()),
        ],
    )
}

fn read_once(
    tick: u64,
    watched: &[Process],
    system: &[File],
    plan: &Plan,
    record: &mut File,
) -> io::Result<()> {
    let due = |every: u64| every != 0 && tick.is_multiple_of(every);
    let mut buffer = [0_u8; 16384];
    for process in watched {
        if due(plan.clock_every) {
            sys::clock_ns(sys::cpu_clock_of(process.pid));
        }
        if due(plan.task_every) {
            process.task.metadata()?;
        }
        let reads = [
            (plan.statm_every, &process.statm),
            (plan.children_every, &process.children),
            (plan.stat_every, &process.stat),
            (plan.io_every, &process.io),
            (plan.status_every, &process.status),
        ];
        for (every, file) in reads {
            if due(every) {
                file.read_at(&mut buffer, 0)?;
            }
        }
    }
    if due(plan.system_every) {
        for file in system {
            file.read_at(&mut buffer, 0)?;
        }
    }
    if plan.record_bytes > 0 {
        record.write_all(&buffer[..plan.record_bytes as usize])?;
    }
    Ok(())
}

fn open_tree(main_pid: i32) -> io::Result<Vec<Process>> {
    let children = fs::read_to_string(format!("/proc/{main_pid}/task/{main_pid}/children"))?;
    let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    std::iter::once(main_pid).chain(pids).map(Process::open).collect()
}

/// Six descriptors per process: the soft limit is raised to the hard one.
fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives both calls.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}
