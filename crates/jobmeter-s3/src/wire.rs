//! One request to an endpoint: plain HTTP, or https where the feature `tls` is built in.

use crate::error::Error;
use jobmeter_http::{Body, Failure, Reply, Request};
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

/// More than any error or page of a list has.
pub(crate) const SMALL_ANSWER_BYTES: usize = 8 << 20;

/// Scheme, `host:port` and the path before the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    is_tls: bool,
    /// As it stands in the `Host` header.
    pub(crate) host: String,
}

impl Endpoint {
    pub(crate) fn parse(url: &str) -> Result<Endpoint, Error> {
        let (is_tls, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => {
                return Err(Error::setup(
                    "the endpoint of the object storage must begin with http:// or https://",
                ));
            }
        };
        let host = rest.trim_end_matches('/');
        let is_host =
            !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']) && !host.contains(char::is_control);
        if !is_host {
            return Err(Error::setup(
                "the endpoint of the object storage must be a scheme and a host, such as http://127.0.0.1:9000",
            ));
        }
        // A port that goes without saying is not in the header.
        let usual = if is_tls { ":443" } else { ":80" };
        Ok(Endpoint { is_tls, host: host.strip_suffix(usual).unwrap_or(host).to_owned() })
    }

    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        mut body: Option<Body<'_>>,
        limit_bytes: usize,
        deadline: Instant,
    ) -> Result<Reply, Error> {
        if self.is_tls {
            return tls(self, method, target, headers, body, limit_bytes, deadline);
        }
        let pairs: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let request = Request { method, host: &self.host, path: target, headers: &pairs };
        let address = if has_port(&self.host) { self.host.clone() } else { format!("{}:80", self.host) };
        let mut last = Failure::Connection("its name has no address".to_owned());
        for socket in address.to_socket_addrs().map_err(Failure::of)? {
            match request.exchange(socket, body.as_mut(), limit_bytes, &|| left(deadline)) {
                // Nothing of the body was read before there was a connection: the next address may do.
                Err(failure @ Failure::Connection(_)) if body.as_ref().is_none_or(Body::is_whole) => {
                    last = failure
                }
                other => return Ok(other?),
            }
        }
        Err(last.into())
    }
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(before, port)| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && (!before.contains(':') || before.ends_with(']'))
    })
}

pub(crate) fn left(deadline: Instant) -> Result<Duration, Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Failure::TimedOut) } else { Ok(left) }
}

#[cfg(feature = "tls")]
fn tls(
    endpoint: &Endpoint,
    method: &str,
    target: &str,
    headers: &[(String, String)],
    body: Option<Body<'_>>,
    limit_bytes: usize,
    deadline: Instant,
) -> Result<Reply, Error> {
    use ureq::{SendBody, http};
    let connection = |text: String| Error::Failed(Failure::Connection(text));
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(left(deadline)?))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent("jobmeter")
        .build();
    let mut request =
        http::Request::builder().method(method).uri(format!("https://{}{target}", endpoint.host));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let agent = ureq::Agent::new_with_config(config);
    let answer = match body {
        None => request
            .body(SendBody::none())
            .map_err(|error| connection(error.to_string()))
            .map(|request| agent.run(request))?,
        Some(mut body) => {
            request = request.header("content-length", body.length());
            let sent = request.body(SendBody::from_reader(body.reader()));
            sent.map_err(|error| connection(error.to_string())).map(|request| agent.run(request))?
        }
    };
    let mut answer = answer.map_err(|error| match error {
        ureq::Error::Timeout(_) => Error::Failed(Failure::TimedOut),
        // It names the host and the reason; headers are not in it.
        error => connection(error.to_string()),
    })?;
    let text = |value: &http::HeaderValue| value.to_str().unwrap_or("").to_owned();
    let headers = answer.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let status = answer.status().as_u16();
    let read = answer.body_mut().with_config().limit(limit_bytes as u64).read_to_vec();
    let body = read.map_err(|error| connection(error.to_string()))?;
    Ok(Reply { status, headers, body })
}

#[cfg(not(feature = "tls"))]
fn tls(
    _: &Endpoint,
    _: &str,
    _: &str,
    _: &[(String, String)],
    _: Option<Body<'_>>,
    _: usize,
    _: Instant,
) -> Result<Reply, Error> {
    Err(Error::setup("this build speaks http:// to object storage, not https://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_a_scheme_and_a_host() {
        let host = |url: &str| Endpoint::parse(url).map(|endpoint| endpoint.host);
        assert_eq!(host("http://127.0.0.1:9000/").unwrap(), "127.0.0.1:9000");
        assert_eq!(host("http://store:80").unwrap(), "store");
        assert_eq!(host("https://[::1]:443").unwrap(), "[::1]");
        for url in
            ["", "store", "ftp://store", "http://", "http://a/b", "http://user:pass@store", "http://a b"]
        {
            assert!(host(url).is_err(), "{url:?}");
        }
        assert!(
            has_port("a:1")
                && has_port("[::1]:1")
                && !has_port("[::1]")
                && !has_port("::1")
                && !has_port("a")
        );
    }
}
