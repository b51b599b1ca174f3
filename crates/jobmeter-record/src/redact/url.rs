//! Secrets inside URLs: the password before the host, and paths that are keys (web hooks, bots, streams). Query
//! parameters are assignments like others, see `scan`.

use super::REDACTED;
use super::rules::HOOKS;
use super::values::looks_random;

/// Every URL of a text.
pub(super) fn redact(text: &str) -> String {
    let text = &*redact_oracle(text);
    let text = &*redact_go(text);
    if !text.contains("://") {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let tail = before[..at].rfind(|letter: char| !letter.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        let scheme = before[..at].get(tail..).unwrap_or_default();
        let (url, beyond) = after.split_at(url_end(after));
        out.push_str(&redact_hook(&redact_userinfo(scheme, url)));
        rest = beyond;
    }
    out.push_str(rest);
    out
}

/// `jdbc:oracle:thin:user/secret@host`.
fn redact_oracle(text: &str) -> std::borrow::Cow<'_, str> {
    let Some(at) = text.find("jdbc:oracle:") else { return text.into() };
    let rest = &text[at..];
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    match (rest[..end].find('/'), rest[..end].find('@')) {
        (Some(slash), Some(host)) if slash + 1 < host => {
            format!("{}{REDACTED}{}", &text[..at + slash + 1], &text[at + host..]).into()
        }
        _ => text.into(),
    }
}

/// Go's `user:secret@tcp(host:port)/name`.
fn redact_go(text: &str) -> std::borrow::Cow<'_, str> {
    let Some(at) = text.find("@tcp(").or_else(|| text.find("@unix(")) else { return text.into() };
    let begin = text[..at].rfind([' ', '=', '"', '\'', '/']).map_or(0, |before| before + 1);
    match text[begin..at].find(':') {
        Some(colon) if begin + colon + 1 < at => {
            format!("{}{REDACTED}{}", &text[..begin + colon + 1], &text[at..]).into()
        }
        _ => text.into(),
    }
}

/// The end of a URL. Another one in the same word, as in `a=http://x,b=http://y`, is left for the next round.
fn url_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if b"\"'<>` \n\t\\".contains(byte) {
            return at;
        }
        if *byte == b':' && bytes[at..].starts_with(b"://") {
            return text[..at].trim_end_matches(|letter: char| letter.is_ascii_alphanumeric()).len();
        }
    }
    text.len()
}

/// What follows `scheme://`.
fn redact_userinfo(scheme: &str, url: &str) -> String {
    let Some(end) = userinfo_end(url) else { return url.to_owned() };
    let (credentials, host) = url.split_at(end);
    let shown = match credentials.split_once(':') {
        Some((_, secret)) if secret.is_empty() || is_reference(secret) => credentials.to_owned(),
        Some((user, _)) => format!("{user}:{REDACTED}"),
        // `https://TOKEN@host` is how tokens are passed to git; `ssh://git@host` names a user.
        None if scheme.starts_with("http") && is_token(credentials) => REDACTED.to_owned(),
        None => credentials.to_owned(),
    };
    format!("{shown}{host}")
}

fn is_reference(secret: &str) -> bool {
    secret.starts_with(REDACTED)
        || secret.starts_with("${") && secret.ends_with('}')
        || secret.starts_with("$(")
        || secret.starts_with("{{")
        || secret.strip_prefix('$').is_some_and(|name| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
        })
}

fn is_token(user: &str) -> bool {
    !user.starts_with(['$', '{', '['])
        && (looks_random(user)
            || user.len() >= 6
                && user.contains(|letter: char| letter.is_ascii_digit())
                && !user.contains("%40"))
}

/// Where the `@` before the host is. A password may itself hold `@`, `/`, `?` and `#`.
fn userinfo_end(url: &str) -> Option<usize> {
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    let last = url.rfind('@')?;
    if let Some(at) = authority.rfind('@') {
        let host = &authority[at + 1..];
        let is_host = host.contains('.')
            || host.starts_with(['[', '$', '{'])
            || host.contains(':')
            || host.starts_with("localhost");
        let more = !is_host && last > at && url[..at].contains(':') && is_later_host(url, last);
        return Some(if more { last } else { at });
    }
    // No `@` before the first slash: a password with a slash, or a host with a port and an `@` in its path.
    let (_, port) = authority.split_once(':')?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.len() <= 5;
    (!is_port && !authority.starts_with('[') && is_later_host(url, last)).then_some(last)
}

/// Whether the text behind an `@` can be the host, and the `@` is not that of `/@scope` or `?mail=a@b`.
fn is_later_host(url: &str, at: usize) -> bool {
    let host = &url[at + 1..];
    let end = host.find(['/', '?', '#', ':', ',']).unwrap_or(host.len());
    !url[..at].ends_with('/')
        && end > 0
        && host[..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

fn redact_hook(url: &str) -> String {
    let found = HOOKS.iter().find_map(|(hook, keep)| url.find(hook).map(|at| (at + hook.len(), *keep)));
    let generic = || {
        // Mattermost, Rocket.Chat and others: `/hooks/KEY`.
        let at = ["/hooks/", "/webhook/", "/webhooks/"]
            .iter()
            .find_map(|part| url.find(part).map(|at| at + part.len()))?;
        let end = url[at..].find(['?', '#']).map_or(url.len(), |end| at + end);
        url[at..end].split('/').any(looks_random).then_some((at, 0))
    };
    let Some((mut from, keep)) = found.or_else(generic) else { return url.to_owned() };
    for _ in 0..keep {
        match url[from..].find('/') {
            Some(slash) => from += slash + 1,
            None => return url.to_owned(),
        }
    }
    // The method of a bot's URL may stay: `/bot123:KEY/sendMessage`.
    let is_bot = url[..from].ends_with("/bot");
    let ends: &[char] = if is_bot { &['/', '?', '#', ',', ';', ')'] } else { &['?', '#', ',', ';', ')'] };
    let to = url[from..].find(ends).map_or(url.len(), |end| from + end);
    if from == to || url[from..].starts_with(REDACTED) || url[from..].starts_with('$') {
        return url.to_owned();
    }
    format!("{}{REDACTED}{}", &url[..from], &url[to..])
}
