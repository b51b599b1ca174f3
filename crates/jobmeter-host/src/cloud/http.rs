//! The least of HTTP/1.1 that metadata services need, with one deadline over everything.
//!
//! Plain TCP to a literal address: no resolver, no proxy, no TLS, no redirects, no cookies, no keep-alive.
//! Whatever a service sends, the call ends by its deadline and holds at most [`LARGEST_ANSWER`] bytes.

use super::deadline::Deadline;
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Metadata documents are a few kilobytes.
const LARGEST_ANSWER: usize = 256 << 10;

/// Why a request gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The base address is not `http://ADDRESS[:PORT]`.
    BadBase(String),
    TimedOut,
    /// Refused, reset, unreachable: what the system said.
    Connection(String),
    /// An HTTP status other than 200.
    Status(u16),
    /// Not HTTP, not complete, or not what this service answers.
    Garbage(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BadBase(base) => {
                write!(f, "the metadata address {base:?} is not of the form http://ADDRESS[:PORT]")
            }
            Failure::TimedOut => write!(f, "the metadata service did not answer in time"),
            Failure::Connection(text) => write!(f, "the metadata service cannot be reached: {text}"),
            Failure::Status(status @ 300..=399) => {
                write!(f, "the metadata service redirects (status {status}), which is not followed")
            }
            Failure::Status(status) => write!(f, "the metadata service answered with status {status}"),
            Failure::Garbage(what) => write!(f, "the metadata service answered with {what}"),
        }
    }
}

impl std::error::Error for Failure {}

/// One service, one deadline for all requests to it.
pub(crate) struct Client {
    address: SocketAddr,
    deadline: Deadline,
}

pub(crate) struct Answer {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// `http://ADDRESS[:PORT]`, nothing else: a name would need a resolver, whose time cannot be bounded.
pub(crate) fn parse_base(base: &str) -> Result<SocketAddr, Failure> {
    let bad = || Failure::BadBase(base.to_owned());
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
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address.ip());
        for (name, value) in headers {
            // A token comes from the service itself; it must not be able to write our next request.
            if value.bytes().any(|byte| byte.is_ascii_control()) {
                return Err(Failure::Garbage("a token that is not one line"));
            }
            request += &format!("{name}: {value}\r\n");
        }
        if method == "PUT" {
            request += "Content-Length: 0\r\n";
        }
        request += "User-Agent: jobmeter\r\nAccept: */*\r\nConnection: close\r\n\r\n";

        let mut stream = TcpStream::connect_timeout(&self.address, self.deadline.wait()?).map_err(failure)?;
        self.transmit(&mut stream, request.as_bytes())?;
        let bytes = self.receive(&mut stream)?;
        parse(&bytes)
    }

    fn transmit(&self, stream: &mut TcpStream, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            // Before every write: the time-out is of one, and a service may take the request in small pieces.
            stream.set_write_timeout(Some(self.deadline.wait()?)).map_err(failure)?;
            match stream.write(bytes) {
                Ok(0) => return Err(Failure::Connection("closed while it was asked".to_owned())),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(error)),
            }
        }
        Ok(())
    }

    /// Until the answer is complete, the peer closes, the bound is reached or the time is over.
    fn receive(&self, stream: &mut TcpStream) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let mut buffer = [0u8; 8192];
        loop {
            // Before every read, so that a service sending a byte at a time gains nothing by it.
            stream.set_read_timeout(Some(self.deadline.wait()?)).map_err(failure)?;
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(bytes),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(error)),
            }
            if bytes.len() > LARGEST_ANSWER {
                return Err(Failure::Garbage("more than a metadata service would"));
            }
            if is_complete(&bytes) {
                return Ok(bytes);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn deadline(&self) -> &Deadline {
        &self.deadline
    }
}

fn failure(error: std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Failure::TimedOut,
        _ => Failure::Connection(error.to_string()),
    }
}

/// Where the headers end and the body begins.
fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((&bytes[..end], &bytes[end + 4..]))
}

fn head_lines(head: &[u8]) -> (String, Vec<(String, String)>) {
    let text = String::from_utf8_lossy(head).into_owned();
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default().to_owned();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    (status, headers)
}

fn content_length(headers: &[(String, String)]) -> Option<usize> {
    headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?.1.parse().ok()
}

fn is_chunked(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding") && value.to_ascii_lowercase().contains("chunked")
    })
}

fn is_complete(bytes: &[u8]) -> bool {
    let Some((head, body)) = split_head(bytes) else { return false };
    let (_, headers) = head_lines(head);
    if is_chunked(&headers) {
        return unchunk(body).is_some();
    }
    content_length(&headers).is_some_and(|length| body.len() >= length)
}

/// The body of a chunked answer; `None` while it is not complete, or if it is malformed.
fn unchunk(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&body[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        body = &body[end + 2..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(body.get(..size)?);
        body = body.get(size.checked_add(2)?..)?;
    }
}

fn parse(bytes: &[u8]) -> Result<Answer, Failure> {
    let (head, body) = split_head(bytes).ok_or(Failure::Garbage("something that is not HTTP"))?;
    let (status, headers) = head_lines(head);
    let code = status
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|code| code.parse::<u16>().ok())
        .ok_or(Failure::Garbage("something that is not HTTP"))?;
    if code != 200 {
        return Err(Failure::Status(code));
    }
    let body = if is_chunked(&headers) {
        unchunk(body).ok_or(Failure::Garbage("an incomplete answer"))?
    } else {
        match content_length(&headers) {
            Some(length) => body.get(..length).ok_or(Failure::Garbage("an incomplete answer"))?.to_vec(),
            None => body.to_vec(),
        }
    };
    let body = String::from_utf8(body).map_err(|_| Failure::Garbage("bytes that are not text"))?;
    Ok(Answer { headers, body })
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

    #[test]
    fn answers_in_every_framing() {
        let body = |text: &str| parse(text.as_bytes()).map(|answer| answer.body);
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokrest").unwrap(), "ok");
        assert_eq!(body("HTTP/1.0 200 OK\r\n\r\nuntil the end").unwrap(), "until the end");
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")
                .unwrap(),
            "abcd"
        );
        assert_eq!(
            body("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1/\r\n\r\n"),
            Err(Failure::Status(301))
        );
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort"),
            Err(Failure::Garbage("an incomplete answer"))
        );
        for garbage in ["", "\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 two OK\r\n\r\n"] {
            assert!(matches!(body(garbage), Err(Failure::Garbage(_))), "{garbage:?}");
        }
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe").is_err());
    }

    #[test]
    fn hostile_chunk_sizes_do_not_overflow() {
        assert_eq!(unchunk(b"ffffffffffffffff\r\nabc\r\n0\r\n\r\n"), None);
        assert_eq!(unchunk(b"fffffffffffffffff\r\nabc"), None);
        assert_eq!(unchunk(b"-1\r\nabc"), None);
    }

    #[test]
    fn no_bytes_at_all_make_it_panic() {
        let seed_text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        for _ in 0..20_000 {
            let mut bytes = seed_text.to_vec();
            for _ in 0..next() % 6 {
                let place = next() % bytes.len();
                bytes[place] = next() as u8;
            }
            bytes.truncate(next() % (bytes.len() + 1));
            // Complete or not, an answer or a failure: anything but a panic.
            let _ = (is_complete(&bytes), parse(&bytes).is_ok());
        }
    }
}
