//! A metadata service: a literal address, and one deadline for all requests to it.

use super::deadline::Deadline;
pub(crate) use jobmeter_http::Answer;
pub use jobmeter_http::Failure;
use jobmeter_http::Request;
use std::net::SocketAddr;

/// Metadata documents are a few kilobytes.
const LARGEST_ANSWER_BYTES: usize = 256 << 10;

/// One service, one deadline for all requests to it.
pub(crate) struct Client {
    address: SocketAddr,
    deadline: Deadline,
}

/// `http://ADDRESS[:PORT]`, nothing else: a name would need a resolver, whose time cannot be bounded.
pub(crate) fn parse_base(base: &str) -> Result<SocketAddr, Failure> {
    let bad = || Failure::BadRequest("its address is not of the form http://ADDRESS[:PORT]");
    let host = base.strip_prefix("http://").ok_or_else(bad)?.trim_end_matches('/');
    host.parse().or_else(|_| format!("{host}:80").parse()).map_err(|_| bad())
}

impl Client {
    pub(crate) fn new(base: &str, deadline: Deadline) -> Result<Client, Failure> {
        Ok(Client { address: parse_base(base)?, deadline })
    }

    pub(crate) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Result<Answer, Failure> {
        self.send("GET", path, headers)
    }

    pub(crate) fn put(&self, path: &str, headers: &[(&str, &str)]) -> Result<Answer, Failure> {
        self.send("PUT", path, headers)
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Result<Answer, Failure> {
        let host = self.address.ip().to_string();
        let request = Request { method, host: &host, path, headers };
        request.send(self.address, LARGEST_ANSWER_BYTES, &|| self.deadline.wait())
    }

    #[cfg(test)]
    pub(crate) fn deadline(&self) -> &Deadline {
        &self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_literal_addresses_only() {
        assert_eq!(parse_base("http://127.0.0.1:8080/").unwrap().port(), 8080);
        assert_eq!(parse_base("http://127.0.0.1").unwrap().port(), 80);
        assert_eq!(parse_base("http://[::1]:81").unwrap().port(), 81);
        for bad in ["", "127.0.0.1", "https://127.0.0.1", "http://example.org", "http://127.0.0.1/path"] {
            assert!(parse_base(bad).is_err(), "{bad}");
        }
    }
}
