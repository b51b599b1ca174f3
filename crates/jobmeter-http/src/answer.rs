//! An answer: status line, headers, and a body by length, in chunks or until the end.

use crate::failure::Failure;

/// What a server answered with status 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Names in the server's spelling, and values.
    pub headers: Vec<(String, String)>,
    /// As text.
    pub body: String,
}

/// An answer of any status, with a body of any bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Names as they came, and values.
    pub headers: Vec<(String, String)>,
    /// Without its framing.
    pub body: Vec<u8>,
}

impl Reply {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Reply, Failure> {
        let (head, body) = split_head(bytes).ok_or(Failure::Garbage("something that is not HTTP"))?;
        let (status, headers) = head_lines(head);
        let status = status
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split(' ').nth(1))
            .and_then(|code| code.parse::<u16>().ok())
            .ok_or(Failure::Garbage("something that is not HTTP"))?;
        let body = if is_chunked(&headers) {
            unchunk(body).ok_or(Failure::Garbage("an incomplete answer"))?
        } else {
            match content_length(&headers) {
                Some(length) => body.get(..length).ok_or(Failure::Garbage("an incomplete answer"))?.to_vec(),
                None => body.to_vec(),
            }
        };
        Ok(Reply { status, headers, body })
    }
}

impl Answer {
    /// The value of a header, whatever its spelling.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body is text; a status other than 200 is a failure.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Answer, Failure> {
        let Reply { status, headers, body } = Reply::parse(bytes)?;
        if status != 200 {
            return Err(Failure::Status(status));
        }
        let body = String::from_utf8(body).map_err(|_| Failure::Garbage("bytes that are not text"))?;
        Ok(Answer { headers, body })
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

/// Whether nothing more is to come.
pub(crate) fn is_complete(bytes: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_every_framing() {
        let body = |text: &str| Answer::parse(text.as_bytes()).map(|answer| answer.body);
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
        assert!(Answer::parse(b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe").is_err());
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
            let _ = (is_complete(&bytes), Answer::parse(&bytes).is_ok());
        }
    }
}
