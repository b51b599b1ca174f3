//! Which names announce a secret.

/// `--password`, `-storepass`, `--apiKey`, `--hf_token`: options whose value is secret.
pub(super) fn is_secret_option(argument: &str) -> bool {
    let name = argument.trim_start_matches('-');
    argument.starts_with('-')
        && name.len() >= 4
        // `-pass 1` is a pass over the data.
        && argument != "-pass"
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.'))
        && is_secret(&words(name), false)
}

/// `AWS_SECRET_ACCESS_KEY`, `PGPASSWORD`, `password`: variables and `key=value` settings.
pub(super) fn is_secret_variable(name: &str) -> bool {
    if name.is_empty()
        || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
        || name.starts_with('-')
    {
        return false;
    }
    let shouted = name.chars().all(|letter| !letter.is_ascii_lowercase());
    is_secret(&words(name), shouted)
}

pub(super) fn is_secret_header(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "authorization"
            | "proxy-authorization"
            | "cookie"
            | "set-cookie"
            | "x-api-key"
            | "api-key"
            | "apikey"
            | "x-auth-token"
            | "x-access-token"
            | "x-vault-token"
            | "x-amz-security-token"
            | "private-token"
            | "job-token"
            | "x-goog-api-key"
    )
}

/// Names of query parameters; `sig` and `key` are secrets only there.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "sig" | "signature" | "key" | "auth" | "x-amz-signature" | "x-amz-credential" | "x-goog-signature"
    ) || is_secret(&words(name), false)
}

/// Lower-case words of a name in snake, kebab, dotted or camel case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_was_lower = false;
    for letter in name.chars() {
        let separator = matches!(letter, '-' | '_' | '.');
        if (separator || (letter.is_ascii_uppercase() && before_was_lower))
            && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        before_was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if let (false, Some(word)) = (separator, words.last_mut()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words
}

/// The last word decides: `--password-file` and `--token-limit` hold no secret, `--db-password` does.
fn is_secret(words: &[String], shouted: bool) -> bool {
    let Some((last, before)) = words.split_last() else { return false };
    let previous = before.last().map(String::as_str).unwrap_or_default();
    if matches!(before.first().map(String::as_str), Some("no" | "without" | "ask" | "prompt" | "has")) {
        return false;
    }
    match last.as_str() {
        // Text models name their vocabulary so.
        "token" => !matches!(
            previous,
            "pad"
                | "eos"
                | "bos"
                | "unk"
                | "sep"
                | "cls"
                | "mask"
                | "special"
                | "stop"
                | "start"
                | "end"
                | "next"
                | "per"
                | "max"
                | "min"
                | "image"
                | "begin"
        ),
        "key" => {
            shouted && !before.is_empty()
                || matches!(
                    previous,
                    "api"
                        | "access"
                        | "secret"
                        | "auth"
                        | "encryption"
                        | "signing"
                        | "account"
                        | "master"
                        | "subscription"
                        | "shared"
                        | "session"
                        | "license"
                        | "deploy"
                )
        }
        "pwd" => !before.is_empty(),
        "auth" | "credential" => shouted && !before.is_empty(),
        "pass" => {
            before.is_empty() || shouted || matches!(previous, "db" | "user" | "key" | "store" | "admin")
        }
        word => SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending)),
    }
}

const SECRET_ENDINGS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "apikey",
    "authtoken",
    "accesstoken",
    "storepass",
    "keypass",
    "pgpass",
];
