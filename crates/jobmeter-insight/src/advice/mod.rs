//! What to ask for next time: cores, memory, GPUs, VRAM, time and scratch disk, each with its reason and with
//! what is not known about it.

mod amount;
mod evidence;
mod outlook;
mod present;
mod rules;
mod text;

pub use evidence::Run;
pub use outlook::{Outlook, outlook};
pub use present::Present;

use crate::Error;
use crate::catalogue::Filters;
use crate::policy::{Policy, scale::Fit};
use jobmeter_model::Summary;
use serde::Serialize;

/// How advice is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which rule sizes the request.
    pub policy: Policy,
    /// Size of the next run's input; the tag `input_tag` of past runs holds theirs.
    pub input_bytes: Option<f64>,
    /// The tag that holds the size of the input.
    pub input_tag: String,
}

impl Default for Options {
    fn default() -> Options {
        Options { policy: Policy::default(), input_bytes: None, input_tag: "input".to_owned() }
    }
}

/// One advised amount.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// `None` where nothing is known: ask for what you asked for before.
    pub value: Option<u64>,
    /// The amount before it was rounded up to a sensible step.
    pub need: Option<f64>,
    /// What the value rests on, in one sentence.
    pub why: String,
    /// Why there is no value; `None` where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// How the need follows the input size, if that was asked for and could be fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

/// What to ask for next time, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The rule that sized it.
    #[serde(flatten)]
    pub policy: Policy,
    /// Name of the job, if the runs agree on one. Hostile text.
    pub name: Option<String>,
    /// Runs given, and runs that ended well and were learned from.
    pub runs: usize,
    /// Runs whose figures were used.
    pub runs_used: usize,
    /// Mean wall time of those runs, seconds.
    pub mean_wall_s: Option<f64>,
    /// Cores to ask for.
    pub cores: Item,
    /// Memory to ask for, bytes.
    pub memory_bytes: Item,
    /// GPUs to ask for.
    pub gpus: Item,
    /// On each GPU.
    pub vram_bytes: Item,
    /// Time limit to ask for, seconds.
    pub time_s: Item,
    /// Disk space to ask for, bytes.
    pub disk_bytes: Item,
    /// What the runs had been given, and used of it.
    pub present: Option<Present>,
    /// No run ended well: a whole run may need more than each amount.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_floor: bool,
    /// What to know before following it.
    pub notes: Vec<String>,
}

/// Advice from one run or many of the same job.
///
/// ```
/// use jobmeter_insight::advice::{Options, advise};
/// use jobmeter_model::Summary;
///
/// let text = std::fs::read_to_string("../../fixtures/golden/plain/show.json")?;
/// let summary: Summary = serde_json::from_str(&text)?;
/// let advice = advise(&[summary], &Options::default())?;
/// assert_eq!(advice.runs_used, 1);
/// assert!(advice.memory_bytes.value > Some(0), "{}", advice.memory_bytes.why);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn advise(summaries: &[Summary], options: &Options) -> Result<Advice, Error> {
    if summaries.is_empty() {
        return Err(Error::NoRuns { reason: "no run was given".to_owned() });
    }
    let runs: Vec<Run> = summaries.iter().map(|s| Run::of(s, &options.input_tag)).collect();
    rules::advise(summaries, &runs, options)
}

/// The operating system's own share of a server's memory.
const SYSTEM_MEMORY_BYTES: f64 = (512u64 << 20) as f64;
/// A GPU's driver keeps a few per cent of the marketed VRAM.
const USABLE_VRAM: f64 = 0.94;

impl Advice {
    /// What a server must have to run this job. Burstable types are left out: they throttle a job that computes.
    pub fn filters(&self) -> Filters {
        let gpus = self.gpus.value.filter(|g| *g > 0);
        let memory = self.memory_bytes.need.or(self.memory_bytes.value.map(|v| v as f64));
        let vram = self.vram_bytes.need.filter(|v| *v > 0.0 && gpus.is_some());
        Filters {
            cpu: self.cores.value.map(|c| u32::try_from(c).unwrap_or(u32::MAX)),
            memory_bytes: memory.map(|bytes| (bytes + SYSTEM_MEMORY_BYTES) as u64),
            gpu: gpus.map(|g| u32::try_from(g).unwrap_or(u32::MAX)),
            vram_bytes: vram.map(|each| (each / USABLE_VRAM) as u64),
            steady_cpu: true,
            ..Filters::default()
        }
    }

    /// As JSON, for programs.
    pub fn to_json(&self) -> String {
        // Plain data with string keys: serialising it cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// As text, for people.
    pub fn to_text(&self) -> String {
        text::render(self)
    }
}
