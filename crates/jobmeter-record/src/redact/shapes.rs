//! Keys that give themselves away by their shape.

use super::REDACTED;
use std::borrow::Cow;

struct Shape {
    prefix: &'static str,
    /// Characters after the prefix, letters and digits and what `extra` adds.
    at_least: usize,
    extra: &'static [char],
    /// Must hold a run of so many letters and digits, digits among them (so that words do not match).
    run: usize,
}

const fn shape(prefix: &'static str, at_least: usize, extra: &'static [char], run: usize) -> Shape {
    Shape { prefix, at_least, extra, run }
}

const SHAPES: [Shape; 20] = [
    shape("AKIA", 16, &[], 0),
    shape("ASIA", 16, &[], 0),
    shape("ghp_", 30, &[], 0),
    shape("gho_", 30, &[], 0),
    shape("ghu_", 30, &[], 0),
    shape("ghs_", 30, &[], 0),
    shape("ghr_", 30, &[], 0),
    shape("github_pat_", 22, &['_'], 0),
    shape("glpat-", 16, &['_', '-'], 0),
    shape("xoxa-", 10, &['-'], 0),
    shape("xoxb-", 10, &['-'], 0),
    shape("xoxp-", 10, &['-'], 0),
    shape("xoxr-", 10, &['-'], 0),
    shape("xoxs-", 10, &['-'], 0),
    shape("sk-", 20, &['_', '-'], 16),
    shape("sk_live_", 16, &[], 0),
    shape("hf_", 30, &[], 0),
    shape("npm_", 30, &[], 0),
    shape("AIza", 30, &['_', '-'], 0),
    shape("pypi-", 40, &['_', '-'], 16),
];

pub(super) fn redact(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut at = 0;
    let mut boundary = true;
    while at < word.len() {
        let rest = &word[at..];
        if boundary && let Some(len) = key_len(rest).or_else(|| jwt_len(rest)) {
            out.push_str(REDACTED);
            at += len;
            boundary = false;
            continue;
        }
        let Some(letter) = rest.chars().next() else { break };
        boundary = !letter.is_alphanumeric() && letter != '_';
        out.push(letter);
        at += letter.len_utf8();
    }
    redact_private_keys(&out).into_owned()
}

fn key_len(text: &str) -> Option<usize> {
    SHAPES.iter().find_map(|shape| {
        let body = text.strip_prefix(shape.prefix)?;
        let is_key = |letter: char| letter.is_ascii_alphanumeric() || shape.extra.contains(&letter);
        let len = body.find(|letter| !is_key(letter)).unwrap_or(body.len());
        let body = &body[..len];
        let dense = shape.run == 0
            || body.split(['-', '_']).any(|run| {
                run.len() >= shape.run
                    && run.contains(|l: char| l.is_ascii_digit())
                    && run.contains(|l: char| l.is_ascii_alphabetic())
            });
        (len >= shape.at_least && dense).then_some(shape.prefix.len() + len)
    })
}

/// `header.claims.signature` in base64, the first beginning as JSON does.
fn jwt_len(text: &str) -> Option<usize> {
    if !text.starts_with("eyJ") {
        return None;
    }
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '=' | '.');
    let len = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let mut parts = text[..len].split('.');
    let long = |part: Option<&str>| part.is_some_and(|part| part.len() >= 10);
    (long(parts.next()) && long(parts.next())).then_some(len)
}

/// `-----BEGIN … PRIVATE KEY-----` up to its end mark, or to the end of the text.
pub(super) fn redact_private_keys(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "-----BEGIN ";
    let Some(begin) = text.find(BEGIN) else { return Cow::Borrowed(text) };
    let label_end = text[begin + BEGIN.len()..].find("-----").map(|at| begin + BEGIN.len() + at);
    if !label_end.is_some_and(|end| text[begin..end].contains("PRIVATE KEY")) {
        return Cow::Borrowed(text);
    }
    let after = match text[begin..].find("-----END ") {
        None => "",
        Some(end) => {
            let tail = &text[begin + end + "-----END ".len()..];
            tail.split_once("-----").map_or("", |(_, after)| after)
        }
    };
    Cow::Owned(format!("{}{REDACTED}{}", &text[..begin], redact_private_keys(after)))
}
