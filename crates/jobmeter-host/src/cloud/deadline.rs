//! One moment by which everything is over. Every wait asks here how long it may last, so no number of steps
//! can add up to more.

use super::http::Failure;
use std::time::{Duration, Instant};

pub(crate) struct Deadline {
    at: Instant,
    /// When each wait that was allowed would have ended.
    #[cfg(test)]
    waits: std::sync::Mutex<Vec<Instant>>,
}

impl Deadline {
    pub(crate) fn new(at: Instant) -> Deadline {
        Deadline {
            at,
            #[cfg(test)]
            waits: std::sync::Mutex::default(),
        }
    }

    /// For a promise about a whole call: a tenth is kept for the steps between the waits and for waking up late.
    pub(crate) fn of_call(started: Instant, timeout: Duration) -> Deadline {
        Deadline::new(started + timeout - timeout / 10)
    }

    /// How long the next wait may last, never zero; after the deadline none is allowed.
    pub(crate) fn wait(&self) -> Result<Duration, Failure> {
        let now = Instant::now();
        let left = self.at.saturating_duration_since(now);
        if left.is_zero() {
            return Err(Failure::TimedOut);
        }
        #[cfg(test)]
        self.waits.lock().unwrap().push(now + left);
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ask, http::Client, vendor::Vendor};
    use super::*;
    use crate::loopback::Server;

    #[test]
    fn a_tenth_is_kept_and_nothing_is_allowed_afterwards() {
        let started = Instant::now();
        let deadline = Deadline::of_call(started, Duration::from_millis(500));
        assert_eq!(deadline.at, started + Duration::from_millis(450));
        assert!(deadline.wait().is_ok_and(|left| left <= Duration::from_millis(450)));
        assert_eq!(Deadline::new(started).wait(), Err(Failure::TimedOut));
    }

    /// Connecting, writing, every read, every request: no wait may reach beyond the one deadline.
    #[test]
    fn no_step_of_a_conversation_may_wait_beyond_the_deadline() {
        for (server, fewest_waits) in [
            // Connect, write, read.
            (Server::silent(), 3),
            // A read for every byte.
            (Server::trickling(), 5),
            // Token and first value: three each.
            (Server::slow_after_the_token(), 6),
            (Server::late_by(Duration::from_millis(60)), 6),
            (Server::never_accepting(), 1),
        ] {
            let deadline = Deadline::of_call(Instant::now(), Duration::from_millis(200));
            let client = Client::new(server.base(), deadline).unwrap();
            let asked = ask::ask(Vendor::Aws, &client);
            let known = asked.as_ref().map(|facts| facts.reason.clone());
            assert!(!matches!(known, Ok(None)), "{}: the time cannot have sufficed", server.name());
            let waits = client.deadline().waits.lock().unwrap().clone();
            assert!(waits.len() >= fewest_waits, "{}: {} waits", server.name(), waits.len());
            assert!(waits.iter().all(|end| *end <= client.deadline().at), "{}", server.name());
            server.stop();
        }
    }
}
