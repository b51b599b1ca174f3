//! How the job ended, in one sentence, with what the sentence rests on.

use crate::kinds::VerdictKind;
use crate::summary::Verdict;

/// The number of SIGKILL, the same on every Linux.
const SIGKILL: i32 = 9;

/// Whether a wait status, as Linux encodes it, says that a signal ended the process.
pub fn is_signaled(status: i32) -> bool {
    !matches!(status & 0x7f, 0 | 0x7f)
}

/// The signal that ended it.
pub fn signal_of(status: i32) -> i32 {
    status & 0x7f
}

fn has_dumped(status: i32) -> bool {
    status & 0x80 != 0
}

/// The exit code of a process that ended by itself.
pub fn exit_code_of(status: i32) -> i32 {
    (status >> 8) & 0xff
}

/// What is known besides the wait status.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    /// We ended it because its time was up.
    pub timed_out_after_ns: Option<u64>,
    /// OOM kills that its cgroup counted while it ran.
    pub oom_kills: u64,
}

/// From a `wait` status.
pub fn of_status(status: i32, circumstances: &Circumstances) -> Verdict {
    let mut evidence = Vec::new();
    if circumstances.oom_kills > 0 {
        evidence.push(format!(
            "the kernel's OOM killer struck {} time(s) in the job's cgroup",
            circumstances.oom_kills
        ));
    }
    let (kind, exit_code, signal, core_dumped, text) = if is_signaled(status) {
        let signal = signal_of(status);
        let core_dumped = has_dumped(status);
        evidence.push(format!("wait status {status:#06x}"));
        let core = if core_dumped { ", core dumped" } else { "" };
        let named = signal_text(signal);
        if circumstances.oom_kills > 0 && signal == SIGKILL {
            (
                VerdictKind::OomKilled,
                None,
                Some(signal),
                core_dumped,
                "killed for want of memory (OOM)".to_owned(),
            )
        } else {
            (VerdictKind::Signaled, None, Some(signal), core_dumped, format!("killed by {named}{core}"))
        }
    } else {
        let code = exit_code_of(status);
        (VerdictKind::Exited, Some(code), None, false, format!("exited with code {code}"))
    };
    if let Some(after_ns) = circumstances.timed_out_after_ns {
        let after = crate::units::format_duration_ns(after_ns);
        evidence.push(text);
        let text = format!("ended by its time limit of {after}");
        return Verdict { kind: VerdictKind::Timeout, exit_code, signal, core_dumped, text, evidence };
    }
    Verdict { kind, exit_code, signal, core_dumped, text, evidence }
}

/// A run that we only watched, or stopped watching.
pub fn of_watch(kind: impl Into<VerdictKind>, text: &str) -> Verdict {
    Verdict {
        kind: kind.into(),
        exit_code: None,
        signal: None,
        core_dumped: false,
        text: text.to_owned(),
        evidence: Vec::new(),
    }
}

/// `SIGSEGV (11)`.
pub fn signal_text(signal: i32) -> String {
    const NAMES: [&str; 32] = [
        "0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU",
        "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match usize::try_from(signal).ok().and_then(|index| NAMES.get(index)) {
        Some(name) => format!("SIG{name} ({signal})"),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_as_wait_gives_them() {
        let plain = Circumstances::default();
        assert_eq!(of_status(7 << 8, &plain).text, "exited with code 7");
        let segv = of_status(11 | 0x80, &plain);
        assert_eq!((segv.kind, segv.core_dumped), (VerdictKind::Signaled, true));
        assert_eq!(segv.text, "killed by SIGSEGV (11), core dumped");
        let oom = of_status(9, &Circumstances { oom_kills: 1, ..Circumstances::default() });
        assert_eq!(oom.kind, "oom_killed");
        let late = Circumstances { timed_out_after_ns: Some(10_000_000_000), ..Circumstances::default() };
        assert_eq!(of_status(15, &late).kind, "timeout");
    }
}
