//! Signs of life on a terminal: what takes longer than a second says what it does and for how long.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FIRST_AFTER: Duration = Duration::from_secs(1);
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Until it is dropped, one line of standard error shows `what` and the seconds. Nothing where that is no terminal.
pub(crate) struct Busy(Option<(Sender<()>, JoinHandle<()>)>);

impl Busy {
    pub(crate) fn new(what: String) -> Busy {
        if !std::io::stderr().is_terminal() {
            return Busy(None);
        }
        let (end, ended) = channel::<()>();
        let began = Instant::now();
        let shown = std::thread::Builder::new().spawn(move || {
            let mut pause = FIRST_AFTER;
            let mut is_drawn = false;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // A terminal that takes nothing is nobody's loss.
                let _ = write!(std::io::stderr(), "\r{what}: {} s ", began.elapsed().as_secs());
                (pause, is_drawn) = (AGAIN_AFTER, true);
            }
            if is_drawn {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        });
        // Without a thread there is no sign of life, and all else goes on.
        Busy(shown.ok().map(|thread| (end, thread)))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            let _ended = thread.join();
        }
    }
}
