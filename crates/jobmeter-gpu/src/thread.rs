//! The work with the drivers on a thread of the calling process: for programs that measure themselves, where we promise
//! to start no process. A driver that aborts takes the program with it, as it would without us.

use crate::config::GpuConfig;
use crate::error::GpuError;
use crate::identity::Member;
use crate::link::{Link, View};
use crate::nvml::Progress;
use crate::source::Way;
use crate::work::{Desk, Told, work};
use jobmeter_engine::linux::signal_mask::SignalsBlocked;
use jobmeter_engine::meter::OwnThread;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The lock is held for the swap of a pointer, never during a call into a driver.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    progress: Arc<Progress>,
}

#[derive(Default)]
struct State {
    members: Arc<Vec<Member>>,
    requested: bool,
    stop: bool,
    ended: bool,
    told: Told,
    /// Since when the thread is inside a driver.
    busy_since: Option<Instant>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, state: &State) -> View {
        View {
            told: state.told.clone(),
            ended: state.ended,
            lost: None,
            call: self.progress.current(),
            busy: state.busy_since.map(|since| since.elapsed()),
        }
    }
}

pub(crate) struct ThreadLink(Arc<Shared>);

impl ThreadLink {
    pub(crate) fn start(config: GpuConfig, ways: Vec<&'static dyn Way>) -> Result<ThreadLink, GpuError> {
        let state = State { busy_since: Some(Instant::now()), ..State::default() };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            progress: Arc::new(Progress::new(None)),
        });
        let mut desk = ThreadDesk { shared: Arc::clone(&shared), own_thread: OwnThread::enter() };
        let _blocked = SignalsBlocked::new();
        std::thread::Builder::new()
            .name("jobmeter-gpu".to_owned())
            .spawn(move || run(&config, &ways, &mut desk))
            .map_err(|error| GpuError::Thread { reason: error.to_string() })?;
        Ok(ThreadLink(shared))
    }
}

impl Link for ThreadLink {
    fn set_processes(&self, members: Vec<Member>) {
        self.0.lock().members = Arc::new(members);
    }

    fn request(&self) {
        self.0.lock().requested = true;
        self.0.changed.notify_all();
    }

    fn view(&self) -> View {
        self.0.see(&self.0.lock())
    }

    fn wait(&self, timeout: Duration, enough: &dyn Fn(&View) -> bool) -> View {
        let (state, _) = self
            .0
            .changed
            .wait_timeout_while(self.0.lock(), timeout, |state| !enough(&self.0.see(state)))
            .unwrap_or_else(PoisonError::into_inner);
        self.0.see(&state)
    }

    fn stop(&self, patience: Duration) -> View {
        self.0.lock().stop = true;
        self.0.changed.notify_all();
        self.wait(patience, &|view| view.ended)
    }
}

struct ThreadDesk {
    shared: Arc<Shared>,
    own_thread: OwnThread,
}

impl Desk for ThreadDesk {
    fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.shared.progress)
    }

    fn next(&mut self) -> Option<Arc<Vec<Member>>> {
        let mut state = self
            .shared
            .changed
            .wait_while(self.shared.lock(), |state| !state.requested && !state.stop)
            .unwrap_or_else(PoisonError::into_inner);
        state.busy_since = Some(Instant::now());
        if state.stop {
            return None;
        }
        state.requested = false;
        Some(Arc::clone(&state.members))
    }

    fn tell(&mut self, told: Told) {
        self.own_thread.account();
        let mut state = self.shared.lock();
        state.told = told;
        state.busy_since = None;
        self.shared.changed.notify_all();
    }
}

/// Body of the thread. A panic in here (it should not) ends the GPU figures, not the run.
fn run(config: &GpuConfig, ways: &[&'static dyn Way], desk: &mut ThreadDesk) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(config, ways, desk)));
    let mut state = desk.shared.lock();
    if outcome.is_err() && state.told.reason.is_none() {
        state.told.reason = Some("the GPU thread failed".to_owned());
    }
    state.busy_since = None;
    state.ended = true;
    desk.shared.changed.notify_all();
}
