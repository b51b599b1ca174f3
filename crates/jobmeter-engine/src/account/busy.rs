//! How many cores the job used while it was busy: the mean number of cores in use, weighted by the CPU time that was used.
//! A pool that fills two cores half of the time uses one on average, and two when it is busy.

/// CPU time in shorter windows jumps by the kernel's ticks.
const WINDOW_NS: u64 = 100_000_000;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct BusyCores {
    /// Time and CPU time at which the present window began.
    window: Option<(u64, u64)>,
    /// Sums over windows of CPU time, and of CPU time by cores in use.
    cpu_ns: f64,
    weighted_ns: f64,
}

impl BusyCores {
    /// The CPU time of the whole job up to `t_ns`.
    pub(crate) fn take(&mut self, t_ns: u64, cpu_ns: u64) {
        let (began_ns, began_cpu_ns) = *self.window.get_or_insert((t_ns, cpu_ns));
        let span_ns = t_ns.saturating_sub(began_ns);
        if span_ns < WINDOW_NS {
            return;
        }
        self.window = Some((t_ns, cpu_ns));
        let used_ns = cpu_ns.saturating_sub(began_cpu_ns) as f64;
        self.cpu_ns += used_ns;
        self.weighted_ns += used_ns * used_ns / span_ns as f64;
    }

    /// `None` where no window was whole, or nothing was used.
    pub(crate) fn cores(&self) -> Option<f64> {
        (self.cpu_ns > 0.0).then(|| self.weighted_ns / self.cpu_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// CPU milliseconds used in each tenth of a second.
    fn cores(used_ms: &[u64]) -> Option<f64> {
        let mut busy = BusyCores::default();
        let mut cpu_ns = 0;
        busy.take(0, 0);
        for (at, used_ms) in used_ms.iter().enumerate() {
            cpu_ns += used_ms * MS;
            busy.take((at as u64 + 1) * 100 * MS, cpu_ns);
        }
        busy.cores()
    }

    #[test]
    fn a_pool_that_works_half_of_the_time() {
        assert_eq!(cores(&[200, 0, 200, 0]), Some(2.0));
        assert_eq!(cores(&[100, 100, 100]), Some(1.0));
    }

    #[test]
    fn a_short_burst_hardly_counts() {
        let mut used_ms = vec![100; 99];
        used_ms.push(200);
        assert!(cores(&used_ms).is_some_and(|cores| (1.0..1.03).contains(&cores)));
    }

    #[test]
    fn without_a_whole_window_nothing_is_known() {
        let mut busy = BusyCores::default();
        busy.take(0, 0);
        busy.take(60 * MS, 120 * MS);
        assert_eq!(busy.cores(), None);
        busy.take(100 * MS, 150 * MS);
        assert_eq!(busy.cores(), Some(1.5), "the window goes on until it is whole");
        assert_eq!(cores(&[0, 0]), None, "nothing was used");
    }
}
