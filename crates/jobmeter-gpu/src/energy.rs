//! Energy since the first sample: from the device's own counter, else from power integrated over time.

/// A counter that goes backwards (driver reset) adds nothing for that step; the sum never falls.
#[derive(Debug, Default)]
pub(crate) struct EnergyMeter {
    counter_uj: Option<u64>,
    power: Option<(u64, u64)>,
    total_uj: Option<u64>,
    /// Nanojoules below one microjoule that integration has not yet paid out.
    rest_nj: u64,
    method: Option<&'static str>,
}

pub(crate) const BY_COUNTER: &str = "driver counter";
pub(crate) const BY_POWER: &str = "integrated power";

impl EnergyMeter {
    /// The method is settled by the first sample that has either figure and never changes.
    pub(crate) fn step(&mut self, t_ns: u64, counter_uj: Option<u64>, power_mw: Option<u64>) -> Option<u64> {
        if self.method.is_none() {
            self.method = match (counter_uj, power_mw) {
                (Some(_), _) => Some(BY_COUNTER),
                (None, Some(_)) => Some(BY_POWER),
                (None, None) => None,
            };
        }
        match self.method? {
            BY_COUNTER => {
                let now = counter_uj?;
                let grown = self.counter_uj.map_or(0, |before| now.saturating_sub(before));
                self.counter_uj = Some(now);
                self.total_uj = Some(self.total_uj.unwrap_or(0) + grown);
            }
            _ => {
                let now_mw = power_mw?;
                let grown_nj = self.power.map_or(0, |(before_ns, before_mw)| {
                    // Trapezium: mW × ns is 1e-12 J, so a thousandth of it is nanojoules.
                    let mean_x2 = u128::from(before_mw) + u128::from(now_mw);
                    let area = mean_x2 * u128::from(t_ns.saturating_sub(before_ns)) / 2;
                    u64::try_from(area / 1000).unwrap_or(u64::MAX)
                });
                self.power = Some((t_ns, now_mw));
                let nj = self.rest_nj.saturating_add(grown_nj);
                self.rest_nj = nj % 1000;
                self.total_uj = Some(self.total_uj.unwrap_or(0) + nj / 1000);
            }
        }
        self.total_uj
    }

    pub(crate) fn method(&self) -> Option<&'static str> {
        self.method
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_counts_from_the_first_sample_and_survives_a_reset() {
        let mut meter = EnergyMeter::default();
        assert_eq!(meter.step(0, Some(5_000), Some(9)), Some(0));
        assert_eq!(meter.step(1, Some(7_500), None), Some(2_500));
        assert_eq!(meter.step(2, None, Some(1)), None, "unknown is not the old value");
        assert_eq!(meter.step(3, Some(100), None), Some(2_500));
        assert_eq!(meter.step(4, Some(150), None), Some(2_550));
        assert_eq!(meter.method(), Some(BY_COUNTER));
    }

    #[test]
    fn power_is_integrated_by_trapezia_without_losing_fractions() {
        let mut meter = EnergyMeter::default();
        assert_eq!(meter.step(0, None, Some(100_000)), Some(0));
        // 100 W to 200 W in 1 s: 150 J.
        assert_eq!(meter.step(1_000_000_000, None, Some(200_000)), Some(150_000_000));
        assert_eq!(meter.method(), Some(BY_POWER));
        // 1,000 steps of 1 µs at 200 W are 0.2 J.
        for step in 1..=1000 {
            meter.step(1_000_000_000 + step * 1_000, None, Some(200_000));
        }
        assert_eq!(meter.step(1_001_000_000, None, Some(200_000)), Some(150_200_000));
    }
}
