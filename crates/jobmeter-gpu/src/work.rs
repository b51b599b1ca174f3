//! The work with the drivers: opens them, then takes a sample for each order. It runs wherever a driver may hang: on a
//! thread or in a process of its own. Its [`Desk`] is how it hears from the rest and answers.

use crate::attribute;
use crate::config::GpuConfig;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::gather::Gather;
use crate::identity::{Member, Members};
use crate::notes::Notes;
use crate::nvml::Progress;
use crate::snapshot::GpuSnapshot;
use crate::source::{Begin, GpuSource, Opened, Way};
use crate::{kfd, select, visible};
use jobmeter_engine::linux::sys::monotonic_ns;
use std::sync::Arc;

/// What the drivers have told so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// The devices are known; samples can be asked for.
    pub(crate) ready: bool,
    /// The request itself was wrong.
    pub(crate) failed: Option<GpuError>,
    /// Why nothing can be measured.
    pub(crate) reason: Option<String>,
    /// Why a driver is not asked: all its cards sleep.
    pub(crate) asleep: Option<String>,
    pub(crate) devices: Option<Arc<Vec<GpuDevice>>>,
    pub(crate) latest: Option<Arc<GpuSnapshot>>,
}

/// Where orders come from and answers go to.
pub(crate) trait Desk {
    /// Which call the work is in, for whoever wonders from outside.
    fn progress(&self) -> Arc<Progress>;

    /// Waits for the next order: the living processes of the job. `None` ends the work.
    fn next(&mut self) -> Option<Arc<Vec<Member>>>;

    /// Hands over what is known now: once after opening, then once per order.
    fn tell(&mut self, told: Told);
}

/// A way that could be opened, or will be once a card is awake.
struct Post {
    way: &'static dyn Way,
    source: Option<Box<dyn GpuSource>>,
    asleep: Option<String>,
}

struct Work<'a> {
    config: &'a GpuConfig,
    progress: Arc<Progress>,
    posts: Vec<Post>,
    devices: Arc<Vec<GpuDevice>>,
    notes: Notes,
    rocm_order: Vec<String>,
}

pub(crate) fn work(config: &GpuConfig, ways: &[&'static dyn Way], desk: &mut dyn Desk) {
    let mut work = Work {
        config,
        progress: desk.progress(),
        posts: ways.iter().map(|way| Post { way: *way, source: None, asleep: None }).collect(),
        devices: Arc::default(),
        notes: Notes::default(),
        rocm_order: Vec::new(),
    };
    let told = work.begin();
    let is_ready = told.ready;
    desk.tell(told);
    if !is_ready {
        return;
    }
    let mut members = Members::new(&config.root, config.pid_view);
    let mut sequence = 0;
    while let Some(list) = desk.next() {
        sequence += 1;
        members.update(&list);
        work.wake();
        let snapshot = work.sample(sequence, &mut members);
        desk.tell(Told {
            ready: true,
            asleep: work.asleep(),
            devices: Some(Arc::clone(&work.devices)),
            latest: Some(Arc::new(snapshot)),
            ..Told::default()
        });
    }
    work.posts.iter().filter_map(|post| post.source.as_ref()).for_each(|source| source.shutdown());
}

impl Work<'_> {
    /// Opens all drivers and chooses among their devices.
    fn begin(&mut self) -> Told {
        (0..self.posts.len()).for_each(|index| self.open(index));
        let gpus = kfd::gpus(&self.config.root);
        self.rocm_order = gpus.into_iter().map(|gpu| gpu.pci_id).collect();
        let devices = Arc::make_mut(&mut self.devices);
        visible::mark(devices, &self.config.job_env, &self.rocm_order);
        let failed = select::select(devices, self.config).err();
        let asleep = self.asleep();
        let reason = match &failed {
            Some(error) => Some(error.to_string()),
            None if self.devices.is_empty() && asleep.is_none() => Some(self.why_none()),
            None => None,
        };
        let devices = Some(Arc::clone(&self.devices));
        Told { ready: reason.is_none(), failed, reason, asleep, devices, latest: None }
    }

    fn why_none(&self) -> String {
        let why: Vec<String> = self.notes.failures().iter().map(|failure| failure.reason.clone()).collect();
        let why = if why.is_empty() { self.config.looked_for() } else { why.join("; ") };
        format!("no GPU found ({why})")
    }

    fn open(&mut self, index: usize) {
        let post = &mut self.posts[index];
        let opened = post.way.open(Begin {
            config: self.config,
            progress: &self.progress,
            devices: Arc::make_mut(&mut self.devices),
            notes: &mut self.notes,
        });
        post.asleep = None;
        match opened {
            Opened::Source(source) => post.source = Some(source),
            Opened::Asleep(names) => post.asleep = Some(names),
            Opened::Nothing => {}
        }
    }

    /// Where somebody has woken a card its devices come behind those that are known.
    fn wake(&mut self) {
        for index in 0..self.posts.len() {
            if self.posts[index].asleep.is_some() {
                self.open(index);
                let devices: &mut Vec<GpuDevice> = Arc::make_mut(&mut self.devices);
                visible::mark(devices, &self.config.job_env, &self.rocm_order);
            }
        }
    }

    fn asleep(&self) -> Option<String> {
        self.posts.iter().find_map(|post| post.asleep.clone())
    }

    fn sample(&mut self, sequence: u64, members: &mut Members) -> GpuSnapshot {
        let monotonic_ns = monotonic_ns();
        let mut gather = Gather::new(monotonic_ns, &self.devices, members, &mut self.notes);
        for source in self.posts.iter_mut().filter_map(|post| post.source.as_mut()) {
            source.sample(&mut gather);
        }
        let Gather { readings, coverage, energy_methods, guessed, clients, .. } = gather;
        let scopes = attribute::attribute(&coverage, &clients);
        self.learn(&energy_methods, &guessed);
        GpuSnapshot {
            sequence,
            monotonic_ns,
            devices: Arc::clone(&self.devices),
            readings,
            clients,
            scopes,
            failures: self.notes.failures(),
            warnings: self.notes.warnings(),
        }
    }

    /// What only a sample tells of a device. The list is copied when there is news, not with each sample.
    fn learn(&mut self, energy_methods: &[Option<&'static str>], guessed: &[bool]) {
        let news = || energy_methods.iter().zip(guessed);
        let is_news = |(device, (method, guessed)): (&GpuDevice, (&Option<&'static str>, &bool))| {
            device.energy_method != *method || (*guessed && !device.is_guessed)
        };
        if self.devices.iter().zip(news()).any(is_news) {
            for (device, (method, guessed)) in Arc::make_mut(&mut self.devices).iter_mut().zip(news()) {
                device.energy_method = device.energy_method.or(*method);
                device.is_guessed |= guessed;
            }
        }
    }
}
