//! Keys that give themselves away by their shape.

use super::REDACTED;
use super::rules::{SHAPES, Shape};
use std::borrow::Cow;

/// So many bytes of a candidate decide. A bound keeps hostile text from being read again and again.
const LOOK: usize = 200;

pub(super) fn redact(text: &str) -> String {
    let text = redact_private_keys(text);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut boundary = true;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        if boundary
            && letter.is_ascii_alphanumeric()
            && let Some(len) =
                key_len(rest).or_else(|| jwt_len(rest)).or_else(|| twilio_len(rest)).or_else(|| bot_len(rest))
        {
            out.push_str(REDACTED);
            at += len;
            boundary = false;
            continue;
        }
        boundary = !letter.is_alphanumeric() && letter != '_';
        out.push(letter);
        at += letter.len_utf8();
    }
    out
}

fn key_len(text: &str) -> Option<usize> {
    SHAPES.iter().find_map(|shape| {
        let body = text.strip_prefix(shape.prefix)?.as_bytes();
        let len = run(body, shape.extra);
        let look = &body[..len.min(LOOK)];
        (look.len() >= shape.at_least && (!shape.dense || is_dense(look, shape)))
            .then(|| shape.prefix.len() + full_run(body, shape.extra))
    })
}

fn is_dense(body: &[u8], shape: &Shape) -> bool {
    body.split(|byte| !byte.is_ascii_alphanumeric())
        .any(|run| run.len() >= shape.at_least.min(12) && is_mixed(run))
}

fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic)
}

/// The length of the run of key characters, up to the bound.
fn run(body: &[u8], extra: &str) -> usize {
    full_run(&body[..body.len().min(LOOK)], extra)
}

fn full_run(body: &[u8], extra: &str) -> usize {
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || extra.as_bytes().contains(byte);
    body.iter().position(|byte| !is_key(byte)).unwrap_or(body.len())
}

/// `header.claims.signature` in base64, the first beginning as JSON does.
fn jwt_len(text: &str) -> Option<usize> {
    if !text.starts_with("eyJ") {
        return None;
    }
    let len = run(text.as_bytes(), "-_=.");
    let mut parts = text[..len].split('.');
    let long = |part: Option<&str>| part.is_some_and(|part| part.len() >= 10);
    let first = parts.next();
    (long(first) && (long(parts.next()) || len >= LOOK)).then(|| full_run(text.as_bytes(), "-_=."))
}

/// Twilio: `AC` or `SK` and 32 hexadecimal digits.
fn twilio_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix("AC").or_else(|| text.strip_prefix("SK"))?.as_bytes();
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    (run(body, "") == 32 && body[..32].iter().all(is_hex)).then_some(34)
}

/// Telegram bots: a number, a colon, 35 characters that begin with two `A`.
fn bot_len(text: &str) -> Option<usize> {
    let look = &text.as_bytes()[..text.len().min(16)];
    let digits = look.iter().position(|byte| !byte.is_ascii_digit())?;
    let body = text.get(digits..)?.strip_prefix(":AA")?.as_bytes();
    let len = run(body, "_-");
    ((8..=11).contains(&digits) && (30..=40).contains(&len)).then_some(digits + 3 + len)
}

/// `-----BEGIN … PRIVATE KEY-----` up to its end mark, or to the end of the text.
fn redact_private_keys(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "-----END ";
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let label = &rest[begin + BEGIN.len()..];
        let label_end = label.bytes().take(80).position(|byte| byte == b'-');
        if !label_end.is_some_and(|end| label[..end].contains("PRIVATE KEY")) {
            out.push_str(&rest[..begin + BEGIN.len()]);
            rest = label;
            continue;
        }
        out.push_str(&rest[..begin]);
        out.push_str(REDACTED);
        let tail = label.find(END).map_or("", |end| &label[end + END.len()..]);
        rest = tail.split_once("-----").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    Cow::Owned(out)
}
