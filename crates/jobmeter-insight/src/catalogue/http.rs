//! A GET over plain HTTP/1.1 with one deadline for everything. Enough for a service on the own network and
//! for tests; `https://` needs the cargo feature `live`. Redirects are not followed: an answer from elsewhere
//! is not the answer that was asked for.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// More than any real answer, little enough to be harmless.
const LARGEST_ANSWER_BYTES: u64 = 8 << 20;

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
        Some(("http", rest)) => plain(rest, deadline),
        Some(("https", _)) => tls(url, deadline),
        _ => Err("the endpoint must begin with http:// or https://".to_owned()),
    }
}

#[cfg(feature = "live")]
fn tls(url: &str, deadline: Instant) -> Result<String, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(left(deadline)?)).max_redirects(0).build();
    let mut answer = ureq::Agent::new_with_config(config).get(url).call().map_err(|e| e.to_string())?;
    answer.body_mut().with_config().limit(LARGEST_ANSWER_BYTES).read_to_string().map_err(|e| e.to_string())
}

#[cfg(not(feature = "live"))]
fn tls(_url: &str, _deadline: Instant) -> Result<String, String> {
    Err("this build speaks http:// only; build with `--features live` for https".to_owned())
}

fn left(deadline: Instant) -> Result<Duration, String> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err("time-out".to_owned()) } else { Ok(left) }
}

fn plain(rest: &str, deadline: Instant) -> Result<String, String> {
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    if rest.chars().any(|c| c.is_control() || c == ' ') {
        return Err("the endpoint holds a blank or control character".to_owned());
    }
    let address = if has_port(authority) { authority.to_owned() } else { format!("{authority}:80") };
    let mut stream = connect(&address, deadline)?;
    stream.set_write_timeout(Some(left(deadline)?)).map_err(|e| e.to_string())?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: jobmeter/{}\r\nAccept: application/json\r\n\
         Connection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
    let answer = read_all(&mut stream, deadline)?;
    body_of(&answer)
}

fn has_port(authority: &str) -> bool {
    let after_bracket = authority.rsplit(']').next().unwrap_or(authority);
    after_bracket.contains(':')
}

fn connect(address: &str, deadline: Instant) -> Result<TcpStream, String> {
    let mut last = format!("`{address}` has no address");
    for socket in address.to_socket_addrs().map_err(|e| e.to_string())? {
        match TcpStream::connect_timeout(&socket, left(deadline)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

fn read_all(stream: &mut TcpStream, deadline: Instant) -> Result<Vec<u8>, String> {
    let mut answer = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left(deadline)?)).map_err(|e| e.to_string())?;
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(answer),
            Ok(count) => answer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
        if answer.len() as u64 > LARGEST_ANSWER_BYTES {
            return Err("the answer is larger than 8 MiB".to_owned());
        }
    }
}

fn body_of(answer: &[u8]) -> Result<String, String> {
    let split = answer.windows(4).position(|w| w == b"\r\n\r\n").ok_or("not an HTTP answer")?;
    let head = String::from_utf8_lossy(&answer[..split]);
    let body = &answer[split + 4..];
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    let code = status.strip_prefix("HTTP/1.").and_then(|s| s.split(' ').nth(1)).unwrap_or("");
    if code != "200" {
        return Err(format!("status `{}`", crate::error::clean(status)));
    }
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase()))
        .collect();
    let header =
        |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let bytes = if header("transfer-encoding").is_some_and(|v| v.contains("chunked")) {
        unchunk(body)?
    } else {
        match header("content-length").map(str::parse::<usize>) {
            Some(Ok(length)) if length <= body.len() => body[..length].to_vec(),
            Some(_) => return Err("the answer is cut short".to_owned()),
            None => body.to_vec(),
        }
    };
    String::from_utf8(bytes).map_err(|_| "the answer is not UTF-8".to_owned())
}

fn unchunk(mut body: &[u8]) -> Result<Vec<u8>, String> {
    let cut = || "the answer is cut short".to_owned();
    let mut whole = Vec::new();
    loop {
        let line_end = body.windows(2).position(|w| w == b"\r\n").ok_or_else(cut)?;
        let line = String::from_utf8_lossy(&body[..line_end]);
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| "a chunk has no size".to_owned())?;
        if size == 0 {
            return Ok(whole);
        }
        let start = line_end + 2;
        let end = start.checked_add(size).ok_or_else(cut)?;
        whole.extend_from_slice(body.get(start..end).ok_or_else(cut)?);
        body = body.get(end + 2..).ok_or_else(cut)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_every_kind() {
        let ok = |text: &str| body_of(text.as_bytes());
        assert_eq!(ok("HTTP/1.1 200 OK\r\n\r\nall").unwrap(), "all");
        assert_eq!(ok("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nallmore").unwrap(), "al");
        assert_eq!(
            ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                .unwrap(),
            "abcde"
        );
        for bad in [
            "",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc",
        ] {
            assert!(ok(bad).is_err(), "{bad:?}");
        }
        assert!(has_port("[::1]:80") && !has_port("[::1]") && has_port("a:1") && !has_port("a"));
    }
}
