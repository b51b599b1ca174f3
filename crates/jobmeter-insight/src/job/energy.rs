//! A node's energy, split over the ranks on it by their use: package and DRAM energy by CPU time in each interval between
//! two readings, a GPU's by how busy each rank kept it. The rest is others' or idle, and nobody's.

use super::joined::{ENERGY, JoinedNode};
use super::{Grid, RankRun};
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::{Metric, Scope, Stat};

/// The job's energy on one node, by member.
#[derive(Debug, Clone, Default)]
pub(super) struct Energy {
    /// In the order of [`ENERGY`]; empty where the machine does not tell.
    pub(super) machine_uj: [Vec<f64>; ENERGY.len()],
    /// Empty where no GPU tells.
    pub(super) gpu_uj: Vec<f64>,
}

impl Energy {
    pub(super) fn split(joined: &JoinedNode, members: &[usize], runs: &[RankRun], grid: &Grid) -> Energy {
        let cpu: Vec<Cumulative> = members
            .iter()
            .map(|index| Cumulative::of(grid.part(&runs[*index]).map(|part| part.cpu.as_slice())))
            .collect();
        let [machine_cpu, energy @ ..] = &joined.kept;
        let machine_uj = energy.each_ref().map(|readings| by_cpu(readings, machine_cpu, &cpu));
        Energy { machine_uj, gpu_uj: by_gpu(&joined.gpus, members, runs) }
    }

    /// Where the machine's own energy is not known.
    pub(super) fn of_gpus(gpus: &[EntityFigures], members: &[usize], runs: &[RankRun]) -> Energy {
        Energy { gpu_uj: by_gpu(gpus, members, runs), ..Energy::default() }
    }

    pub(super) fn is_any(&self) -> bool {
        !self.gpu_uj.is_empty() || self.machine_uj.iter().any(|ranks| !ranks.is_empty())
    }

    fn parts(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.machine_uj.iter().chain([&self.gpu_uj])
    }

    /// Of all its ranks.
    pub(super) fn joules(&self) -> Option<f64> {
        self.is_any().then(|| self.parts().flatten().sum::<f64>() / 1e6)
    }

    /// Of one member.
    pub(super) fn joules_of(&self, member: usize) -> Option<f64> {
        self.is_any().then(|| self.parts().filter_map(|ranks| ranks.get(member)).sum::<f64>() / 1e6)
    }
}

/// A counter on the grid, which stays where it is between two readings.
struct Cumulative(Vec<u64>);

impl Cumulative {
    fn of(readings: Option<&[Option<u64>]>) -> Cumulative {
        let mut last = 0;
        let fill = |reading: &Option<u64>| {
            last = reading.unwrap_or(last);
            last
        };
        Cumulative(readings.unwrap_or_default().iter().map(fill).collect())
    }

    fn grown(&self, from: usize, to: usize) -> u64 {
        let at = |cell: usize| self.0.get(cell).or(self.0.last()).copied().unwrap_or(0);
        at(to).saturating_sub(at(from))
    }
}

/// Energy by member, over the intervals between two readings of the machine's CPU time; energy is read more often. The kernel
/// counts the machine's time in ticks, so that in a short interval the ranks may seem to have used more than there was:
/// then they share all of it.
fn by_cpu(energy: &[(usize, u64)], machine_cpu: &[(usize, u64)], ranks: &[Cumulative]) -> Vec<f64> {
    let (Some((_, whole_uj)), Some(mut begin)) = (energy.last(), machine_cpu.first()) else {
        return Vec::new();
    };
    let energy_at = |cell: usize| {
        let after = energy.partition_point(|(at, _)| *at <= cell);
        after.checked_sub(1).map_or(0, |before| energy[before].1)
    };
    let mut split = vec![0.0; ranks.len()];
    let mut given_uj = 0;
    for (place, end) in machine_cpu.iter().enumerate().skip(1) {
        let used_ns: Vec<u64> = ranks.iter().map(|rank| rank.grown(begin.0, end.0)).collect();
        let of_ns = end.1.saturating_sub(begin.1).max(used_ns.iter().sum());
        let is_last = place + 1 == machine_cpu.len();
        // A time in which nobody was seen to work is judged together with the next.
        if of_ns == 0 && !is_last {
            continue;
        }
        let until_uj = if is_last { *whole_uj } else { energy_at(end.0) };
        let energy_uj = until_uj.saturating_sub(given_uj) as f64;
        for (part, used_ns) in split.iter_mut().zip(&used_ns).filter(|_| of_ns > 0) {
            *part += energy_uj * *used_ns as f64 / of_ns as f64;
        }
        (begin, given_uj) = (end, until_uj);
    }
    split
}

/// The energy of the devices that members used, by how long and how busy each kept them; evenly where that is not known. A
/// device of which no member knows that it used it belongs to those who may have.
fn by_gpu(gpus: &[EntityFigures], members: &[usize], runs: &[RankRun]) -> Vec<f64> {
    let mut split = Vec::new();
    for gpu in gpus {
        let Some(energy_uj) = gpu.figures.value(Metric::GpuEnergyUj, Stat::Total) else { continue };
        split.resize(members.len(), 0.0);
        let own = |index: &usize| runs[*index].summary.gpus.iter().find(|own| own.name == gpu.name);
        let whose_use_is = |word: &str| -> Vec<Option<&EntityFigures>> {
            let is = |own: &&EntityFigures| own.facts.get("used").is_some_and(|used| used == word);
            members.iter().map(|index| own(index).filter(is)).collect()
        };
        let mut users = whose_use_is("yes");
        if users.iter().all(Option::is_none) {
            users = whose_use_is("unknown");
        }
        let busy = |user: &EntityFigures, index: usize| {
            let ppm = user.figures.of(Scope::Combined, Metric::GpuBusyPpm, Stat::Mean)?.as_f64()?;
            Some(ppm * runs[index].summary.run.wall_ns? as f64)
        };
        let known: Option<Vec<f64>> = users
            .iter()
            .zip(members)
            .map(|(user, index)| user.map_or(Some(0.0), |user| busy(user, *index)))
            .collect();
        let evenly = || users.iter().map(|user| f64::from(u8::from(user.is_some()))).collect();
        let weights: Vec<f64> = known.filter(|known| known.iter().sum::<f64>() > 0.0).unwrap_or_else(evenly);
        let all: f64 = weights.iter().sum();
        for (part, weight) in split.iter_mut().zip(&weights).filter(|_| all > 0.0) {
            *part += energy_uj * weight / all;
        }
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_goes_to_who_used_its_cpu_time() {
        // 100 µJ while the first worked alone on half of what the machine did, 100 µJ while both did.
        let energy = [(0, 0), (1, 100), (2, 200)];
        let machine = [(0, 0), (1, 20), (2, 40)];
        let ranks = [
            Cumulative::of(Some(&[Some(0), Some(10), Some(15)])),
            Cumulative::of(Some(&[None, None, Some(15)])),
        ];
        assert_eq!(by_cpu(&energy, &machine, &ranks), [75.0, 75.0]);
        assert_eq!(by_cpu(&[], &machine, &ranks), Vec::<f64>::new());
        // Energy is read more often than the machine's time: what came between is not given away by itself.
        let fine = [(0, 0), (1, 100), (2, 100), (3, 200), (4, 200)];
        let coarse = [(0, 0), (4, 40)];
        let ranks = [Cumulative::of(Some(&[Some(0), Some(5), Some(10), Some(10), Some(10)]))];
        assert_eq!(by_cpu(&fine, &coarse, &ranks), [50.0]);
    }

    #[test]
    fn a_gpu_is_split_by_how_busy_each_kept_it_and_evenly_where_nobody_knows() {
        use crate::job::tests::rank;
        // One card of 900 µJ; who used it, and how busy: two ranks of 2 s and one of 1 s.
        let split = |uses: [(&str, Option<u64>); 3]| {
            let card = |(used, busy_ppm): (&str, Option<u64>)| -> EntityFigures {
                let mut figures = serde_json::json!({"gpu_energy_uj": {"value": 900, "quality": "exact"}});
                if let Some(ppm) = busy_ppm {
                    figures["combined_gpu_busy_ppm_mean"] =
                        serde_json::json!({"value": ppm, "quality": "sampled"});
                }
                let card = serde_json::json!({"name": "0", "facts": {"used": used}, "figures": figures});
                serde_json::from_value(card).expect("a card")
            };
            let runs: Vec<RankRun> = (0..)
                .zip(uses)
                .map(|(number, used)| {
                    let mut run = rank(number, "a", 0, if number == 2 { 1 } else { 2 }, 1, 1);
                    run.summary.gpus = vec![card(used)];
                    run
                })
                .collect();
            by_gpu(&[card(("yes", None))], &[0, 1, 2], &runs)
        };
        let half = Some(500_000);
        assert_eq!(split([("yes", half), ("yes", Some(250_000)), ("no", None)]), [600.0, 300.0, 0.0]);
        assert_eq!(split([("yes", half), ("no", None), ("yes", half)]), [600.0, 0.0, 300.0], "half as long");
        assert_eq!(
            split([("yes", half), ("yes", None), ("no", None)]),
            [450.0, 450.0, 0.0],
            "one is not known"
        );
        assert_eq!(split([("yes", half), ("unknown", None), ("unknown", None)]), [900.0, 0.0, 0.0]);
        assert_eq!(split([("unknown", None), ("no", None), ("unknown", None)]), [450.0, 0.0, 450.0]);
        assert_eq!(split([("no", None); 3]), [0.0; 3], "others used it");
    }

    #[test]
    fn no_more_is_given_away_than_there_was() {
        let ranks = [Cumulative::of(Some(&[Some(0), Some(30)])), Cumulative::of(Some(&[Some(0), Some(10)]))];
        assert_eq!(by_cpu(&[(0, 0), (1, 80)], &[(0, 0), (1, 10)], &ranks), [60.0, 20.0]);
        // Nobody worked: it is nobody's.
        let idle = [Cumulative::of(Some(&[Some(5), Some(5)]))];
        assert_eq!(by_cpu(&[(0, 0), (1, 80)], &[(0, 0), (1, 10)], &idle), [0.0]);
        // The machine's time moves in ticks: an interval without any belongs to the next.
        let late = [Cumulative::of(Some(&[Some(0), Some(0), Some(10)]))];
        assert_eq!(by_cpu(&[(0, 0), (1, 50), (2, 100)], &[(0, 0), (1, 0), (2, 10)], &late), [100.0]);
    }
}
