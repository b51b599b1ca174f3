//! The job's DRM clients, found through the descriptors of its processes. The kernel numbers the clients of
//! a card; descriptors and forks that share one show the same number, and it is counted once.

use super::card::Card;
use super::compute::Compute;
use super::fdinfo::{self, Busy, ClientId, ClientInfo};
use crate::asleep;
use crate::gather::Gather;
use crate::identity::{alive, open_folder, start_ticks};
use crate::snapshot::{Client, Owner};
use crate::textfile;
use jobmeter_model::ProcessId;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process is searched for new descriptors when their number changes, and at the latest after this.
const SEARCH_AGAIN: Duration = Duration::from_secs(1);

const NO_ENGINES: &str = "the driver tells no time of engines for a client of the job";
const NO_NUMBER: &str = "the driver does not say which client a descriptor of the job belongs to";

pub(super) struct Clients {
    proc_root: PathBuf,
    processes: HashMap<ProcessId, Process>,
    ledger: HashMap<Key, Entry>,
    compute: Compute,
    last_ns: Option<u64>,
}

/// Which descriptors of a process are of DRM.
struct Process {
    folder: File,
    /// Each with the name of the node that it was opened by.
    descriptors: Vec<(String, String)>,
    /// It drives an AMD GPU through queues that the kernel does not time.
    compute_queues: bool,
    searched: Instant,
    /// Size of the `fd` folder: the number of descriptors on current kernels.
    size: u64,
}

/// Place of the card, and the client on it.
type Key = (usize, ClientId);

/// What is remembered of a client between samples.
#[derive(Default)]
struct Entry {
    /// The highest so far: a counter that steps back has lost nothing.
    engines: HashMap<String, Busy>,
}

struct Seen {
    info: ClientInfo,
    owners: Vec<Owner>,
}

impl Clients {
    pub(super) fn new(root: &Path, cards: &[Card]) -> Clients {
        Clients {
            proc_root: root.join("proc"),
            processes: HashMap::new(),
            ledger: HashMap::new(),
            compute: Compute::new(root, cards),
            last_ns: None,
        }
    }

    pub(super) fn sample(&mut self, cards: &[Card], gather: &mut Gather<'_>) {
        let members: Vec<Owner> = gather.members.current().collect();
        self.compute.look(&members);
        let mut known = std::mem::take(&mut self.processes);
        let mut seen: BTreeMap<Key, Seen> = BTreeMap::new();
        let (mut unread, mut unnumbered) = (Vec::new(), Vec::new());
        for owner in members {
            let before = known.remove(&owner.id);
            match self.visit(before, owner, cards, &mut seen, &mut unread, &mut unnumbered) {
                Ok(Some(process)) => {
                    if process.compute_queues && !self.compute.tells(owner) {
                        hide_busy(cards, gather);
                    }
                    self.processes.insert(owner.id, process);
                }
                Ok(None) => {}
                Err(error) => hide_all(cards, gather, owner, &error),
            }
        }
        for place in unnumbered {
            let slot = cards[place].slot;
            gather.coverage[slot] = Default::default();
            for figure in ["process_memory", "process_busy"] {
                gather.fail(slot, figure, || NO_NUMBER.to_owned());
            }
        }
        for place in unread {
            let slot = cards[place].slot;
            gather.coverage[slot].memory = false;
            gather.fail(slot, "process_memory", || asleep::NOT_READ.to_owned());
        }
        let span_ns = self.last_ns.map(|last| gather.t_ns.saturating_sub(last));
        let first = gather.clients.len();
        for (key, seen) in seen {
            let client = self.account(cards[key.0].slot, key, seen, span_ns);
            let is_compute = client.owners.iter().any(|owner| self.compute.tells(*owner));
            if client.busy_ppm.is_none() && span_ns.is_some() && !is_compute {
                gather.fail(client.device, "process_busy", || NO_ENGINES.to_owned());
            }
            gather.clients.push(client);
        }
        self.compute.sample(first, span_ns, gather);
        self.last_ns = Some(gather.t_ns);
    }

    /// Reads the clients of one process. `None`: it is gone.
    fn visit(
        &self,
        before: Option<Process>,
        owner: Owner,
        cards: &[Card],
        seen: &mut BTreeMap<Key, Seen>,
        unread: &mut Vec<usize>,
        unnumbered: &mut Vec<usize>,
    ) -> io::Result<Option<Process>> {
        let path = self.proc_root.join(owner.id.pid.to_string());
        let mut process = match before {
            Some(process) => process,
            None => {
                let Some(folder) = open_folder(&path) else { return Ok(None) };
                if start_ticks(&path) != Some(owner.id.start_ticks) {
                    return Ok(None);
                }
                let mut process = Process {
                    folder,
                    descriptors: Vec::new(),
                    compute_queues: false,
                    searched: Instant::now(),
                    size: 0,
                };
                search(&mut process, &path)?;
                process
            }
        };
        let size = std::fs::metadata(path.join("fd")).map_or(0, |data| data.len());
        if size != process.size || process.searched.elapsed() > SEARCH_AGAIN {
            search(&mut process, &path)?;
        }
        let mut found = Vec::new();
        for (descriptor, node) in &process.descriptors {
            // For xe, the kernel wakes the card to answer.
            let sleeper =
                cards.iter().position(|card| card.is_woken_by_fdinfo() && card.nodes.contains(node));
            if let Some(place) = sleeper {
                unread.push(place);
                continue;
            }
            let text = textfile::read(&path.join("fdinfo").join(descriptor));
            let Some(info) = text.ok().as_deref().and_then(fdinfo::parse) else { continue };
            let place = cards.iter().position(|card| !card.lost && card.pci_id == info.pdev);
            if let Some(place) = place {
                found.push((place, info));
            }
        }
        // Still the same process after reading: the texts were its own.
        if !alive(&process.folder) {
            return Ok(None);
        }
        for (place, mut info) in found {
            let Some(client) = info.client else {
                unnumbered.push(place);
                continue;
            };
            if cards[place].is_apu {
                info.memory_bytes = info.memory_bytes.map(|vram| vram + info.gtt_bytes.unwrap_or(0));
            }
            let entry = seen
                .entry((place, client))
                .or_insert_with(|| Seen { info: info.clone(), owners: Vec::new() });
            if !entry.owners.contains(&owner) {
                entry.owners.push(owner);
            }
        }
        Ok(Some(process))
    }

    /// What the client did since it was last seen: the time of its busiest engine class.
    fn account(&mut self, slot: usize, key: Key, seen: Seen, span_ns: Option<u64>) -> Client {
        let fresh = !self.ledger.contains_key(&key);
        let entry = self.ledger.entry(key).or_default();
        let mut busiest_ns = None;
        for engine in &seen.info.engines {
            let zero = if let Busy::Cycles(..) = engine.busy { Busy::Cycles(0, 0) } else { Busy::Nanos(0) };
            let before = entry.engines.entry(engine.class.clone()).or_insert(zero);
            let grown_ns = match (*before, engine.busy) {
                (Busy::Nanos(before), Busy::Nanos(now)) => now.saturating_sub(before),
                // Cycles are of an unknown clock, so a share of the time between two samples.
                (Busy::Cycles(busy, total), Busy::Cycles(now, now_total)) if !fresh => {
                    let passed = u128::from(now_total.saturating_sub(total)).max(1);
                    let share = u128::from(now.saturating_sub(busy)) * u128::from(span_ns.unwrap_or(0));
                    u64::try_from(share / passed).unwrap_or(u64::MAX)
                }
                _ => 0,
            };
            *before = higher(*before, engine.busy);
            busiest_ns = busiest_ns.max(Some(grown_ns / engine.capacity));
        }
        let busy_ppm = span_ns.filter(|&span| span > 0).zip(busiest_ns).map(|(span, busiest_ns)| {
            let ppm = u128::from(busiest_ns) * 1_000_000 / u128::from(span);
            ppm.min(1_000_000) as u64
        });
        Client {
            device: slot,
            owners: seen.owners,
            memory_bytes: seen.info.memory_bytes,
            busy_ppm,
            memory_busy_ppm: None,
        }
    }
}

fn higher(before: Busy, now: Busy) -> Busy {
    match (before, now) {
        (Busy::Nanos(before), Busy::Nanos(now)) => Busy::Nanos(before.max(now)),
        (Busy::Cycles(busy, total), Busy::Cycles(now, now_total)) => {
            Busy::Cycles(busy.max(now), total.max(now_total))
        }
        (_, now) => now,
    }
}

/// Looks which descriptors are of DRM.
fn search(process: &mut Process, path: &Path) -> io::Result<()> {
    process.descriptors.clear();
    process.compute_queues = false;
    process.searched = Instant::now();
    let folder = path.join("fd");
    process.size = std::fs::metadata(&folder).map_or(0, |data| data.len());
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        // It ended meanwhile.
        Err(_) => return Ok(()),
    };
    for entry in entries.flatten() {
        let Ok(target) = std::fs::read_link(entry.path()) else { continue };
        if target.starts_with("/dev/dri") {
            let node = target.file_name().map(|name| name.to_string_lossy().into_owned());
            let descriptor = entry.file_name().to_string_lossy().into_owned();
            process.descriptors.push((descriptor, node.unwrap_or_default()));
        } else if target == Path::new("/dev/kfd") {
            process.compute_queues = true;
        }
    }
    Ok(())
}

fn hide_busy(cards: &[Card], gather: &mut Gather<'_>) {
    for card in cards.iter().filter(|card| card.driver == "amdgpu") {
        gather.coverage[card.slot].busy = false;
        gather.fail(card.slot, "process_busy", || {
            "ROCm queues bypass the kernel's engine counters (see the use of the device)".to_owned()
        });
    }
}

fn hide_all(cards: &[Card], gather: &mut Gather<'_>, owner: Owner, error: &io::Error) {
    for card in cards {
        gather.coverage[card.slot] = Default::default();
        for figure in ["process_memory", "process_busy"] {
            gather.fail(card.slot, figure, || {
                format!("the descriptors of process {} may not be read: {error}", owner.id.pid)
            });
        }
    }
}
