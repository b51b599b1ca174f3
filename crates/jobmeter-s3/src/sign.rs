//! AWS Signature Version 4: a request is reduced to one canonical text, and the text signed with a key that is good for
//! one day, region and service.

use crate::account::Account;
use jobmeter_model::calendar::utc_fields;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// What is signed. Names of headers are in lower case; `query` and `path` are not encoded yet.
#[derive(Debug, Clone, Copy)]
pub struct Unsigned<'a> {
    /// `GET` or `PUT`.
    pub method: &'a str,
    /// As in the `Host` header.
    pub host: &'a str,
    /// From the first slash on.
    pub path: &'a str,
    /// Names and values behind the question mark.
    pub query: &'a [(&'a str, &'a str)],
    /// Besides `host` and those that [`headers`] adds.
    pub headers: &'a [(&'a str, &'a str)],
    /// Hexadecimal SHA-256 of the body.
    pub body_sha256: &'a str,
}

/// All headers to send but `host`, the signature among them.
pub fn headers(
    request: Unsigned<'_>,
    account: &Account,
    service: &str,
    now_unix_ns: u64,
) -> Vec<(String, String)> {
    let stamp = stamp(now_unix_ns);
    let day = &stamp[..8];
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut headers: Vec<(String, String)> = request.headers.iter().map(own).collect();
    headers.push(("x-amz-date".to_owned(), stamp.clone()));
    if service == "s3" {
        headers.push(("x-amz-content-sha256".to_owned(), request.body_sha256.to_owned()));
    }
    if let Some(token) = &account.session_token {
        headers.push(("x-amz-security-token".to_owned(), token.clone()));
    }
    let mut signed = headers.clone();
    signed.push(("host".to_owned(), request.host.to_owned()));
    signed.sort();
    let names = signed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let lines =
        signed.iter().fold(String::new(), |text, (name, value)| text + name + ":" + value.trim() + "\n");
    let canonical = format!(
        "{}\n{}\n{}\n{lines}\n{names}\n{}",
        request.method,
        encoded(request.path, true),
        canonical_query(request.query),
        request.body_sha256
    );
    let scope = format!("{day}/{}/{service}/aws4_request", account.region);
    let text = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let first = format!("AWS4{}", account.secret_access_key);
    let key = [day, account.region.as_str(), service, "aws4_request"]
        .iter()
        .fold(first.into_bytes(), |key, part| hmac(&key, part.as_bytes()).to_vec());
    let signature = hex(&hmac(&key, text.as_bytes()));
    headers.push((
        "authorization".to_owned(),
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            account.access_key_id
        ),
    ));
    headers
}

/// `20150830T123600Z`
fn stamp(unix_ns: u64) -> String {
    let [year, month, day, hour, minute, second] = utc_fields(unix_ns);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// As it stands behind the question mark, sorted.
pub fn canonical_query(query: &[(&str, &str)]) -> String {
    let mut pairs: Vec<(String, String)> =
        query.iter().map(|(name, value)| (encoded(name, false), encoded(value, false))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// Everything but letters, digits, `-._~` and, in a path, slashes as `%XX`.
pub fn encoded(text: &str, is_path: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (is_path && byte == b'/') {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// HMAC-SHA-256 (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut padded = [0u8; BLOCK];
    match key.len() {
        0..=BLOCK => padded[..key.len()].copy_from_slice(key),
        _ => padded[..32].copy_from_slice(&Sha256::digest(key)),
    }
    let inner = Sha256::new().chain_update(padded.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
#[path = "sign_tests.rs"]
mod tests;
