//! The least of HTTP/1.1 that metadata services and price lists need, with one deadline over everything.
//!
//! Plain TCP to a given address: no resolver, no proxy, no TLS, no redirects, no cookies, no keep-alive. Whatever a
//! service sends, the call ends by its deadline and holds at most as many bytes as the caller allows.

mod answer;
mod body;
mod failure;

pub use answer::{Answer, Reply};
pub use body::Body;
pub use failure::Failure;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long the next wait may last; after the deadline it is [`Failure::TimedOut`]. Asked before every wait, so that a
/// service that sends a byte at a time gains nothing by it.
pub type Wait<'a> = &'a dyn Fn() -> Result<Duration, Failure>;

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, or `PUT` without a body.
    pub method: &'a str,
    /// For the `Host` header.
    pub host: &'a str,
    /// Begins with `/`.
    pub path: &'a str,
    /// Besides `Host` and `Connection`.
    pub headers: &'a [(&'a str, &'a str)],
}

impl Request<'_> {
    fn text(&self, length: Option<u64>) -> Result<String, Failure> {
        let is_one_line = |text: &str| !text.bytes().any(|byte| byte.is_ascii_control());
        if !is_one_line(self.path) || !is_one_line(self.host) || self.path.contains(' ') {
            return Err(Failure::BadRequest("an address with a blank or control character"));
        }
        let mut text = format!("{} {} HTTP/1.1\r\nHost: {}\r\n", self.method, self.path, self.host);
        for (name, value) in self.headers {
            // A token comes from the service itself; it must not be able to write our next request.
            if !is_one_line(value) {
                return Err(Failure::Garbage("a token that is not one line"));
            }
            text += &format!("{name}: {value}\r\n");
        }
        if let Some(length) = length.or((self.method == "PUT").then_some(0)) {
            text += &format!("Content-Length: {length}\r\n");
        }
        Ok(text + "User-Agent: jobmeter\r\nAccept: */*\r\nConnection: close\r\n\r\n")
    }

    /// Sends it and returns the answer to it, which has status 200 and at most `limit_bytes`.
    pub fn send(&self, to: SocketAddr, limit_bytes: usize, wait: Wait<'_>) -> Result<Answer, Failure> {
        let text = self.text(None)?;
        let mut stream = TcpStream::connect_timeout(&to, wait()?).map_err(Failure::of)?;
        transmit(&mut stream, text.as_bytes(), wait)?;
        Answer::parse(&receive(&mut stream, limit_bytes, wait)?)
    }

    /// The same with a body of any bytes in both directions; every status is an answer.
    pub fn exchange(
        &self,
        to: SocketAddr,
        mut body: Option<&mut Body<'_>>,
        limit_bytes: usize,
        wait: Wait<'_>,
    ) -> Result<Reply, Failure> {
        let text = self.text(body.as_ref().map(|body| body.length()))?;
        let mut stream = TcpStream::connect_timeout(&to, wait()?).map_err(Failure::of)?;
        transmit(&mut stream, text.as_bytes(), wait)?;
        if let Some(body) = &mut body {
            let mut buffer = vec![0u8; 64 << 10];
            while let Some(bytes) = body.next(&mut buffer)? {
                if let Err(failure) = transmit(&mut stream, bytes, wait) {
                    // Who refuses a request need not read it to its end.
                    let refusal =
                        receive(&mut stream, limit_bytes, wait).and_then(|bytes| Reply::parse(&bytes));
                    return refusal.map_err(|_| failure);
                }
            }
        }
        Reply::parse(&receive(&mut stream, limit_bytes, wait)?)
    }
}

fn transmit(stream: &mut TcpStream, mut bytes: &[u8], wait: Wait<'_>) -> Result<(), Failure> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(wait()?)).map_err(Failure::of)?;
        match stream.write(bytes) {
            Ok(0) => return Err(Failure::Connection("closed while it was asked".to_owned())),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::of(error)),
        }
    }
    Ok(())
}

/// Until the answer is complete, the peer closes, the bound is reached or the time is over.
fn receive(stream: &mut TcpStream, limit_bytes: usize, wait: Wait<'_>) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut buffer = [0u8; 16 << 10];
    loop {
        stream.set_read_timeout(Some(wait()?)).map_err(Failure::of)?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::of(error)),
        }
        if bytes.len() > limit_bytes {
            return Err(Failure::TooLarge { limit_bytes });
        }
        if answer::is_complete(&bytes) {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_it_says_and_nothing_more() {
        let get = |path, headers| Request { method: "GET", host: "127.0.0.1", path, headers }.text(None);
        let text = get("/a?b=c", &[("X-Token", "t")]).unwrap();
        assert!(text.starts_with("GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Token: t\r\n"), "{text}");
        assert!(text.ends_with("Connection: close\r\n\r\n") && !text.contains("Content-Length"), "{text}");
        assert!(get("/a", &[("X-Token", "t\r\nHost: evil")]).is_err());
        for path in ["/a b", "/a\r\nHost: evil", "/\0"] {
            assert!(get(path, &[]).is_err(), "{path:?}");
        }
    }
}
