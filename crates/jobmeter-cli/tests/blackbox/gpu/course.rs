//! The ticks of a run as its record has them, to hold the summary to.

use super::rig::Rig;
use crate::help::value;
use jobmeter_model::Summary;
use serde_json::Value;
use std::ops::Range;

/// A figure over time: one entry per tick, unknown ones left out.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) ticks: Vec<(u64, u64)>,
    /// Time since the tick before, which weighs a level in the mean.
    steps_ns: Vec<u64>,
}

/// The tables of samples and of GPUs.
pub(crate) struct Course {
    samples: Vec<Value>,
    gpus: Vec<Value>,
}

impl Course {
    pub(crate) fn of(rig: &Rig) -> Course {
        let table = |name: &str| {
            let record = rig.room.file("run.jobmeter");
            let shown = rig
                .room
                .finish(rig.room.jobmeter(&["export", &record, "-f", "jsonl", "-t", name, "-o", "-"]));
            assert_eq!(shown.code, 0, "{}", shown.stderr);
            let text = String::from_utf8(shown.stdout).expect("UTF-8");
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        Course { samples: table("samples"), gpus: table("gpus") }
    }

    /// `main_gpu_memory_bytes` over all devices, or of one by its name.
    pub(crate) fn column(&self, key: &str, device: Option<&str>) -> Column {
        let all: Vec<u64> = self.samples.iter().filter_map(|row| row["t_ns"].as_u64()).collect();
        let rows = match device {
            None => &self.samples,
            Some(_) => &self.gpus,
        };
        let own = rows.iter().filter(|row| device.is_none_or(|name| row["name"] == name));
        let ticks: Vec<(u64, u64)> =
            own.filter_map(|row| Some((row["t_ns"].as_u64()?, row[key].as_u64()?))).collect();
        let name = device.map_or(key.to_owned(), |device| format!("{key} of {device}"));
        assert!(!ticks.is_empty(), "no tick has {name}");
        let steps_ns = ticks
            .iter()
            .map(|(t_ns, _)| t_ns - all.iter().copied().filter(|before| before < t_ns).max().unwrap_or(0))
            .collect();
        Column { name, ticks, steps_ns }
    }
}

impl Column {
    pub(crate) fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.ticks.iter().map(|(_, value)| *value)
    }

    pub(crate) fn max(&self) -> f64 {
        self.values().max().unwrap_or(0) as f64
    }

    /// Each tick's level for the time since the tick before it; the first has nothing before it.
    pub(crate) fn mean(&self) -> f64 {
        self.mean_between(0..u64::MAX)
    }

    /// The same of the ticks at these times.
    pub(crate) fn mean_between(&self, times_ns: Range<u64>) -> f64 {
        let weighted = self.ticks.iter().zip(&self.steps_ns).skip(1);
        let weighted = weighted.filter(|((t_ns, _), _)| times_ns.contains(t_ns));
        let (sum, time) = weighted.fold((0.0, 0.0), |(sum, time), ((_, value), step)| {
            (sum + *value as f64 * *step as f64, time + *step as f64)
        });
        if time > 0.0 { sum / time } else { self.max() }
    }

    /// The summary's maximum and mean are those of this series.
    pub(crate) fn is_summed_up_in(&self, figures: &jobmeter_model::summary::Figures, key: &str) {
        assert_eq!(value(figures, &format!("{key}_max")), self.max(), "{}", self.name);
        let (said, mean) = (value(figures, &format!("{key}_mean")), self.mean());
        assert!((said - mean).abs() <= mean * 1e-9, "{}: mean {said}, of the ticks {mean}", self.name);
    }

    /// The series goes through the scripted levels in their order and leaves none out. A reading that was under way
    /// while the script went on may lie between two of them: that many ticks at most.
    pub(crate) fn walks_through(&self, script: &[u64], between: usize) {
        let mut levels = script.to_vec();
        levels.dedup();
        let (mut place, mut torn) = (0, 0);
        for value in self.values() {
            if value == levels[place] {
                continue;
            }
            let Some(&next) = levels.get(place + 1) else {
                panic!("{}: {value} behind the end of {levels:?}", self.name)
            };
            if value == next {
                place += 1;
            } else {
                let (low, high) = (levels[place].min(next), levels[place].max(next));
                assert!((low..=high).contains(&value), "{}: {value} is not in {levels:?}", self.name);
                torn += 1;
            }
        }
        assert_eq!(place + 1, levels.len(), "{}: not all of {levels:?} were seen", self.name);
        assert!(torn <= between, "{}: {torn} ticks lie between the levels", self.name);
    }
}

/// The figures of a device in the summary.
pub(crate) fn of_device<'a>(summary: &'a Summary, uuid: &str) -> &'a jobmeter_model::summary::Figures {
    let found = summary.gpus.iter().find(|gpu| gpu.name == uuid);
    &found.unwrap_or_else(|| panic!("no GPU {uuid}")).figures
}
