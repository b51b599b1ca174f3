//! Whether processes of the job run at the moment of a mark. The kernel counts the CPU time of a running thread up to its last clock
//! tick, 1 to 10 ms ago, and that of one that waits to the end: with somebody running, a counter at a boundary is late by as much.

use super::{Meter, Target};
use crate::linux::proc::stat::Stat;
use crate::linux::sys;
use crate::meter::process::Process;
use jobmeter_model::event::{Event, RUNNING_NOTE};

/// With more processes or threads than this it is taken for granted that somebody runs: each costs a read.
const MOST_ASKED: usize = 16;

/// `jobmeter mark`, as the kernel calls it.
const COMMAND: &[u8] = b"jobmeter\0";

impl Meter {
    /// Says in the record if processes run while the row of `t_ns` is made.
    pub(super) fn note_running(&mut self, t_ns: u64) {
        if self.is_anybody_running() {
            let value = serde_json::Value::Bool(true);
            self.emit(&Event::Note { t_ns, key: RUNNING_NOTE.to_owned(), value });
        }
    }

    fn is_anybody_running(&mut self) -> bool {
        let tree = &mut self.tree;
        if tree.processes.len() > MOST_ASKED {
            return true;
        }
        // The meter's own threads are not the program's, and the clock of the thread that asks is exact.
        let (is_own, own_tid) = (self.target == Target::Own, sys::thread_id());
        let (proc, buffer, meters_threads) = (tree.proc, &mut tree.buffer, tree.meters_threads);
        let mut others = tree.processes.iter().filter(|process| {
            // The command that made the mark has hardly begun.
            !process.has_given_memory_back() && !process.stat.name.starts_with(COMMAND)
        });
        others.any(|process: &Process| {
            let is_host = is_own && process.is_main;
            let threads = process.stat.threads.saturating_sub(if is_host { meters_threads } else { 0 });
            match threads {
                0 | 1 if is_host => false,
                0 | 1 => {
                    // When its clock was read, or a moment later.
                    let is_running = |stat: &Stat| stat.state == b'R';
                    is_running(&process.stat)
                        || proc.stat(process.id.pid, buffer).is_some_and(|stat| is_running(&stat))
                }
                _ => process.has_running_thread(if is_host { own_tid } else { 0 }, MOST_ASKED, buffer),
            }
        })
    }
}
