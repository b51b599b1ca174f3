//! `/proc/PID/stat`: identity, state, CPU split, waited-for children, faults, threads.

use super::scan::Numbers;

/// The fields of `/proc/PID/stat` that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Command name, at most 15 bytes of anything, NUL-padded.
    pub name: [u8; 16],
    /// `R`, `S`, `D`, `T`, `Z` …
    pub state: u8,
    /// Of the process that is its parent now.
    pub parent_pid: i32,
    /// Kernel flags (PF_*).
    pub flags: u64,
    /// Own figures count all threads, living and exited; children only once they were waited for.
    pub faults_minor: u64,
    /// Of waited-for children.
    pub children_faults_minor: u64,
    /// Page faults with I/O.
    pub faults_major: u64,
    /// Of waited-for children.
    pub children_faults_major: u64,
    /// Clock ticks, commonly 10 ms.
    pub user_ticks: u64,
    /// In the kernel.
    pub system_ticks: u64,
    /// Of waited-for children, in user mode.
    pub children_user_ticks: u64,
    /// Of waited-for children, in the kernel.
    pub children_system_ticks: u64,
    /// Living threads.
    pub threads: u64,
    /// Clock ticks since boot; with the pid, the identity.
    pub start_ticks: u64,
    /// Where its stack begins: another address with every exec, where the kernel places stacks at random. 0 for a zombie
    /// and where it is not for us to see.
    pub start_stack: u64,
}

/// The name stands between the first `(` and the last `)`: it may hold brackets, blanks and newlines itself.
pub fn parse(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let raw_name = text.get(open + 1..close)?;
    let mut name = [0u8; 16];
    let length = raw_name.len().min(15);
    name[..length].copy_from_slice(&raw_name[..length]);
    let rest = text.get(close + 2..)?;
    let state = *rest.first()?;
    // Behind the state: ppid pgrp session tty_nr tpgid(may be -1) flags …; a minus ends `Numbers`.
    let mut fields = rest.get(1..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let mut next = || {
        let field = fields.next()?;
        let field = field.strip_prefix(b"-").unwrap_or(field);
        Numbers(field).next()
    };
    let parent_pid = next()? as i32;
    for _pgrp_to_tpgid in 0..4 {
        next()?;
    }
    let flags = next()?;
    let faults_minor = next()?;
    let children_faults_minor = next()?;
    let faults_major = next()?;
    let children_faults_major = next()?;
    let user_ticks = next()?;
    let system_ticks = next()?;
    let children_user_ticks = next()?;
    let children_system_ticks = next()?;
    for _priority_and_nice in 0..2 {
        next()?;
    }
    let threads = next()?;
    next()?;
    let start_ticks = next()?;
    // Behind it: vsize rss rsslim startcode endcode startstack.
    let start_stack = (0..6).map_while(|_| next()).nth(5).unwrap_or(0);
    Some(Stat {
        name,
        state,
        parent_pid,
        flags,
        faults_minor,
        children_faults_minor,
        faults_major,
        children_faults_major,
        user_ticks,
        system_ticks,
        children_user_ticks,
        children_system_ticks,
        threads,
        start_ticks,
        start_stack,
    })
}

impl Stat {
    /// Forked and not (yet) replaced by exec: its memory is its parent's, copied on write.
    pub fn is_forked_copy(&self) -> bool {
        const PF_FORKNOEXEC: u64 = 0x40;
        self.flags & PF_FORKNOEXEC != 0
    }

    /// Whether it is on its way out.
    pub fn is_exiting(&self) -> bool {
        const PF_EXITING: u64 = 0x4;
        self.flags & PF_EXITING != 0
    }

    /// Whether a process that read as `before` has become another program since, as far as the two readings tell.
    pub fn has_execed_since(&self, before: &Stat) -> bool {
        let stacks = [self.start_stack, before.start_stack];
        let is_renamed = self.name != before.name;
        let was_copy = before.is_forked_copy() && !self.is_forked_copy();
        was_copy || if stacks.contains(&0) { is_renamed } else { stacks[0] != stacks[1] }
    }

    /// Page faults of its own, minor and major.
    pub fn faults(&self) -> u64 {
        self.faults_minor + self.faults_major
    }

    /// Page faults of the children it has waited for.
    pub fn children_faults(&self) -> u64 {
        self.children_faults_minor + self.children_faults_major
    }

    /// The name as text; what is not UTF-8 becomes the replacement character.
    pub fn name_text(&self) -> String {
        name_text(&self.name)
    }
}

/// A command name as text; what is not UTF-8 becomes the replacement character.
pub fn name_text(name: &[u8; 16]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str = "S 612 77 77 34816 -1 4194304 1502 30211 3 12 105 41 880 92 20 0 4 0 8934 9830400 910";

    #[test]
    fn names_with_brackets_blanks_and_newlines() {
        for name in ["bash", "a) R 1", "((((", "))))", "", "x\ny z", "\u{1b}[31m"] {
            let stat = parse(format!("4321 ({name}) {REST}\n").as_bytes()).expect(name);
            assert_eq!(stat.name_text(), name);
            assert_eq!((stat.state, stat.parent_pid, stat.threads, stat.start_ticks), (b'S', 612, 4, 8934));
            assert_eq!((stat.faults_minor, stat.children_faults_minor), (1502, 30211));
            assert_eq!((stat.faults_major, stat.children_faults_major), (3, 12));
            assert_eq!((stat.user_ticks, stat.system_ticks), (105, 41));
            assert_eq!((stat.children_user_ticks, stat.children_system_ticks), (880, 92));
        }
    }

    #[test]
    fn fifteen_bytes_of_no_text_and_every_truncation() {
        let mut line = b"1 (".to_vec();
        line.extend([0xffu8; 15]);
        line.extend(format!(") {REST}").as_bytes());
        assert!(parse(&line).is_some());
        for end in 0..line.len() {
            let _ = parse(&line[..end]);
        }
    }
}
