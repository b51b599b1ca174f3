//! What living tasks have used so far, from the files of each thread: those of a process would include the
//! children that it has waited for, which are counted as ended tasks already.

use super::taskstats::Counters;
use std::fs;

pub(crate) fn counters(process: i32, task: i32) -> Option<Counters> {
    let folder = format!("/proc/{process}/task/{task}");
    let io = fs::read_to_string(format!("{folder}/io")).ok()?;
    let status = fs::read_to_string(format!("{folder}/status")).ok()?;
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    let keyed = |text: &str, key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
    };
    // After the name in brackets: state, ppid, …; minflt is the eighth word, majflt the tenth.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(Counters {
        read_chars: keyed(&io, "rchar:")?,
        write_chars: keyed(&io, "wchar:")?,
        read_bytes: keyed(&io, "read_bytes:")?,
        write_bytes: keyed(&io, "write_bytes:")?,
        faults_minor: words.get(7)?.parse().ok()?,
        faults_major: words.get(9)?.parse().ok()?,
        switches_voluntary: keyed(&status, "voluntary_ctxt_switches:")?,
        switches_involuntary: keyed(&status, "nonvoluntary_ctxt_switches:")?,
        tasks: 1,
        ..Counters::default()
    })
}
