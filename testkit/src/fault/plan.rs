//! Which faults to try, from the list of calls of a run without any.

use super::{Fault, Who, errors};
use std::collections::BTreeMap;

/// How thoroughly to sweep.
#[derive(Clone, Copy)]
pub struct Depth {
    /// Calls made at most this often fail in every place with every error.
    pub whole_up_to: u64,
    /// The others fail with this many errors, others in each place …
    pub errors_each: usize,
    /// … in every place, in every second one, and so on.
    pub stride: u64,
    /// From how many places on a call fails for good.
    pub lasting_places: u64,
}

/// The faults for a report of `testkit fault … list`.
pub fn faults(report: &str, depth: Depth) -> Vec<Fault> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for line in report.lines() {
        let mut words = line.split(' ');
        let (Some(who), Some(call)) = (words.next(), words.next()) else { continue };
        *counts.entry((who, call)).or_default() += 1;
    }
    let mut found = Vec::new();
    for ((who, call), count) in counts {
        let who = if who == "child" { Who::Child } else { Who::Meter };
        let mut add = |errno, occurrence, lasting| {
            // The first mapping is the dynamic loader's own heap: it crashes without, before any code of ours.
            if who == Who::Meter && call == "mmap" && occurrence == 1 {
                return;
            }
            found.push(Fault { who, call: call.to_owned(), errno, occurrence, lasting });
        };
        let errors = errors::of(call);
        let stride = if count <= depth.whole_up_to { 1 } else { depth.stride.max(1) };
        for occurrence in (1..=count).step_by(stride as usize) {
            let each =
                if count <= depth.whole_up_to { errors.len() } else { depth.errors_each.min(errors.len()) };
            for index in 0..each {
                // Neighbours get different errors.
                add(
                    errors[(occurrence as usize * depth.errors_each + index) % errors.len()],
                    occurrence,
                    false,
                );
            }
        }
        let places = depth.lasting_places.min(count);
        for errno in errors::lasting_of(call) {
            (0..places).for_each(|place| add(*errno, 1 + place * count / places, true));
        }
    }
    found
}
