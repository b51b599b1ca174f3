//! From clients to scopes: a pure function. A client counts once in each scope that has an owner of it, so
//! one shared by fork is in main and in descendants but only once in combined.

use crate::snapshot::{Client, ScopeReading};

/// Which per-process figures a device could tell this time. `false` makes the scopes unknown, not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// The driver reports memory in use by process.
    pub memory: bool,
    /// The driver reports busy time by process.
    pub busy: bool,
    /// The driver reports time of the memory controller by process.
    pub memory_busy: bool,
}

/// A device cannot be busier than all the time, whatever rounding adds up to.
const FULL_PPM: u64 = 1_000_000;

/// Per device: main, descendants, combined.
pub fn attribute(coverage: &[Coverage], clients: &[Client]) -> Vec<[ScopeReading; 3]> {
    let mut scopes: Vec<[ScopeReading; 3]> = coverage
        .iter()
        .map(|cover| {
            let empty = ScopeReading {
                memory_bytes: cover.memory.then_some(0),
                busy_ppm: cover.busy.then_some(0),
                memory_busy_ppm: cover.memory_busy.then_some(0),
            };
            [empty; 3]
        })
        .collect();
    for client in clients {
        let Some(scope) = scopes.get_mut(client.device) else { continue };
        let main = client.owners.iter().any(|owner| owner.main);
        let descendant = client.owners.iter().any(|owner| !owner.main);
        for (reading, counts) in scope.iter_mut().zip([main, descendant, main || descendant]) {
            if counts {
                add(&mut reading.memory_bytes, client.memory_bytes);
                add(&mut reading.busy_ppm, client.busy_ppm);
                add(&mut reading.memory_busy_ppm, client.memory_busy_ppm);
            }
        }
    }
    for reading in scopes.iter_mut().flatten() {
        reading.busy_ppm = reading.busy_ppm.map(|ppm| ppm.min(FULL_PPM));
        reading.memory_busy_ppm = reading.memory_busy_ppm.map(|ppm| ppm.min(FULL_PPM));
    }
    scopes
}

/// A sum with an unknown part is unknown.
fn add(sum: &mut Option<u64>, part: Option<u64>) {
    *sum = match (*sum, part) {
        (Some(sum), Some(part)) => Some(sum.saturating_add(part)),
        _ => None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Owner;
    use jobmeter_model::ProcessId;

    fn owner(pid: i32, main: bool) -> Owner {
        Owner { id: ProcessId { pid, start_ticks: 1 }, main }
    }

    fn client(device: usize, owners: &[Owner], memory: Option<u64>, busy: Option<u64>) -> Client {
        Client {
            device,
            owners: owners.to_vec(),
            memory_bytes: memory,
            busy_ppm: busy,
            memory_busy_ppm: None,
        }
    }

    const ALL: Coverage = Coverage { memory: true, busy: true, memory_busy: false };

    #[test]
    fn a_shared_client_counts_once_in_combined() {
        let shared = client(0, &[owner(1, true), owner(2, false)], Some(100), Some(300_000));
        let own = client(0, &[owner(2, false)], Some(7), Some(50_000));
        let scopes = attribute(&[ALL, ALL], &[shared, own]);
        let memory: Vec<_> = scopes[0].iter().map(|scope| scope.memory_bytes).collect();
        assert_eq!(memory, [Some(100), Some(107), Some(107)]);
        let busy: Vec<_> = scopes[0].iter().map(|scope| scope.busy_ppm).collect();
        assert_eq!(busy, [Some(300_000), Some(350_000), Some(350_000)]);
        assert_eq!(scopes[1][2].memory_bytes, Some(0), "the other device is known to be unused");
        assert_eq!(scopes[0][2].memory_busy_ppm, None, "not covered is unknown");
    }

    #[test]
    fn an_unknown_part_makes_the_scopes_it_is_in_unknown_and_no_others() {
        let clients =
            [client(0, &[owner(1, true)], Some(5), None), client(0, &[owner(2, false)], None, Some(10))];
        let scopes = attribute(&[ALL], &clients);
        assert_eq!(scopes[0][0].memory_bytes, Some(5));
        assert_eq!(scopes[0][1].memory_bytes, None);
        assert_eq!(scopes[0][2].memory_bytes, None);
        assert_eq!(scopes[0][1].busy_ppm, Some(10));
        assert_eq!(scopes[0][0].busy_ppm, None);
    }

    #[test]
    fn busy_never_exceeds_the_device() {
        let clients = [
            client(0, &[owner(1, true)], None, Some(700_000)),
            client(0, &[owner(2, false)], None, Some(700_000)),
        ];
        assert_eq!(attribute(&[ALL], &clients)[0][2].busy_ppm, Some(1_000_000));
    }
}
