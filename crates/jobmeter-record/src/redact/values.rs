//! Which values are no secrets although their name says so: references, switches, paths, small numbers.

use super::REDACTED;
use super::names::Weight;

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// An argument as the job got it: nobody expands `$name` any more.
    Argument,
    /// A text that a shell or another language still reads.
    Code,
}

/// What of a value is to be replaced, by the weight of its name: a range of bytes.
pub(super) fn secret_part(value: &str, weight: Weight, place: Place) -> Option<std::ops::Range<usize>> {
    if is_harmless(value, place) {
        return None;
    }
    // openssl writes where a secret is before it: `pass:secret`.
    let whole = if value.len() > 5 && value.starts_with("pass:") { 5..value.len() } else { 0..value.len() };
    if value[whole.start..].starts_with(REDACTED) {
        return None;
    }
    match weight {
        Weight::Never => None,
        Weight::Strong => Some(whole),
        Weight::Short if is_short(value) => None,
        Weight::Short => Some(whole),
        Weight::Weak => looks_random(value).then_some(whole),
        Weight::Guess => {
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || b"-_".contains(&byte);
            let plain = value.bytes().all(is_plain) || value.bytes().all(|byte| byte.is_ascii_digit());
            (value.len() >= 4 && !plain).then_some(whole)
        }
        Weight::Folder => (!value.starts_with(['/', '~', '.'])).then_some(whole),
        Weight::Code => ((4..=8).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit()))
            .then_some(whole),
        Weight::Pair => match value.split_once(':') {
            Some((user, secret)) if !user.is_empty() && !secret.is_empty() && !secret.starts_with('/') => {
                (!is_harmless(secret, place)).then_some(user.len() + 1..value.len())
            }
            _ => looks_random(value).then_some(whole),
        },
    }
}

/// Counts, passes and the special words of text models: `100`, `<pad>`, `[MASK]`.
fn is_short(value: &str) -> bool {
    value.len() <= 6 && value.bytes().all(|byte| byte.is_ascii_digit())
        || value.starts_with(['<', '[']) && value.ends_with(['>', ']'])
}

fn is_harmless(value: &str, place: Place) -> bool {
    value.is_empty()
        || value.starts_with(REDACTED)
        || is_literal(value)
        || is_reference(value, place)
        || is_placeholder(value)
        || is_path(value)
}

fn is_literal(value: &str) -> bool {
    const LITERALS: [&str; 20] = [
        "true",
        "false",
        "none",
        "null",
        "nil",
        "undefined",
        "yes",
        "no",
        "on",
        "off",
        "auto",
        "prompt",
        "stdin",
        "-",
        "0",
        "1",
        "include",
        "same-origin",
        "omit",
        "default",
    ];
    value.len() <= 11 && LITERALS.iter().any(|literal| value.eq_ignore_ascii_case(literal))
}

/// The value is elsewhere: a variable, a command, a vault, an expression.
fn is_reference(value: &str, place: Place) -> bool {
    const SCHEMES: [&str; 16] = [
        "$(",
        "${",
        "`",
        "{{",
        "file:",
        "op://",
        "arn:aws:",
        "vault:",
        "sm://",
        "secretsmanager:",
        "ssm:",
        "!vault",
        "!Ref",
        "!Sub",
        "!GetAtt",
        "!secret",
    ];
    const OBJECTS: [&str; 23] = [
        "os.",
        "sys.",
        "self.",
        "args.",
        "cfg.",
        "config.",
        "config[",
        "env.",
        "process.",
        "ENV[",
        "secrets.",
        "vars.",
        "vault.",
        "settings.",
        "var.",
        "data.",
        "local.",
        "module.",
        "opts.",
        "options.",
        "params.",
        "request.",
        "getpass",
    ];
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if SCHEMES.iter().any(|scheme| value.starts_with(scheme)) {
        return true;
    }
    // openssl's `env:NAME` and `fd:3`.
    if let Some(name) = value.strip_prefix("env:").or_else(|| value.strip_prefix("fd:")) {
        return is_word(name) && !name.contains(|letter: char| letter.is_ascii_lowercase());
    }
    if let Some(name) = value.strip_prefix('$') {
        let shouted = !name.contains(|letter: char| letter.is_ascii_lowercase());
        let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        // `$1` of awk and of scripts.
        let positional = name.len() == 1 && name.starts_with(|letter: char| letter.is_ascii_digit());
        return is_word(name) && (positional || begins && (shouted || place == Place::Code));
    }
    if place == Place::Argument {
        return false;
    }
    // Expressions: `args.password`, `get_token()`, jq's `.token`.
    let is_call = value.ends_with(')')
        && value.find('(').is_some_and(|at| at > 0 && is_word(&value[..at].replace('.', "_")));
    is_call
        || OBJECTS.iter().any(|object| value.starts_with(object))
        || value.strip_prefix('.').is_some_and(|name| name.len() > 1 && is_word(name))
}

/// What documentation and templates write instead of a secret.
fn is_placeholder(value: &str) -> bool {
    const PATTERNS: [&str; 6] = [".*", "[^", "(.*", "([", "\\S", "\\w"];
    let bytes = value.as_bytes();
    let inner = |open: u8, close: u8| {
        bytes.len() > 2
            && bytes[0] == open
            && bytes[bytes.len() - 1] == close
            && bytes[1..bytes.len() - 1]
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_- .".contains(byte))
    };
    // `%s` of a format, alone or before something that is not part of it.
    let is_format = bytes.len() >= 2
        && bytes[0] == b'%'
        && b"sdvq".contains(&bytes[1])
        && bytes.get(2).is_none_or(|next| b"\\\"' \n".contains(next));
    bytes.len() > 2 && bytes.iter().all(|byte| b"*.xX".contains(byte))
        || is_format
        || PATTERNS.iter().any(|pattern| value.starts_with(pattern))
        || inner(b'<', b'>')
        || inner(b'{', b'}')
        || inner(b'%', b'%')
            && !bytes[1].is_ascii_digit()
            && !value.contains(|letter: char| letter.is_ascii_lowercase())
        || matches!(value, "{}" | "?")
        || value.starts_with("%(") && value.ends_with(")s")
}

/// A file that holds the secret is not the secret.
fn is_path(value: &str) -> bool {
    const ROOTS: [&str; 17] = [
        "/run/",
        "/etc/",
        "/home/",
        "/var/",
        "/tmp/",
        "/mnt/",
        "/opt/",
        "/usr/",
        "/root/",
        "/data/",
        "/dev/",
        "/proc/",
        "/srv/",
        "/secrets/",
        "/vault/",
        "/scratch/",
        "~/",
    ];
    const FILES: [&str; 22] = [
        ".json", ".pem", ".key", ".txt", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".p12", ".pfx", ".jks",
        ".crt", ".cer", ".toml", ".env", ".csv", ".gpg", ".enc", ".asc", ".pub", ".netrc",
    ];
    let value = value.strip_prefix('@').unwrap_or(value);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./~+@-".contains(&byte);
    let is_file = FILES.iter().any(|ending| value.len() > ending.len() && value.ends_with(ending));
    let has_root = ROOTS.iter().any(|root| value.starts_with(root));
    (is_file || has_root)
        && value.len() < 512
        && value.bytes().all(plain)
        && (is_file || !value.split('/').any(looks_random))
}

/// Long enough, of a key's alphabet, and letters, capitals and digits change places more often than in words.
/// Looks at a bounded part of the text.
pub(super) fn looks_random(value: &str) -> bool {
    let bytes = &value.as_bytes()[..value.len().min(256)];
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_.~%-".contains(byte);
    bytes.len() >= 16 && bytes.iter().all(is_key) && !is_uuid(bytes) && {
        let runs = || bytes.split(|byte| !byte.is_ascii_alphanumeric());
        runs().any(|run| run.len() >= 8 && changes(run) >= 3) || runs().map(changes).sum::<usize>() >= 6
    }
}

/// How often the class of the character changes within a run of letters and digits.
fn changes(run: &[u8]) -> usize {
    let class = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    // A capital that begins a word, as in `MyLongName`, is no change.
    let change = |pair: &&[u8]| {
        class(pair[0]) != class(pair[1]) && !(pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase())
    };
    run.windows(2).filter(change).count()
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
