//! Command lines of the job's processes, for the record: `python` says little where there are fifty of them.
//!
//! They stand beside the measurement: a process is asked once, by a tick after it has lived for a while, so that a storm of
//! short processes costs nothing. Whatever fails leaves the command line out.

use crate::linux::proc::root::ProcRoot;
use jobmeter_model::event::COMMAND_NOTE;
use jobmeter_model::{Column, Event, ProcessId, Sink};
use serde_json::json;
use std::collections::VecDeque;

/// Who has lived for so long is asked; until then most have called exec.
const ASKED_AFTER_NS: u64 = 100_000_000;
/// Processes that one tick asks at most; each costs some 10 µs.
const MOST_AT_ONCE: usize = 2;
/// Processes that wait at most; more are not asked.
const MOST_WAITING: usize = 512;
/// Bytes of command lines that a record takes at most.
const MOST_BYTES: usize = 64 << 10;
const BUFFER_BYTES: usize = 4096;

/// Passes the stream on to another sink and adds a note for each command line that it read.
pub struct Commands<S> {
    inner: S,
    /// When each was born or called exec, the oldest first.
    waiting: VecDeque<(u64, ProcessId)>,
    left_bytes: usize,
}

impl<S: Sink> Commands<S> {
    /// In front of `inner`.
    pub fn new(inner: S) -> Commands<S> {
        Commands { inner, waiting: VecDeque::new(), left_bytes: MOST_BYTES }
    }

    fn ask(&mut self, t_ns: u64) {
        let mut buffer = [0; BUFFER_BYTES];
        for _ in 0..MOST_AT_ONCE {
            let Some((_, id)) = self.waiting.pop_front_if(|(born_ns, _)| *born_ns + ASKED_AFTER_NS <= t_ns)
            else {
                return;
            };
            let Some(words) = command_of(id.pid, &mut buffer) else { continue };
            let bytes: usize = words.iter().map(String::len).sum();
            let Some(left) = self.left_bytes.checked_sub(bytes) else { continue };
            self.left_bytes = left;
            let value = json!({ "pid": id.pid, "start_ticks": id.start_ticks, "words": words });
            self.inner.event(&Event::Note { t_ns, key: COMMAND_NOTE.to_owned(), value });
        }
    }
}

/// The words of a process; `None` for a zombie and a thread of the kernel. The tick has just seen it alive: its number
/// cannot have gone round to another one since.
fn command_of(pid: i32, buffer: &mut [u8]) -> Option<Vec<String>> {
    let count = ProcRoot::KERNEL.read(pid, "cmdline", buffer).ok().filter(|count| *count > 0)?;
    let bytes = &buffer[..count];
    let is_cut = bytes.len() == BUFFER_BYTES;
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let mut words: Vec<String> =
        bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    if is_cut {
        // Half a word could be half a secret, which nobody would recognise.
        words.pop();
        words.push("…".to_owned());
    }
    Some(words)
}

impl<S: Sink> Sink for Commands<S> {
    fn define(&mut self, column: &Column) {
        self.inner.define(column);
    }

    fn event(&mut self, event: &Event) {
        self.inner.event(event);
        if let Event::ProcessStart { t_ns, id, .. } | Event::ProcessRename { t_ns, id, .. } = event
            && self.waiting.len() < MOST_WAITING
            && id.start_ticks > 0
        {
            self.waiting.push_back((*t_ns, *id));
        }
        if let Event::ProcessEnd { id, .. } = event {
            self.waiting.retain(|(_, waiting)| waiting != id);
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.inner.tick(t_ns, values);
        self.ask(t_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Notes(Vec<Event>);

    impl Sink for Notes {
        fn define(&mut self, _: &Column) {}

        fn event(&mut self, event: &Event) {
            if matches!(event, Event::Note { .. }) {
                self.0.push(event.clone());
            }
        }

        fn tick(&mut self, _: u64, _: &[Option<u64>]) {}
    }

    fn ended(id: ProcessId) -> Event {
        Event::ProcessEnd {
            t_ns: 6,
            id,
            cpu_ns: None,
            peak_rss_bytes: None,
            read_storage_bytes: None,
            write_storage_bytes: None,
            wait_status: None,
        }
    }

    #[test]
    fn a_process_is_asked_once_after_a_while_and_not_when_it_has_ended() {
        let pid = std::process::id() as i32;
        let stat = ProcRoot::KERNEL.stat(pid, &mut [0; BUFFER_BYTES]).expect("our own stat");
        let own = ProcessId { pid, start_ticks: stat.start_ticks };
        let other = ProcessId { pid, start_ticks: stat.start_ticks + 1 };
        let mut commands = Commands::new(Notes::default());
        for id in [own, other] {
            commands.event(&Event::ProcessStart { t_ns: 5, id, parent_pid: 1, name: "x".to_owned() });
        }
        commands.event(&ended(other));
        commands.tick(ASKED_AFTER_NS, &[]);
        assert!(commands.inner.0.is_empty(), "it may still call exec");
        commands.tick(ASKED_AFTER_NS + 5, &[]);
        commands.tick(ASKED_AFTER_NS * 3, &[]);
        let [Event::Note { key, value, .. }] = &commands.inner.0[..] else {
            panic!("{:?}", commands.inner.0);
        };
        let words: Vec<String> = std::env::args().collect();
        assert_eq!((key.as_str(), &value["words"]), (COMMAND_NOTE, &json!(words)));
    }
}
