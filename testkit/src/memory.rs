//! Workloads whose resident memory is known: bursts, copy-on-write, shared mappings, daemons.

use crate::sys::{self, Pages};
use crate::truth;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Holds `bytes` for `hold_ms` in the middle of a run of about `total_ms`, then gives them back.
pub fn hold(bytes: usize, hold_ms: u64, total_ms: u64, truth_file: &Path) -> io::Result<()> {
    let around_ms = total_ms.saturating_sub(hold_ms) / 2;
    sys::sleep_ms(around_ms);
    let pages = Pages::private(bytes)?;
    pages.touch_all();
    let peak_bytes = sys::own_rss_bytes();
    sys::sleep_ms(hold_ms);
    drop(pages);
    sys::sleep_ms(around_ms);
    truth::write(truth_file, &[("union_bytes", peak_bytes.to_string())])
}

/// `children` processes share a block of `block` bytes copy-on-write; each makes `private` bytes of it its own.
/// The union is exactly block + children × private, plus what every process needs to exist.
pub fn cow(block: usize, children: u64, private: usize, hold_ms: u64, truth_file: &Path) -> io::Result<()> {
    let pages = Pages::private(block)?;
    pages.touch_all();
    hold_with_children(children, hold_ms, || pages.touch(private))?;
    let union_bytes = block as u64 + children * private as u64;
    truth::write(truth_file, &[("union_bytes", union_bytes.to_string())])
}

/// `children` processes and their parent map the same `bytes` shared (`anonymous`, or a file at `path`).
pub fn shared(
    path: Option<&Path>,
    bytes: usize,
    children: u64,
    hold_ms: u64,
    truth_file: &Path,
) -> io::Result<()> {
    let pages = match path {
        None => Pages::shared(bytes)?,
        Some(path) => {
            let file =
                std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
            file.set_len(bytes as u64)?;
            Pages::shared_file(&file, bytes)?
        }
    };
    pages.touch_all();
    hold_with_children(children, hold_ms, || pages.look())?;
    if let Some(path) = path {
        std::fs::remove_file(path)?;
    }
    truth::write(truth_file, &[("union_bytes", bytes.to_string())])
}

/// Forks `children`, waits until each has run `prepare`, holds them all for `hold_ms`, lets them go.
fn hold_with_children(children: u64, hold_ms: u64, prepare: impl Fn()) -> io::Result<()> {
    let (ready_read, ready_write) = sys::pipe()?;
    let (go_read, go_write) = sys::pipe()?;
    let mut ready_write = Some(ready_write);
    let mut go_write = Some(go_write);
    for _ in 0..children {
        sys::fork_child(|| {
            drop(go_write.take());
            prepare();
            drop(ready_write.take());
            sys::wait_for_eof(&go_read);
            0
        })?;
    }
    drop(ready_write.take());
    sys::wait_for_eof(&ready_read);
    sys::sleep_ms(hold_ms);
    drop(go_write.take());
    sys::wait_all();
    Ok(())
}

/// A double-forked daemon that holds `bytes` for `hold_ms`; the caller stays until it has ended.
pub fn daemon_hold(bytes: usize, hold_ms: u64, truth_file: &Path) -> io::Result<()> {
    let (done_read, done_write) = sys::pipe()?;
    let mut done_write = Some(done_write);
    let pid = sys::fork_child(|| {
        // SAFETY: setsid has no arguments; a fresh child is never a group leader, so it succeeds.
        unsafe { libc::setsid() };
        let daemon = sys::fork_child(|| {
            let Ok(pages) = Pages::private(bytes) else { return 1 };
            pages.touch_all();
            sys::sleep_ms(hold_ms);
            drop(done_write.take());
            0
        });
        i32::from(daemon.is_err())
    })?;
    drop(done_write.take());
    sys::wait_for(pid)?;
    sys::wait_for_eof(&done_read);
    truth::write(truth_file, &[("union_bytes", bytes.to_string())])
}

/// Holds `bytes` while `children` programs of its own, which share nothing with it, hold `each` for `hold_ms`.
pub fn family(bytes: usize, children: u64, each: usize, hold_ms: u64, truth_file: &Path) -> io::Result<()> {
    let pages = Pages::private(bytes)?;
    pages.touch_all();
    let program = std::env::current_exe()?;
    let (each_text, ms) = (each.to_string(), hold_ms.to_string());
    let started: Vec<_> = (0..children)
        .map(|number| {
            let own_truth = truth_file.with_file_name(format!("truth-of-child-{number}"));
            Command::new(&program).args(["hold", &each_text, &ms, &ms]).arg(own_truth).spawn()
        })
        .collect::<io::Result<_>>()?;
    for mut child in started {
        child.wait()?;
    }
    let union_bytes = bytes as u64 + children * each as u64;
    truth::write(truth_file, &[("union_bytes", union_bytes.to_string())])
}

/// With `resident` bytes of 4K pages held, maps, faults and unmaps blocks of `block` bytes for `seconds` and
/// says how many pages per second it managed, and the slowest round.
pub fn map_fault(resident: usize, block: usize, seconds: f64, truth_file: &Path) -> io::Result<()> {
    let held = Pages::private(resident)?;
    held.touch_all();
    let start = Instant::now();
    let mut rounds = 0_u64;
    let mut slowest = Duration::ZERO;
    while start.elapsed().as_secs_f64() < seconds {
        let round = Instant::now();
        Pages::private(block)?.touch_all();
        slowest = slowest.max(round.elapsed());
        rounds += 1;
    }
    let pages = rounds * (block / sys::PAGE_BYTES) as u64;
    let pages_per_s = pages as f64 / start.elapsed().as_secs_f64();
    drop(held);
    truth::write(
        truth_file,
        &[
            ("pages_per_s", format!("{pages_per_s:.0}")),
            ("slowest_round_us", slowest.as_micros().to_string()),
        ],
    )
}
