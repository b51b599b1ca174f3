//! Secrets out of command lines and environment-like text, before they are stored.
//!
//! A rule of thumb with two sides: what names itself a secret (`--password`, `*_TOKEN=`,
//! `Authorization:`), what sits where secrets sit (the password of a URL), and what has the shape of a known
//! key is replaced by `[redacted]`; everything else stays, because a record whose command cannot be read
//! helps nobody. It cannot find a secret that looks like an ordinary word in an ordinary place.

mod names;
mod shapes;
mod tools;
mod url;

use names::{is_secret_header, is_secret_option, is_secret_variable};

pub const REDACTED: &str = "[redacted]";

/// The arguments of a command, program first.
pub fn argv<S: AsRef<str>>(arguments: &[S]) -> Vec<String> {
    let mut rules = tools::ToolRules::default();
    let mut value_is_secret = false;
    let mut out = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let argument = argument.as_ref();
        let was_secret = std::mem::take(&mut value_is_secret);
        if was_secret && !looks_like_option(argument) {
            out.push(REDACTED.to_owned());
            continue;
        }
        if let Some(redacted) = rules.apply(argument) {
            out.push(redacted);
            continue;
        }
        value_is_secret = rules.next_is_secret() || is_secret_option(argument);
        out.push(if argument.contains(char::is_whitespace) { script(argument) } else { word(argument) });
    }
    out
}

/// One variable of an environment: the value, or `[redacted]`.
pub fn variable(name: &str, value: &str) -> String {
    if is_secret_variable(name) { REDACTED.to_owned() } else { text(value) }
}

/// Any text: headers, URLs, keys, assignments and options inside it.
pub fn text(text: &str) -> String {
    if text.contains(char::is_whitespace) { script(text) } else { word(text) }
}

/// A text of several words, such as the argument of `sh -c` or of `curl -H`.
fn script(text: &str) -> String {
    let text = shapes::redact_private_keys(text);
    let mut pieces = Vec::new();
    let mut rest = text.as_ref();
    while let Some(begin) = rest.find(|letter: char| !letter.is_whitespace()) {
        let (gap, after) = rest.split_at(begin);
        let (found, after) = after.split_at(word_end(after));
        pieces.push((gap, found));
        rest = after;
    }
    let words = redact_words(&pieces.iter().map(|(_, word)| *word).collect::<Vec<_>>());
    let mut out = String::with_capacity(text.len());
    for ((gap, _), word) in pieces.iter().zip(words) {
        out.push_str(gap);
        out.push_str(&word);
    }
    out.push_str(rest);
    out
}

/// Words of a script: as `argv`, and a header or `Bearer` takes the words that follow it.
fn redact_words(words: &[&str]) -> Vec<String> {
    let mut out = Vec::with_capacity(words.len());
    let mut index = 0;
    while index < words.len() {
        let current = words[index];
        let bare = current.trim_start_matches(['"', '\'']);
        if let Some(name) = bare.strip_suffix(':')
            && is_secret_header(name)
        {
            // The value runs to the closing quote, or to the end.
            out.push(current.to_owned());
            let values = &words[index + 1..];
            let last = values.iter().position(|word| word.ends_with(['"', '\''])).unwrap_or(values.len());
            for (position, value) in values.iter().enumerate().take(last + 1) {
                let lead = if position == 0 { REDACTED } else { "" };
                out.push(format!("{lead}{}", closing(value, position == last)));
            }
            index += last + 2;
            continue;
        }
        if matches!(bare.to_ascii_lowercase().as_str(), "bearer" | "basic") && words.len() > index + 1 {
            let token = words[index + 1].trim_end_matches(['"', '\'']);
            if token.len() >= 8 {
                out.push(current.to_owned());
                out.push(words[index + 1].replacen(token, REDACTED, 1));
                index += 2;
                continue;
            }
        }
        index += 1;
        out.push(current.to_owned());
    }
    argv_of_plain_words(&out)
}

fn argv_of_plain_words(words: &[String]) -> Vec<String> {
    let mut rules = tools::ToolRules::default();
    let mut value_is_secret = false;
    (words.iter())
        .map(|current| {
            let was_secret = std::mem::take(&mut value_is_secret);
            if was_secret && !looks_like_option(current) && !current.is_empty() {
                return REDACTED.to_owned();
            }
            if let Some(redacted) = rules.apply(current) {
                return redacted;
            }
            value_is_secret = rules.next_is_secret() || is_secret_option(current);
            word(current)
        })
        .collect()
}

/// The end of the word at the start of `text`; white space inside quotes does not end it unless the quote
/// opened at its very start (then its content is words of its own, as in `'a b'`).
fn word_end(text: &str) -> usize {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter.is_whitespace() => return at,
            None if at > 0 && matches!(letter, '"' | '\'') && text[..at].ends_with('=') => {
                quote = Some(letter);
            }
            None => {}
        }
    }
    text.len()
}

/// One word: `--name=value`, `NAME=value`, `Header:value`, then URLs and key shapes inside it.
fn word(word: &str) -> String {
    let trimmed = word.trim_start_matches(['"', '\'', '(', '{', '$', '`']);
    if let Some((name, value)) = trimmed.split_once('=')
        && !name.contains("://")
        && (is_secret_option(name) || is_secret_variable(name))
        && !value.is_empty()
        && !value.starts_with('$')
    {
        let lead = &word[..word.len() - value.len()];
        return format!("{lead}{REDACTED}{}", closing(value, trimmed.len() < word.len()));
    }
    if let Some((name, value)) = trimmed.split_once(':')
        && is_secret_header(name)
        && !value.is_empty()
        && !value.starts_with("//")
    {
        return format!("{}{REDACTED}", &word[..word.len() - value.len()]);
    }
    shapes::redact(&url::redact(word))
}

/// The closing quote of a value that was quoted from outside is not part of the secret.
fn closing(value: &str, quoted: bool) -> &str {
    match value.char_indices().last() {
        Some((at, '"' | '\'')) if quoted => &value[at..],
        _ => "",
    }
}

/// `-x` and `--word`, but not `-` or a password that happens to begin with a dash and a symbol.
fn looks_like_option(argument: &str) -> bool {
    let name = argument.trim_start_matches('-');
    argument.starts_with("--") && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        || argument.len() == 2
            && argument.starts_with('-')
            && name.starts_with(|l: char| l.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
