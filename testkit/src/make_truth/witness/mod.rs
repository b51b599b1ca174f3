//! The witnesses of one run. None of them shares code with jobmeter or asks it anything: events and exit records
//! from the kernel, a control group around the job, and an oracle that unites the page maps of its processes.

mod group;
mod living;
mod netlink;
mod pages;
mod proc_events;
mod taskstats;
mod timeline;
mod tree;
mod watch;

pub(crate) use group::Group;
use pages::{Mapper, Oracle};
use proc_events::ProcEvents;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub(crate) use taskstats::Counters;
use taskstats::Taskstats;
use timeline::MainClock;
pub(crate) use timeline::{Moment, Timeline};
pub(crate) use tree::End;
use tree::Tree;
use watch::{OracleFound, watch_memory};

/// One line for each witness that cannot be had here: what it would have told.
pub(crate) fn missing() -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |what: &str, loses: &str, error: std::io::Error| {
        lines.push(format!("no {what} ({error}): {loses} not witnessed"));
    };
    if let Err(error) = ProcEvents::open() {
        say("proc connector", "processes and exit codes are", error);
    }
    if let Err(error) = Taskstats::open() {
        say("taskstats", "bytes, faults and switches are", error);
    }
    for (controller, loses) in
        [("cpuacct", "CPU time is"), ("memory", "the most memory that can have been is")]
    {
        match Group::below("self", controller, &format!("truth-try-{}", std::process::id())) {
            Err(error) => say(&format!("control group for {controller}"), loses, error),
            Ok(group) if group.unified && controller == "memory" && group.memory_peak_bytes().is_none() => {
                say("memory.peak", loses, std::io::Error::other("the controller is off here"));
            }
            Ok(_) => {}
        }
    }
    if !Oracle::new().sees_frames {
        lines.push("no page frames (not root): memory is the sum of Pss, which leaves out a part".to_owned());
    }
    lines
}

/// What was found out about one run.
pub(crate) struct Evidence {
    pub tree: Option<TreeEvidence>,
    /// Of all tasks of the job, and of the first process alone; absent without taskstats.
    pub counters: Option<(Counters, Counters)>,
    pub cpu_ns: Option<u64>,
    /// User time as the group tells it, one or two ways.
    pub user_ns: Vec<u64>,
    pub memory_peak_bytes: Option<u64>,
    /// The highest sample of the oracle and the most file pages in any.
    pub oracle_bytes: u64,
    pub oracle_file_bytes: u64,
    pub oracle_descendants_bytes: u64,
    pub oracle_samples: u64,
    /// Whether page frames were compared, or only the proportional sizes of the processes.
    pub sees_frames: bool,
    /// Mark of the process before it became the job's program.
    pub shim_rss_bytes: u64,
    pub timeline: Timeline,
    /// What each process of the job had used at its end, by pid.
    pub by_process: HashMap<i32, Vec<Counters>>,
    /// Witnesses whose events did not all arrive.
    pub lost: Vec<&'static str>,
}

pub(crate) struct TreeEvidence {
    pub processes: u64,
    pub tasks: u64,
    /// Programs that the first process became.
    pub first_execs: u64,
    pub ends: Vec<End>,
    /// Whether others were still there when the first process ended.
    pub outlived: bool,
}

/// Which moments the page maps are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageMaps {
    /// Those above what was seen before.
    Peaks,
    Every,
    /// None: whoever reads the map of a process holds its memory, and one that is killed for its memory could not give it back. The
    /// kernel would look for the next to kill.
    Never,
}

pub(crate) struct Witnesses {
    tree: Arc<Mutex<Tree>>,
    stop: Arc<AtomicBool>,
    listeners: Vec<JoinHandle<()>>,
    has_events: bool,
    has_records: bool,
    oracle: Option<JoinHandle<OracleFound>>,
    timeline: Option<JoinHandle<Timeline>>,
    cpu: Option<Arc<Group>>,
    memory: Option<Arc<Group>>,
    /// CPU time of the first process before it joined the group.
    before_ns: u64,
    shim_rss_bytes: u64,
}

fn lock(tree: &Mutex<Tree>) -> MutexGuard<'_, Tree> {
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Witnesses {
    pub(crate) fn start() -> Witnesses {
        let tree = Arc::new(Mutex::new(Tree::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let mut listeners = Vec::new();
        let records = Taskstats::open().ok();
        let events = ProcEvents::open().ok();
        let (has_events, has_records) = (events.is_some(), records.is_some());
        if let Some(mut events) = events {
            let (tree, stop) = (tree.clone(), stop.clone());
            listeners.push(std::thread::spawn(move || {
                while events.drain(20, |event| lock(&tree).event(event)) || !stop.load(Ordering::Relaxed) {}
            }));
        }
        if let Some(mut records) = records {
            let (tree, stop) = (tree.clone(), stop.clone());
            listeners.push(std::thread::spawn(move || {
                while records.drain(20, |end| lock(&tree).record(end)) || !stop.load(Ordering::Relaxed) {}
            }));
        }
        Witnesses {
            tree,
            stop,
            listeners,
            has_events,
            has_records,
            oracle: None,
            timeline: None,
            cpu: None,
            memory: None,
            before_ns: 0,
            shim_rss_bytes: 0,
        }
    }

    /// Takes the first process of the job, which waits and has not forked, under observation. Returns the file
    /// from which the job can read its CPU time.
    pub(crate) fn adopt(&mut self, pid: i32, name: &str, page_maps: PageMaps) -> Option<std::path::PathBuf> {
        lock(&self.tree).adopt(pid);
        let clock = jobmeter_testkit::sys::cpu_clock_of(pid);
        self.before_ns = jobmeter_testkit::sys::try_clock_ns(clock).unwrap_or_default();
        self.shim_rss_bytes = pages::resident_sum_bytes(&[Mapper { process: pid, task: pid }]);
        self.cpu = Group::adopt(pid, "cpuacct", name).ok().map(Arc::new);
        self.memory = match &self.cpu {
            // One hierarchy holds both.
            Some(group) if group.unified => Some(group.clone()),
            _ => Group::adopt(pid, "memory", name).ok().map(Arc::new),
        };
        let (tree, stop) = (self.tree.clone(), self.stop.clone());
        let members = self.cpu.clone().or_else(|| self.memory.clone()).filter(|_| !self.has_events);
        let every_moment = page_maps == PageMaps::Every;
        self.oracle = (page_maps != PageMaps::Never).then(|| {
            std::thread::spawn(move || watch_memory(&tree, members.as_deref(), &stop, every_moment))
        });
        let (tree, stop, group) = (self.tree.clone(), self.stop.clone(), self.cpu.clone());
        let before_ns = self.before_ns;
        self.timeline = Some(std::thread::spawn(move || {
            let mut timeline = Timeline::default();
            while !stop.load(Ordering::Relaxed) {
                timeline.push(Moment::read(|| {
                    let cpu_ns = group.as_ref().and_then(|group| group.cpu_ns()).map(|ns| ns + before_ns);
                    (cpu_ns, main_clock(pid, clock), counters_now(&tree))
                }));
                std::thread::sleep(Duration::from_millis(4));
            }
            timeline
        }));
        self.cpu.as_ref().map(|group| group.cpu_file())
    }

    /// Waits until every process of the job has ended, or a while. Returns whether they have.
    pub(crate) fn wait_for_the_end(&self, most: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < most {
            let empty = match &self.cpu {
                Some(group) => group.processes().is_empty(),
                // Without events nobody can tell.
                None => !self.has_events || lock(&self.tree).is_empty(),
            };
            if empty {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Ends what is left of a job that does not end by itself.
    pub(crate) fn end_the_job(&self) {
        for pid in self.cpu.iter().flat_map(|group| group.processes()) {
            // SAFETY: a process of the job that the harness started, in a group that holds nobody else.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    pub(crate) fn finish(mut self) -> Evidence {
        // The last events are on their way.
        std::thread::sleep(Duration::from_millis(30));
        self.stop.store(true, Ordering::Relaxed);
        for listener in self.listeners.drain(..) {
            let _ = listener.join();
        }
        let oracle = self.oracle.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let mut timeline = self.timeline.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        timeline.memory = oracle.samples_at;
        // Nobody is left and every record has come: what the counters say now they said at the end.
        timeline.push(Moment::read(|| {
            let cpu_ns = self.cpu.as_ref().and_then(|group| group.cpu_ns()).map(|ns| ns + self.before_ns);
            (cpu_ns, None, counters_now(&self.tree))
        }));
        let tree = lock(&self.tree);
        let has_events = self.has_events && !tree.events_lost;
        Evidence {
            tree: has_events.then(|| TreeEvidence {
                processes: tree.processes,
                tasks: tree.tasks,
                first_execs: tree.first_execs,
                ends: tree.ends.clone(),
                outlived: tree.outlived,
            }),
            counters: (has_events && self.has_records && !tree.records_lost)
                .then_some((tree.all, tree.first)),
            cpu_ns: self.cpu.as_ref().and_then(|group| group.cpu_ns()).map(|ns| ns + self.before_ns),
            user_ns: self.cpu.as_ref().map(|group| group.user_ns()).unwrap_or_default(),
            memory_peak_bytes: self.memory.as_ref().and_then(|group| group.memory_peak_bytes()),
            oracle_bytes: oracle.peak_bytes,
            oracle_file_bytes: oracle.file_bytes,
            oracle_descendants_bytes: oracle.descendants_bytes,
            oracle_samples: oracle.samples,
            sees_frames: oracle.sees_frames,
            shim_rss_bytes: self.shim_rss_bytes,
            timeline,
            by_process: tree.by_process.clone(),
            lost: [(tree.events_lost, "proc connector"), (tree.records_lost, "taskstats")]
                .into_iter()
                .filter_map(|(is_lost, name)| is_lost.then_some(name))
                .collect(),
        }
    }
}

/// The clock of the first process, as long as it is there.
fn main_clock(pid: i32, clock: libc::clockid_t) -> Option<MainClock> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may have some of its own.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let (state, threads) = (fields.next()?, fields.nth(16)?);
    // The state is that of the first thread.
    let is_running = state == "R" || threads != "1";
    Some(MainClock { is_running, cpu_ns: jobmeter_testkit::sys::try_clock_ns(clock)? })
}

/// Ended and living tasks together. A task that ends meanwhile may be missing for a moment, never counted twice.
fn counters_now(tree: &Mutex<Tree>) -> Counters {
    let (mut sum, living) = {
        let tree = lock(tree);
        (tree.all, tree.living())
    };
    for (process, task) in living {
        if let Some(counters) = living::counters(process, task) {
            sum += counters;
        }
    }
    sum
}
