//! The line to the work with the drivers, wherever that is done.

use crate::identity::Member;
use crate::work::Told;
use std::time::Duration;

/// How it stands on the other side.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) told: Told,
    /// The work has ended: no answer will come any more.
    pub(crate) ended: bool,
    /// The driver took its process with it; in the words of a warning.
    pub(crate) lost: Option<String>,
    /// The call into a driver that the work is in or was in last.
    pub(crate) call: &'static str,
    /// How long the work has been inside a driver.
    pub(crate) busy: Option<Duration>,
}

/// Nothing here waits for a driver but [`Link::wait`].
pub(crate) trait Link: Send + Sync {
    /// The living processes of the job; the next order takes them along.
    fn set_processes(&self, members: Vec<Member>);

    /// Orders a sample. Orders that come while one is under way become one, or are dropped.
    fn request(&self);

    fn view(&self) -> View;

    /// Waits until `enough`, at most so long.
    fn wait(&self, timeout: Duration, enough: &dyn Fn(&View) -> bool) -> View;

    /// Ends the work. `patience` is how long a driver may take to return.
    fn stop(&self, patience: Duration) -> View;
}
