//! Which names announce a secret, by the words that they are made of.

use super::rules::{
    ABOUT, ENDINGS, LAST_WORD, NOT_KEYS, QUALIFIERS, SECRET_AUTH, SECRET_KEYS, SECRET_PASS, SWITCHES,
    TEXT_TOKENS,
};

/// How far a name alone decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// The value is no secret.
    Never,
    /// The value is secret if it also looks random.
    Weak,
    /// The value is secret if it is not a number or a plain word: `JOB_PASS=x7`.
    Guess,
    /// The value is secret unless it is a folder: the shell's `PWD`, and `PWD=` of a connection.
    Folder,
    /// The value is secret if it is a number of 4 to 8 digits.
    Code,
    /// The value is `user:secret`, or random.
    Pair,
    /// The value is secret unless it is a small number: `--pass 2`, `--token 100`.
    Short,
    /// The value is secret.
    Strong,
}

/// Longer names are text, not names.
const MAX_NAME: usize = 128;

/// The weight of an option, a variable, a key of JSON or YAML, a parameter.
pub(super) fn weigh(name: &str) -> Weight {
    let bare = name.trim_start_matches('-');
    if bare.len() > MAX_NAME || bare.is_empty() {
        return Weight::Never;
    }
    let words = words(bare);
    let shouted = !bare.contains(|letter: char| letter.is_ascii_lowercase());
    let Some(first) = words.first() else { return Weight::Never };
    if words.len() > 1 && SWITCHES.contains(&first.as_str()) {
        return Weight::Never;
    }
    // `fs.azure.account.key.NAME.dfs.core.windows.net` names the account last.
    if words.windows(2).any(|pair| pair == ["account", "key"]) && words.len() > 3 {
        return Weight::Strong;
    }
    let mut significant = words.as_slice();
    while let [rest @ .., last] = significant
        && !rest.is_empty()
        && is_qualifier(last)
    {
        significant = rest;
    }
    let weight = weigh_words(significant, bare);
    if weight == Weight::Never && shouted { weigh_shouted(&words) } else { weight }
}

fn is_qualifier(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    QUALIFIERS.contains(&word) || !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The last word decides: `--password-file` and `--token-limit` hold no secret, `--db-password` does.
fn weigh_words(words: &[String], name: &str) -> Weight {
    let Some((last, before)) = words.split_last() else { return Weight::Never };
    let previous = before.last().map(String::as_str).unwrap_or_default();
    let known = |list: &[&str]| list.contains(&previous);
    match last.as_str() {
        "token" if before.iter().any(|word| matches!(word.as_str(), "max" | "min" | "num" | "per")) => {
            Weight::Never
        }
        "token" if known(TEXT_TOKENS) => Weight::Never,
        "token" => Weight::Short,
        "key" if known(SECRET_KEYS) => Weight::Strong,
        "key" if known(NOT_KEYS) => Weight::Never,
        "key" => Weight::Weak,
        "pass" if known(SECRET_PASS) => Weight::Strong,
        "pass" if before.is_empty() => Weight::Short,
        "pass" => Weight::Guess,
        // npm's `_auth` is a base64 of user and password.
        "auth" if name.starts_with('_') => Weight::Strong,
        "auth" if before.is_empty() || known(SECRET_AUTH) => Weight::Pair,
        "auth" => Weight::Weak,
        // Charts name the object that holds the secret.
        "secret" if matches!(previous, "existing" | "pull" | "image" | "tls") => Weight::Never,
        "pwd" if name == "PWD" => Weight::Folder,
        "oldpwd" => Weight::Never,
        "code" if !before.is_empty() => Weight::Never,
        "hash" | "salt" if !matches!(previous, "password" | "passwd" | "secret") => Weight::Never,
        word => match LAST_WORD.iter().find(|(known, _)| *known == word) {
            Some((_, weight)) => *weight,
            None if ENDINGS.iter().any(|ending| word.ends_with(ending)) => Weight::Strong,
            None => Weight::Never,
        },
    }
}

/// Variables put the decisive word anywhere: `DB_PASSWORD_MYAPP`, `API_KEY_OPENAI`.
fn weigh_shouted(words: &[String]) -> Weight {
    let about = |word: &String| ABOUT.contains(&word.as_str()) || word.ends_with('s');
    if words.last().is_none_or(about) {
        return Weight::Never;
    }
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let key =
        words.windows(2).any(|pair| pair[1] == "key" && matches!(&*pair[0], "api" | "secret" | "private"));
    match () {
        () if has("password") || has("passwd") || has("passphrase") || key => Weight::Strong,
        () if has("token") || has("secret") => Weight::Weak,
        () => Weight::Never,
    }
}

/// `X-Auth-Key`, `PRIVATE-TOKEN`: headers other than those whose value has a scheme.
pub(super) fn is_header(name: &str) -> bool {
    name.contains('-') && !name.starts_with('-') && {
        let words = words(name);
        let (last, before) =
            words.split_last().map_or(("", &words[..]), |(last, before)| (last.as_str(), before));
        let previous = before.last().map(String::as_str).unwrap_or_default();
        match last {
            "key" => !NOT_KEYS.contains(&previous) || previous == "user",
            "token" => !TEXT_TOKENS.contains(&previous),
            "secret" | "password" | "apikey" | "signature" | "auth" | "jwt" | "credential" => true,
            _ => false,
        }
    }
}

/// Lower-case words of a name in snake, kebab, dotted or camel case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_was_lower = false;
    for letter in name.chars() {
        let separator = matches!(letter, '-' | '_' | '.' | '/' | ':');
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
    words.retain(|word| !word.is_empty());
    words
}
