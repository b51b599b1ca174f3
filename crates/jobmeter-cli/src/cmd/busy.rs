//! Signs of life on a terminal: what takes longer than a second says what it does and how far it has come.

use super::terminal::{self, Stream};
use jobmeter_record::Progress;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FIRST_AFTER: Duration = Duration::from_secs(1);
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Until it is dropped, one line of standard error shows `what` and the percentage, or the seconds where nobody knows how
/// much there is to do. Nothing where that is no terminal.
pub(crate) struct Busy {
    progress: Arc<Progress>,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Busy {
    pub(crate) fn new(what: &str) -> Busy {
        let progress = Arc::new(Progress::default());
        if !std::io::stderr().is_terminal() {
            return Busy { progress, shown: None };
        }
        let (end, ended) = channel::<()>();
        // The line must not wrap: it is written over itself.
        let room = terminal::width(Stream::Error).unwrap_or(terminal::USUAL_WIDTH).saturating_sub(12);
        let what: String = what.chars().take(room).collect();
        let (began, told) = (Instant::now(), Arc::clone(&progress));
        let shown = std::thread::Builder::new().spawn(move || {
            let mut pause = FIRST_AFTER;
            let mut is_drawn = false;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let far = match told.percent() {
                    Some(percent) => format!("{percent} %"),
                    None => format!("{} s", began.elapsed().as_secs()),
                };
                // A terminal that takes nothing is nobody's loss.
                let _ = write!(std::io::stderr(), "\r{what}: {far} ");
                (pause, is_drawn) = (AGAIN_AFTER, true);
            }
            if is_drawn {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        });
        // Without a thread there is no sign of life, and all else goes on.
        Busy { progress, shown: shown.ok().map(|thread| (end, thread)) }
    }

    /// What readers tell how far they are.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.shown.take() {
            drop(end);
            let _ended = thread.join();
        }
    }
}
