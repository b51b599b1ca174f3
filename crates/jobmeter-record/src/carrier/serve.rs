//! The carrier's whole life: make the file, write what is handed over, close it. It may run in a process that shares
//! our memory, so it allocates nothing, panics nowhere and makes raw system calls only.

use super::raw;
use super::server_time::{self, ServerTime};
use super::slot::{Place, Slot, Step, Turn};
use std::ffi::c_int;

pub(super) fn serve(slot: &Slot) {
    let mut time = ServerTime::default();
    let before_unix_ns = server_time::before(&slot.place);
    let mut file = match open(&slot.place) {
        Ok(fd) => {
            time.note_made(slot, fd, before_unix_ns);
            Some(fd)
        }
        Err((step, error)) => {
            slot.note_fault(step, error);
            None
        }
    };
    let mut written = 0;
    loop {
        match slot.turn() {
            turn @ (Turn::Busy | Turn::Last) => {
                if let Some(fd) = file
                    && let Err(error) = append(fd, &mut written, slot.bytes())
                {
                    slot.note_fault(Step::Write, error);
                    file = None;
                    abandon(slot, fd, written);
                }
                if file.is_some() && turn == Turn::Busy {
                    time.note_again_if_due(slot);
                }
                let next = if file.is_some() { Turn::Idle } else { Turn::Failed };
                if turn == Turn::Last || !slot.give_turn(turn, next) {
                    return close(slot, file);
                }
            }
            turn @ (Turn::Idle | Turn::Failed) => slot.sleep_while(turn),
            Turn::Closing | Turn::Closed => return close(slot, file),
        }
    }
}

fn close(slot: &Slot, file: Option<c_int>) {
    if let Some(Err(error)) = file.map(raw::close) {
        slot.note_fault(Step::Close, error);
    }
    slot.say_closed();
}

fn open(place: &Place) -> Result<c_int, (Step, i32)> {
    if let Some(fd) = place.opened {
        return Ok(fd);
    }
    match raw::create(&place.file) {
        Err(libc::ENOENT) if !place.folders.is_empty() => {
            let mut made = Ok(0);
            for folder in &place.folders {
                made = raw::make_folder(folder);
            }
            match made {
                Ok(_) | Err(libc::EEXIST) => {}
                Err(error) => return Err((Step::MakeFolder, error)),
            }
            raw::create(&place.file).map_err(|error| (Step::Create, error))
        }
        made => made.map_err(|error| (Step::Create, error)),
    }
}

fn append(fd: c_int, written: &mut u64, bytes: &[u8]) -> Result<(), i32> {
    raw::write_all(fd, bytes)?;
    *written += bytes.len() as u64;
    Ok(())
}

/// Part of the last bytes may have arrived. A reader would find the cut by itself; without them the file ends cleanly.
/// A record in which nothing is left would only be in the way.
fn abandon(slot: &Slot, fd: c_int, written: u64) {
    if written == 0 && slot.place.opened.is_none() {
        let _ = raw::remove(&slot.place.file);
    } else {
        let _ = raw::cut(fd, written);
    }
    let _ = raw::close(fd);
}
