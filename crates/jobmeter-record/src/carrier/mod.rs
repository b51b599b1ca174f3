//! Takes the bytes of a run file to the disk, so that nobody else waits for it: a store may be frozen, its server may be
//! dead. The writer hands over a buffer, and gathers the next one in memory while the carrier is at work. When that is
//! full, or when the end has waited long enough, the record is given up.

mod process;
mod raw;
mod serve;
mod server_time;
mod slot;

use crate::error::RecordError;
use jobmeter_engine::linux::control::Pid;
use jobmeter_engine::linux::signal_mask::SignalsBlocked;
use jobmeter_model::job::StoreTime;
use serve::serve;
use slot::{Place, Slot, Turn};
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that wait in memory for a store that does not answer.
pub(crate) const MOST_WAITING_BYTES: usize = 1 << 20;

/// The end of a run waits so long for the store, altogether: with what else there is to do it stays within 1 s.
pub(crate) const PATIENCE: Duration = Duration::from_millis(800);

const STACK_BYTES: usize = 64 << 10;

/// Who writes to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CarrierKind {
    /// A thread of this program. It can hold up the end of the program on a store that hangs, not what comes before.
    Thread,
    /// A child process that shares our memory. For programs of our own: others do not expect a child.
    Process,
}

/// Where the file comes from.
pub(crate) enum Origin {
    /// The carrier makes it.
    New,
    /// As `New`, and the folders above it.
    Stored,
    /// It is there.
    Opened(File),
}

#[derive(Debug)]
pub(crate) struct Carrier {
    slot: Arc<Slot>,
    path: PathBuf,
    /// The child process, where it is one.
    pid: Option<Pid>,
}

impl Carrier {
    /// Begins to make the file and to write `first` into it. Waits for nothing. `wants_time`: the clock of a file server
    /// is compared with ours.
    pub(crate) fn start(
        kind: CarrierKind,
        path: PathBuf,
        origin: Origin,
        first: Vec<u8>,
        wants_time: bool,
    ) -> Result<Carrier, RecordError> {
        let folders = if matches!(origin, Origin::Stored) { folders_of(&path)? } else { Vec::new() };
        let file = if let Origin::Opened(file) = origin { Some(file) } else { None };
        let opened = file.as_ref().map(AsRawFd::as_raw_fd);
        let time_file = if wants_time { Some(c_path(&path.with_extension("time"))?) } else { None };
        let place = Place { file: c_path(&path)?, opened, folders, time_file };
        let slot = Arc::new(Slot::new(place, first));
        let failed = |error| RecordError::io("start the writing of", &path, error);
        let pid = match kind {
            CarrierKind::Process => {
                // SAFETY: this count is never given back, so the slot lives as long as the process.
                let leaked: &'static Slot = unsafe { &*Arc::into_raw(Arc::clone(&slot)) };
                Some(process::start(leaked).map_err(failed)?)
            }
            CarrierKind::Thread => {
                // The thread closes it.
                file.map(IntoRawFd::into_raw_fd);
                let shared = Arc::clone(&slot);
                let _blocked = SignalsBlocked::new();
                std::thread::Builder::new()
                    .name("jobmeter-record".to_owned())
                    .stack_size(STACK_BYTES)
                    .spawn(move || serve(&shared))
                    .map_err(failed)?;
                None
            }
        };
        Ok(Carrier { slot, path, pid })
    }

    /// A comparison of the file server's clock with ours, where there is a new one.
    pub(crate) fn take_time(&self) -> Option<StoreTime> {
        if self.slot.turn() != Turn::Idle {
            return None;
        }
        self.slot
            .take_time()
            .filter(|(_, file_system)| *file_system == server_time::NFS)
            .map(|(time, _)| time)
    }

    pub(crate) fn pid(&self) -> Option<Pid> {
        self.pid
    }

    /// Hands over what waits if the carrier is free; whether it was. The buffer is then empty. Never waits.
    pub(crate) fn offer(&self, pending: &mut Vec<u8>) -> Result<bool, RecordError> {
        match self.slot.turn() {
            Turn::Idle => {
                self.slot.hand_over(pending, Turn::Busy);
                pending.clear();
                Ok(true)
            }
            Turn::Busy if pending.len() <= MOST_WAITING_BYTES => Ok(false),
            Turn::Busy => Err(self.given_up("it took nothing until 1 MiB waited in memory")),
            Turn::Failed | Turn::Last | Turn::Closing | Turn::Closed => Err(self.fault()),
        }
    }

    /// Waits for the first bytes to arrive; after the deadline the file may still come to be.
    pub(crate) fn wait_for_file(&self, deadline: Instant) -> Result<(), RecordError> {
        match self.slot.wait_until(deadline) {
            Turn::Failed => Err(self.fault()),
            _ => Ok(()),
        }
    }

    /// The run is over: the rest will come in a moment.
    pub(crate) fn announce_end(&self) {
        self.slot.announce();
    }

    /// Brings the rest to the disk and ends the file, within [`PATIENCE`].
    pub(crate) fn finish(&mut self, rest: &mut Vec<u8>) -> Result<(), RecordError> {
        let deadline = Instant::now() + PATIENCE;
        match self.slot.wait_until(deadline) {
            Turn::Idle => self.slot.hand_over(rest, Turn::Last),
            _ => self.slot.ask_to_close(),
        }
        if self.slot.wait_until(deadline) != Turn::Closed {
            return Err(self.given_up("it took nothing for 0.8 s at the end of the run"));
        }
        // It has closed the file and ends by itself: to reap it would cost a turn of the scheduler, and we end too.
        self.slot.fault(&self.path).map_or(Ok(()), Err)
    }

    fn fault(&self) -> RecordError {
        self.slot.fault(&self.path).unwrap_or_else(|| self.given_up("its writer has ended"))
    }

    fn given_up(&self, reason: &'static str) -> RecordError {
        RecordError::GivenUp { path: self.path.clone(), reason }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // It ends when it can; nobody waits.
        self.slot.ask_to_close();
    }
}

fn c_path(path: &Path) -> Result<CString, RecordError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        let shown = crate::text::printable(&path.to_string_lossy());
        RecordError::Invalid(format!("the path {shown} holds a NUL byte; name another file"))
    })
}

/// The folders above the file, from the root on.
fn folders_of(path: &Path) -> Result<Vec<CString>, RecordError> {
    let mut folders: Vec<CString> = path
        .ancestors()
        .skip(1)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(c_path)
        .collect::<Result<_, _>>()?;
    folders.reverse();
    Ok(folders)
}
