//! Where a run file stopped being readable, and the summary that says so.

use crate::frame::FrameKind;
use crate::limits::READ_LIMIT_VARIABLE;
use crate::reader::Run;
use crate::source::Step;
use jobmeter_model::replay::Replay;
use jobmeter_model::summary::{Verdict, Warning};
use jobmeter_model::{Summary, VerdictKind, WarningKind};

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// The file ends inside a frame: its writer was killed, or is writing right now. Not a fault of the file.
    CutOff,
    /// A checksum is wrong, a frame is malformed, or something follows the end.
    Damaged,
    /// The file holds more than a reader takes from one of its size.
    TooLarge,
}

/// Where and why a file stopped being readable. What came before is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What is wrong.
    pub kind: DamageKind,
    /// Where in the file.
    pub offset: u64,
    /// In one sentence.
    pub reason: String,
}

impl Damage {
    /// The same as a warning of the summary. A file that was only cut off is an ordinary unfinished run.
    pub fn warning(&self) -> Option<Warning> {
        let kind = match self.kind {
            DamageKind::CutOff => return None,
            DamageKind::Damaged => WarningKind::DamagedRecord,
            DamageKind::TooLarge => WarningKind::RecordLimit,
        };
        Some(Warning { kind, text: self.to_string() })
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Damage { kind, offset, reason } = self;
        match kind {
            DamageKind::CutOff => {
                write!(f, "the record is cut off at byte {offset}: {reason}; what came before is used")
            }
            DamageKind::Damaged => {
                write!(f, "the record is damaged at byte {offset}: {reason}; what came before is used")
            }
            DamageKind::TooLarge => write!(
                f,
                "the record is read up to byte {offset} only: {reason}; {READ_LIMIT_VARIABLE}=none reads all of a \
                 file that you trust"
            ),
        }
    }
}

impl Run {
    /// The first damage of the file, found by its checksums alone: nothing is decoded.
    pub fn find_damage(&self) -> Option<Damage> {
        let mut walk = self.walk_body();
        let mut is_over = false;
        loop {
            let offset = walk.offset();
            let found = |kind, reason: &str| Some(Damage { kind, offset, reason: reason.to_owned() });
            match walk.step() {
                Step::End => return None,
                _ if is_over => return found(DamageKind::Damaged, "more bytes follow the end of the run"),
                Step::Frame(kind) => is_over = kind == FrameKind::Footer as u8,
                Step::CutOff => return found(DamageKind::CutOff, "the last frame is incomplete"),
                Step::Broken(reason) => return found(DamageKind::Damaged, &reason),
            }
        }
    }

    /// The stored summary, or the one that the ticks give where there is none. Damage is among its warnings.
    pub fn told_summary(&self) -> Summary {
        if let Some(summary) = self.summary() {
            return with_damage(summary, self.find_damage());
        }
        let mut replay = Replay::default();
        let replayed = self.replay(&mut replay);
        match replayed.summary {
            // Only the way to it is lost: the end of the file.
            Some(summary) => with_damage(*summary, replayed.damage),
            None => with_damage(self.without_trailer(replay), replayed.damage),
        }
    }

    /// The summary of the ticks alone: of a job that is still running here, or of a meter that was killed.
    fn without_trailer(&self, replay: Replay) -> Summary {
        let mut summary = replay.summary(self.info());
        if crate::os::is_running_here(&summary.run.host, summary.run.pid) {
            summary.verdict = Verdict {
                kind: VerdictKind::Running,
                text: "still running; the figures are those of its last tick".to_owned(),
                exit_code: None,
                signal: None,
                core_dumped: false,
                evidence: Vec::new(),
            };
            summary.warnings.retain(|warning| warning.kind != WarningKind::NoTrailer);
        }
        summary
    }
}

fn with_damage(mut summary: Summary, damage: Option<Damage>) -> Summary {
    summary.warnings.extend(damage.and_then(|damage| damage.warning()));
    summary
}
