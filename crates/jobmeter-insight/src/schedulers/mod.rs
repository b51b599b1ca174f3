//! Advice in the words of a scheduler, ready to paste. Amounts that are not known are left out, never guessed;
//! comments say so where the format has comments.

mod formats;

use crate::advice::Advice;
use crate::units::{GIB, MIB};

/// In whose words advice is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `#SBATCH` lines.
    Slurm,
    /// A resources block of a pod.
    Kubernetes,
    /// Directives of a process.
    Nextflow,
    /// Resources of a rule.
    Snakemake,
    /// A decorator of a step.
    Metaflow,
    /// Options of `docker run`.
    Docker,
    /// Resource requirements of a job definition.
    AwsBatch,
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Format {
    /// Every format with its name.
    pub const ALL: [(&'static str, Format); 9] = [
        ("slurm", Format::Slurm),
        ("kubernetes", Format::Kubernetes),
        ("nextflow", Format::Nextflow),
        ("snakemake", Format::Snakemake),
        ("metaflow", Format::Metaflow),
        ("docker", Format::Docker),
        ("aws-batch", Format::AwsBatch),
        ("text", Format::Text),
        ("json", Format::Json),
    ];

    /// The format of this name.
    pub fn parse(name: &str) -> Result<Format, crate::Error> {
        let found = Format::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format);
        found.ok_or_else(|| crate::Error::UnknownValue {
            filter: "format",
            value: name.to_owned(),
            valid: Format::ALL.iter().map(|(known, _)| (*known).to_owned()).collect(),
        })
    }
}

/// The advice in a format; ends with a newline.
pub fn render(advice: &Advice, format: Format) -> String {
    let request = Request::of(advice);
    match format {
        Format::Slurm => formats::slurm(&request),
        Format::Kubernetes => formats::kubernetes(&request),
        Format::Nextflow => formats::nextflow(&request),
        Format::Snakemake => formats::snakemake(&request),
        Format::Metaflow => formats::metaflow(&request),
        Format::Docker => formats::docker(&request),
        Format::AwsBatch => formats::aws_batch(&request),
        Format::Text => advice.to_text(),
        Format::Json => advice.to_json() + "\n",
    }
}

/// The amounts of a request in the units that schedulers share.
struct Request {
    /// Letters, digits, dashes: safe in every format. `job` where the runs have no name.
    name: String,
    cores: Option<u64>,
    memory_mib: Option<u64>,
    gpus: u64,
    vram_gib: Option<u64>,
    minutes: Option<u64>,
    disk_mib: Option<u64>,
}

impl Request {
    fn of(advice: &Advice) -> Request {
        let gpus = advice.gpus.value.unwrap_or(0);
        Request {
            name: safe_name(advice.name.as_deref()),
            cores: advice.cores.value,
            memory_mib: advice.memory_bytes.value.map(|b| b.div_ceil(MIB)),
            gpus,
            vram_gib: advice.vram_bytes.value.filter(|v| gpus > 0 && *v > 0).map(|b| b.div_ceil(GIB)),
            minutes: advice.time_s.value.map(|s| s.div_ceil(60).max(1)),
            disk_mib: advice.disk_bytes.value.filter(|v| *v > 0).map(|b| b.div_ceil(MIB)),
        }
    }

    /// Comment lines: what has no word in the format.
    fn comments(&self, mark: &str, indent: &str, with_disk: bool, with_time: bool) -> String {
        let mut out = String::new();
        let mut add = |text: String| out.push_str(&format!("{indent}{mark} {text}\n"));
        if let Some(gib) = self.vram_gib {
            let of =
                if self.gpus == 1 { "the GPU".to_owned() } else { format!("each of {} GPUs", self.gpus) };
            add(format!("needs {gib} GiB of GPU memory on {of}"));
        }
        if let Some(mib) = self.disk_mib.filter(|_| with_disk) {
            add(format!("needs up to {mib} MiB of scratch disk"));
        }
        if let Some(minutes) = self.minutes.filter(|_| with_time) {
            add(format!("needs up to {minutes} minute{}", if minutes == 1 { "" } else { "s" }));
        }
        if self.memory_mib.is_none() {
            add("memory is not known from these runs".to_owned());
        }
        out
    }
}

/// A job's name came from the job: only letters, digits and single dashes pass, beginning with a letter.
fn safe_name(name: Option<&str>) -> String {
    let mut safe = String::new();
    for c in name.unwrap_or_default().chars().take(60) {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => safe.push(c),
            _ if !safe.is_empty() && !safe.ends_with('-') => safe.push('-'),
            _ => {}
        }
    }
    let safe = safe.trim_end_matches('-');
    match safe.chars().next() {
        None => "job".to_owned(),
        Some(first) if first.is_ascii_alphabetic() => safe.to_owned(),
        Some(_) => format!("job-{safe}"),
    }
}
