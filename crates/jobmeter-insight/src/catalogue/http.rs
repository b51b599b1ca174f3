//! A GET over plain HTTP/1.1 with one deadline for everything. Enough for a service on the own network and
//! for tests; `https://` needs the cargo feature `live`. Redirects are not followed: an answer from elsewhere
//! is not the answer that was asked for.

use jobmeter_http::{Failure, Request};
use std::net::ToSocketAddrs;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// More than any real answer, little enough to be harmless.
const LARGEST_ANSWER_BYTES: usize = 8 << 20;

/// Fetches a body. Runs on a thread of its own, because looking up a name cannot be timed out.
pub(super) fn get(url: &str, timeout: Duration) -> Result<String, String> {
    let (sender, receiver) = mpsc::channel();
    let (url, deadline) = (url.to_owned(), Instant::now() + timeout);
    std::thread::Builder::new()
        .name("jobmeter-live".to_owned())
        .spawn(move || {
            // The receiver is gone after the time-out; nobody waits for this answer any more.
            let _ = sender.send(fetch(&url, deadline));
        })
        .map_err(|e| e.to_string())?;
    receiver
        .recv_timeout(timeout)
        .unwrap_or_else(|_| Err(format!("no answer within {:.1} s", timeout.as_secs_f64())))
}

fn fetch(url: &str, deadline: Instant) -> Result<String, String> {
    match url.split_once("://") {
        Some(("http", rest)) => plain(rest, deadline).map_err(|failure| format!("it {failure}")),
        Some(("https", _)) => tls(url, deadline),
        _ => Err("the endpoint must begin with http:// or https://".to_owned()),
    }
}

#[cfg(feature = "live")]
fn tls(url: &str, deadline: Instant) -> Result<String, String> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(left(deadline).map_err(|e| e.to_string())?))
        .max_redirects(0)
        .build();
    let mut answer = ureq::Agent::new_with_config(config).get(url).call().map_err(|e| e.to_string())?;
    answer
        .body_mut()
        .with_config()
        .limit(LARGEST_ANSWER_BYTES as u64)
        .read_to_string()
        .map_err(|e| e.to_string())
}

#[cfg(not(feature = "live"))]
fn tls(_url: &str, _deadline: Instant) -> Result<String, String> {
    Err("this build speaks http:// only; build with `--features live` for https".to_owned())
}

fn left(deadline: Instant) -> Result<Duration, Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Failure::TimedOut) } else { Ok(left) }
}

fn plain(rest: &str, deadline: Instant) -> Result<String, Failure> {
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let address = if has_port(authority) { authority.to_owned() } else { format!("{authority}:80") };
    let request = Request { method: "GET", host: authority, path, headers: &[] };
    let mut last = Failure::Connection("its name has no address".to_owned());
    for socket in address.to_socket_addrs().map_err(Failure::of)? {
        match request.send(socket, LARGEST_ANSWER_BYTES, &|| left(deadline)) {
            // The next address of the name may do.
            Err(failure @ Failure::Connection(_)) => last = failure,
            other => return other.map(|answer| answer.body),
        }
    }
    Err(last)
}

fn has_port(authority: &str) -> bool {
    let after_bracket = authority.rsplit(']').next().unwrap_or(authority);
    after_bracket.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_told_from_a_bare_address() {
        assert!(has_port("[::1]:80") && !has_port("[::1]") && has_port("a:1") && !has_port("a"));
    }
}
