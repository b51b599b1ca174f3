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
    /// OOM kills that its cgroup counted while it ran; `None` where that is not known.
    pub oom_kills: Option<u64>,
    /// OOM kills on the whole machine while it ran.
    pub machine_oom_kills: Option<u64>,
    /// The limit that was reached, where a cgroup says so.
    pub reached_limit: Option<ReachedLimit>,
}

/// A memory limit of a cgroup, the job's own or one above it, that was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedLimit {
    /// How large it is.
    pub bytes: u64,
    /// The folder of the group. Hostile text.
    pub group: String,
}

/// From a `wait` status.
pub fn of_status(status: i32, circumstances: &Circumstances) -> Verdict {
    let mut evidence = Vec::new();
    let oom_kills = circumstances.oom_kills.unwrap_or_default();
    if oom_kills > 0 {
        let times = if oom_kills == 1 { "once".to_owned() } else { format!("{oom_kills} times") };
        evidence.push(format!("the kernel's OOM killer struck {times} in the job's cgroup"));
        evidence.push(match &circumstances.reached_limit {
            Some(limit) => format!(
                "the memory limit of {} of cgroup {} was reached",
                crate::units::format_bytes(limit.bytes),
                limit.group
            ),
            None => {
                "no cgroup says that its memory limit was reached: the machine was out of memory".to_owned()
            }
        });
    }
    let (kind, exit_code, signal, core_dumped, text) = if is_signaled(status) {
        let signal = signal_of(status);
        let core_dumped = has_dumped(status);
        evidence.push(format!("wait status {status:#06x}"));
        let core = if core_dumped { ", core dumped" } else { "" };
        let named = signal_text(signal);
        if oom_kills > 0 && signal == SIGKILL {
            let limit = circumstances.reached_limit.as_ref();
            let limit = limit.map(|limit| crate::units::format_bytes(limit.bytes));
            let limit = limit.map_or_else(String::new, |limit| format!(", at the limit of {limit}"));
            let text = format!("killed for want of memory (OOM){limit}");
            (VerdictKind::OomKilled, None, Some(signal), core_dumped, text)
        } else {
            // Nobody else kills without a word: it is worth saying that this was somebody else.
            let is_known = signal == SIGKILL && circumstances.oom_kills == Some(0);
            let other = if is_known { ", not by the OOM killer" } else { "" };
            if let (SIGKILL, None, Some(kills)) =
                (signal, circumstances.oom_kills, circumstances.machine_oom_kills)
            {
                evidence.push(format!(
                    "the OOM killer ended {kills} process(es) of this machine meanwhile; whether the job's is not known"
                ));
            }
            let text = format!("killed by {named}{core}{other}");
            (VerdictKind::Signaled, None, Some(signal), core_dumped, text)
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
        assert_eq!(of_status(9, &plain).text, "killed by SIGKILL (9)", "nobody knows by whom");
        let counted = |oom_kills| Circumstances { oom_kills: Some(oom_kills), ..Circumstances::default() };
        assert_eq!(of_status(9, &counted(0)).text, "killed by SIGKILL (9), not by the OOM killer");
        assert_eq!(of_status(15, &counted(0)).text, "killed by SIGTERM (15)");
        let oom = of_status(9, &counted(1));
        assert_eq!(
            (oom.kind, oom.text.as_str()),
            (VerdictKind::OomKilled, "killed for want of memory (OOM)")
        );
        assert!(oom.evidence[1].contains("the machine was out of memory"), "{:?}", oom.evidence);
        let limit = Some(ReachedLimit { bytes: 50_000_000, group: "/sys/fs/cgroup/x".to_owned() });
        let oom = of_status(9, &Circumstances { reached_limit: limit, ..counted(2) });
        assert_eq!(oom.text, "killed for want of memory (OOM), at the limit of 50.0 MB");
        assert!(oom.evidence[0].contains("struck 2 times") && oom.evidence[1].contains("/sys/fs/cgroup/x"));
        assert_eq!(of_status(0, &counted(1)).kind, VerdictKind::Exited, "a child was killed, not main");
        let elsewhere = Circumstances { machine_oom_kills: Some(3), ..Circumstances::default() };
        let killed = of_status(9, &elsewhere);
        assert_eq!(killed.text, "killed by SIGKILL (9)", "it may have been the OOM killer, or not");
        assert!(killed.evidence.iter().any(|line| line.contains("ended 3 process(es) of this machine")));
        assert_eq!(of_status(15, &elsewhere).evidence.len(), 1, "the OOM killer sends SIGKILL");
        let late = Circumstances { timed_out_after_ns: Some(10_000_000_000), ..Circumstances::default() };
        assert_eq!(of_status(15, &late).kind, "timeout");
    }
}
