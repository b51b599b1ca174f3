//! Secrets inside URLs: the password before the host, tokens among the query parameters.

use super::REDACTED;
use super::names::is_secret_parameter;

/// Every URL inside a word.
pub(super) fn redact(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let scheme =
            before[..at].rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
        let end = after.find(['"', '\'', '<', '>', '`', ' ']).unwrap_or(after.len());
        // Another URL in the same word, as in `a=http://x,b=http://y`, is left for the next round.
        let end = after[..end].find("://").map_or(end, |next| {
            after[..next].trim_end_matches(|letter: char| letter.is_ascii_alphanumeric()).len()
        });
        let (url, beyond) = after.split_at(end);
        out.push_str(&redact_rest(scheme, url));
        rest = beyond;
    }
    out.push_str(rest);
    redact_query(&out)
}

/// What follows `scheme://`.
fn redact_rest(scheme: &str, url: &str) -> String {
    let authority_end = url.find(['/', '?', '#']).unwrap_or(url.len());
    let (authority, path) = url.split_at(authority_end);
    let Some((credentials, host)) = authority.rsplit_once('@') else { return url.to_owned() };
    let shown = match credentials.split_once(':') {
        Some((user, secret)) if !secret.is_empty() => format!("{user}:{REDACTED}"),
        // `https://TOKEN@host` is how tokens are passed to git; `ssh://git@host` names a user.
        None if scheme.starts_with("http") => REDACTED.to_owned(),
        _ => credentials.to_owned(),
    };
    format!("{shown}@{host}{path}")
}

fn redact_query(word: &str) -> String {
    let Some(question) = word.find('?') else { return word.to_owned() };
    let (address, query) = word.split_at(question + 1);
    let mut out = address.to_owned();
    for (index, parameter) in query.split('&').enumerate() {
        if index > 0 {
            out.push('&');
        }
        match parameter.split_once('=') {
            Some((name, value)) if is_secret_parameter(name) && !value.is_empty() => {
                let end = value.find(['"', '\'', '#', ' ']).unwrap_or(value.len());
                out.extend([name, "=", REDACTED, &value[end..]]);
            }
            _ => out.push_str(parameter),
        }
    }
    out
}
