//! What became of the GPUs that a job could use: how many it used, how long they stood idle, what that cost, and
//! whether the work was spread evenly over them.

use crate::units::show_seconds;
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::text::printable;
use jobmeter_model::{Figure, Metric, Quality, Scope, Stat, Summary};
use serde::Serialize;

/// One GPU that the job could use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuUse {
    /// As the driver names it.
    pub uuid: String,
    /// `GPU 0 (A100-SXM4-80GB)`
    pub label: String,
    /// `None`: not known.
    pub used: Option<bool>,
    /// Time that it was held and not computed on; a lower bound where `idle_is_whole` is false.
    pub idle_ns: Option<u64>,
    /// Whether all of the run was sampled, so that the idle time is the whole.
    pub idle_is_whole: bool,
    /// From the first sample to the last.
    pub watched_ns: Option<u64>,
    /// Drawn while it was idle.
    pub idle_joules: Option<f64>,
    /// Of the whole device, by the job, on average.
    pub busy_ratio: Option<f64>,
}

/// What the job did with the GPUs that it could see.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuVerdict {
    /// GPUs that the job could see.
    pub visible: usize,
    /// GPUs that it computed on.
    pub used: usize,
    /// Of so many it is not known whether they were used.
    pub untold: usize,
    /// `None` where a GPU may have been used and nobody knows.
    pub ask_for: Option<usize>,
    /// Idle GPU time in hours, over all GPUs of which it is known.
    pub wasted_gpu_hours: Option<f64>,
    /// Energy of GPUs while the job did not compute on them.
    pub wasted_joules: Option<f64>,
    /// Of all the time of all GPUs.
    pub idle_ratio: Option<f64>,
    /// The busiest used GPU's share of time over that of the least busy one, where two or more were used.
    pub imbalance: Option<f64>,
    /// One entry for each GPU.
    pub gpus: Vec<GpuUse>,
}

/// One GPU twice as busy as another is worth a word.
const UNEVEN: f64 = 2.0;
/// Idle for less than this is how programs are.
const WORTH_A_WORD: f64 = 0.1;

/// `None` without a GPU that the job could use.
pub fn verdict(summary: &Summary) -> Option<GpuVerdict> {
    of_gpus(&summary.gpus)
}

fn of_gpus(gpus: &[EntityFigures]) -> Option<GpuVerdict> {
    let gpus: Vec<GpuUse> = gpus.iter().filter(|gpu| is_usable(gpu)).map(of_one).collect();
    if gpus.is_empty() {
        return None;
    }
    let used = gpus.iter().filter(|gpu| gpu.used == Some(true)).count();
    let untold = gpus.iter().filter(|gpu| gpu.used.is_none()).count();
    let sum = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>());
    let timed: Vec<(u64, u64)> = gpus.iter().filter_map(|gpu| gpu.idle_ns.zip(gpu.watched_ns)).collect();
    let idle_ns = sum(timed.iter().map(|(idle_ns, _)| *idle_ns as f64).collect());
    let watched_ns = sum(timed.iter().map(|(_, watched_ns)| *watched_ns as f64).collect());
    let busy = gpus.iter().filter(|gpu| gpu.used == Some(true)).filter_map(|gpu| gpu.busy_ratio);
    let busy: Vec<f64> = busy.collect();
    let (least, most) = busy.iter().fold((f64::MAX, 0.0_f64), |(low, high), b| (low.min(*b), high.max(*b)));
    Some(GpuVerdict {
        visible: gpus.len(),
        used,
        untold,
        ask_for: (untold == 0).then_some(used),
        wasted_gpu_hours: idle_ns.map(|ns| ns / 3.6e12),
        wasted_joules: sum(gpus.iter().filter_map(|gpu| gpu.idle_joules).collect()),
        idle_ratio: idle_ns.zip(watched_ns).filter(|(_, all)| *all > 0.0).map(|(idle, all)| idle / all),
        imbalance: (busy.len() > 1 && least > 0.0).then(|| most / least),
        gpus,
    })
}

fn has(gpu: &EntityFigures, key: &str, value: &str) -> bool {
    gpu.facts.get(key).is_some_and(|known| known == value)
}

/// A MIG GPU is used through its instances.
fn is_usable(gpu: &EntityFigures) -> bool {
    !has(gpu, "visible", "no") && !has(gpu, "mig_enabled", "yes") && !has(gpu, "selected", "no")
}

fn of_one(gpu: &EntityFigures) -> GpuUse {
    let idle = gpu.figures.get(Metric::GpuIdleNs, Stat::Total);
    let busy = gpu.figures.of(Scope::Combined, Metric::GpuBusyPpm, Stat::Mean);
    GpuUse {
        uuid: gpu.name.clone(),
        label: label(gpu),
        used: match gpu.facts.get("used").map(String::as_str) {
            Some("yes") => Some(true),
            Some("no") => Some(false),
            _ => None,
        },
        idle_ns: idle.and_then(Figure::as_u64),
        idle_is_whole: idle.is_some_and(|idle| idle.quality == Quality::Sampled),
        watched_ns: gpu.figures.whole(Metric::GpuWatchedNs, Stat::Total),
        idle_joules: gpu.figures.value(Metric::GpuIdleEnergyUj, Stat::Total).map(|uj| uj / 1e6),
        busy_ratio: busy.and_then(Figure::as_f64).map(|ppm| ppm / 1e6),
    }
}

/// How people call a GPU: its number in the driver's order and its model, without the maker. A UUID tells them nothing.
pub fn label(gpu: &EntityFigures) -> String {
    let fact = |key: &str| gpu.facts.get(key).map(String::as_str);
    let name = fact("name").unwrap_or("");
    let short = ["NVIDIA ", "AMD ", "Intel "].iter().find_map(|maker| name.strip_prefix(maker));
    let number = fact("index").map_or_else(|| gpu.name.clone(), |index| format!("GPU {index}"));
    let instance = fact("mig_ids").map_or(String::new(), |ids| format!(" MIG {ids}"));
    match short.unwrap_or(name) {
        "" => printable(&format!("{number}{instance}")),
        short => printable(&format!("{number}{instance} ({short})")),
    }
}

impl GpuVerdict {
    /// `2 GPUs were visible, 1 was used: ask for 1`.
    pub fn headline(&self) -> String {
        let visible = match self.visible {
            1 => "1 GPU was visible".to_owned(),
            many => format!("{many} GPUs were visible"),
        };
        let used = match (self.used, self.visible) {
            (0, _) if self.untold == 0 => "none was used".to_owned(),
            (1, 1) => return "1 GPU was visible and used".to_owned(),
            (used, all) if used == all => format!("all {used} were used"),
            (1, _) => "1 was used".to_owned(),
            (used, _) => format!("{used} were used"),
        };
        match self.ask_for {
            None if self.used == 0 => format!("{visible}; whether the job used any is not known"),
            None => format!("{visible}, {used}; of {} that is not known", self.untold),
            Some(ask) if ask == self.visible => format!("{visible}, {used}"),
            Some(0) => format!("{visible}, {used}: ask for no GPU"),
            Some(ask) => format!("{visible}, {used}: ask for {ask}"),
        }
    }

    /// All in one line: the headline, what stood idle and what that cost, and whether the work was uneven.
    pub fn line(&self) -> String {
        let mut parts = vec![self.headline()];
        parts.extend(self.waste());
        parts.extend(self.uneven());
        parts.join("; ")
    }

    fn waste(&self) -> Option<String> {
        let ratio = self.idle_ratio.filter(|ratio| *ratio >= WORTH_A_WORD)?;
        let hours = self.wasted_gpu_hours?;
        let at_least = if self.gpus.iter().all(|gpu| gpu.idle_is_whole) { "" } else { "at least " };
        let time = if hours < 0.1 {
            format!("{} of GPU time", show_seconds(hours * 3600.0))
        } else {
            format!("{hours:.1} GPU-hours")
        };
        let energy =
            self.wasted_joules.map_or(String::new(), |joules| format!(" and {}", show_joules(joules)));
        Some(format!("idle {at_least}{:.0} % of the time, {time}{energy} wasted", ratio * 100.0))
    }

    fn uneven(&self) -> Option<String> {
        self.imbalance.filter(|ratio| *ratio >= UNEVEN)?;
        let used = self.gpus.iter().filter(|gpu| gpu.used == Some(true));
        let mut used: Vec<(&GpuUse, f64)> = used.filter_map(|gpu| Some((gpu, gpu.busy_ratio?))).collect();
        used.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (most, least) = (used.first()?, used.last()?);
        Some(format!(
            "uneven: {} was busy {:.0} % and {} {:.0} %",
            most.0.label,
            most.1 * 100.0,
            least.0.label,
            least.1 * 100.0
        ))
    }
}

fn show_joules(joules: f64) -> String {
    match joules {
        j if j >= 3.6e6 => format!("{:.1} kWh", j / 3.6e6),
        j if j >= 1e4 => format!("{:.1} kJ", j / 1e3),
        j => format!("{j:.0} J"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: usize, used: &str, idle: Option<f64>, busy: Option<f64>) -> EntityFigures {
        let facts =
            [("index", index.to_string()), ("name", "NVIDIA A100".to_owned()), ("used", used.to_owned())];
        let mut gpu = EntityFigures {
            name: format!("GPU-{index}"),
            facts: facts.map(|(key, value)| (key.to_owned(), value)).into_iter().collect(),
            figures: jobmeter_model::Figures::new(),
        };
        let mut put = |key: &str, value: f64| {
            gpu.figures.set_by_key(key, Figure::int(value as u64, Quality::Sampled));
        };
        put("gpu_watched_ns", 100e9);
        if let Some(idle) = idle {
            put("gpu_idle_ns", idle * 100e9);
            put("gpu_idle_energy_uj", idle * 5e9);
        }
        if let Some(busy) = busy {
            put("combined_gpu_busy_ppm_mean", busy * 1e6);
        }
        gpu
    }

    fn of(gpus: Vec<EntityFigures>) -> GpuVerdict {
        of_gpus(&gpus).expect("there are GPUs")
    }

    #[test]
    fn two_visible_one_used_is_ask_for_one() {
        let verdict = of(vec![gpu(0, "yes", Some(0.2), Some(0.8)), gpu(1, "no", Some(1.0), Some(0.0))]);
        assert_eq!((verdict.ask_for, verdict.imbalance), (Some(1), None));
        assert_eq!(
            verdict.line(),
            "2 GPUs were visible, 1 was used: ask for 1; idle 60 % of the time, 2 min 00 s of GPU time and 6000 J wasted"
        );
        assert_eq!(
            of(vec![gpu(0, "no", Some(1.0), None)]).headline(),
            "1 GPU was visible, none was used: ask for no GPU"
        );
    }

    #[test]
    fn what_is_not_known_gives_no_advice_and_no_waste() {
        let verdict = of(vec![gpu(0, "unknown", None, None)]);
        assert_eq!((verdict.ask_for, verdict.wasted_gpu_hours), (None, None));
        assert_eq!(verdict.line(), "1 GPU was visible; whether the job used any is not known");
        let verdict = of(vec![gpu(0, "yes", None, None), gpu(1, "unknown", None, None)]);
        assert_eq!(verdict.line(), "2 GPUs were visible, 1 was used; of 1 that is not known");
    }

    #[test]
    fn uneven_work_is_named_by_the_cards() {
        let verdict = of(vec![gpu(0, "yes", Some(0.0), Some(0.9)), gpu(1, "yes", Some(0.0), Some(0.1))]);
        assert_eq!(
            verdict.line(),
            "2 GPUs were visible, all 2 were used; uneven: GPU 0 (A100) was busy 90 % and GPU 1 (A100) 10 %"
        );
        assert_eq!(of(vec![gpu(0, "yes", Some(0.0), Some(0.9))]).line(), "1 GPU was visible and used");
    }
}
