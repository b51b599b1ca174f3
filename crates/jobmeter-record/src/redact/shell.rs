//! A script into words and operators, as far as the rules about tools need it.

use super::REDACTED;
use super::names::Weight;
use super::tools::{SECRET_READERS, SECRET_READING_OPTIONS};
use super::values::{Place, secret_part};
use std::collections::HashSet;

/// A piece of a script; the pieces in a row are the script again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Blank(&'a str),
    /// Ends a command: `;`, `|`, `&&`, a parenthesis, a new line.
    Operator(&'a str),
    /// A word with its quotes.
    Word(&'a str),
}

pub(super) fn pieces(script: &str) -> Vec<Piece<'_>> {
    let bytes = script.as_bytes();
    let mut found = Vec::new();
    // A quote that is never closed is an apostrophe; the search for its end is not repeated.
    let mut open_ended = [false; 2];
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        let is_operator = |byte: u8| b";|&()\n`".contains(&byte);
        if is_operator(bytes[at]) {
            at += 1;
            found.push(Piece::Operator(&script[begin..at]));
        } else if bytes[at].is_ascii_whitespace() {
            while at < bytes.len() && bytes[at].is_ascii_whitespace() && bytes[at] != b'\n' {
                at += 1;
            }
            found.push(Piece::Blank(&script[begin..at]));
        } else {
            while at < bytes.len() && !bytes[at].is_ascii_whitespace() && !is_operator(bytes[at]) {
                at = match bytes[at] {
                    b'\\' => at + 2,
                    quote @ (b'"' | b'\'') => {
                        let kind = usize::from(quote == b'"');
                        let end = if open_ended[kind] { None } else { closing(bytes, at) };
                        open_ended[kind] |= end.is_none();
                        end.map_or(at, |end| end) + 1
                    }
                    _ => at + 1,
                };
            }
            at = at.min(bytes.len());
            while !script.is_char_boundary(at) {
                at += 1;
            }
            found.push(Piece::Word(&script[begin..at]));
        }
    }
    found
}

fn closing(bytes: &[u8], open: usize) -> Option<usize> {
    let quote = bytes[open];
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(open + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quote == b'"' => escaped = true,
            byte if *byte == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// A word that is one quoted piece: the quote and what is inside.
pub(super) fn unquoted(word: &str) -> Option<(&str, &str)> {
    let quote = word.get(..1).filter(|quote| matches!(*quote, "\"" | "'"))?;
    let inside = word[1..].strip_suffix(quote)?;
    (!inside.contains(quote)).then_some((quote, inside))
}

/// The words that `echo` or `printf` sends to a command that reads a secret from its standard input.
pub(super) fn piped_secrets(pieces: &[Piece<'_>]) -> HashSet<usize> {
    let mut found = HashSet::new();
    // The words of the command before the last pipe, if it is an `echo`, and those of the current command.
    let (mut sent, mut words): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let text = |index: usize| match pieces[index] {
        Piece::Word(word) => unquoted(word).map_or(word, |(_, inside)| inside),
        _ => "",
    };
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Blank(_) => {}
            Piece::Word(_) => words.push(index),
            Piece::Operator(operator) => {
                let current = std::mem::take(&mut words);
                if !sent.is_empty() && reads_secret(current.iter().map(|index| text(*index))) {
                    found.extend(sent.drain(..));
                }
                let is_echo = current.first().is_some_and(|first| matches!(text(*first), "echo" | "printf"));
                sent = if *operator == "|" && is_echo { current[1..].to_vec() } else { Vec::new() };
            }
        }
    }
    if !sent.is_empty() && reads_secret(words.iter().map(|index| text(*index))) {
        found.extend(sent);
    }
    found
}

fn reads_secret<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut tools = [false; SECRET_READING_OPTIONS.len()];
    for word in words {
        let base = word.rsplit('/').next().unwrap_or(word);
        if SECRET_READERS.contains(&base) {
            return true;
        }
        for ((tool, option), seen) in SECRET_READING_OPTIONS.iter().zip(&mut tools) {
            *seen |= base == *tool;
            if *seen && word == *option {
                return true;
            }
        }
    }
    false
}

/// A word that is sent to such a command; the user of `user:secret` stays, and so do options and formats.
pub(super) fn redact_piped(word: &str) -> String {
    let (quote, inside) = unquoted(word).unwrap_or(("", word));
    if inside.starts_with(['-', '%']) {
        return word.to_owned();
    }
    let from = inside.split_once(':').map_or(0, |(user, _)| user.len() + 1);
    match secret_part(&inside[from..], Weight::Strong, Place::Code) {
        Some(_) => format!("{quote}{}{REDACTED}{quote}", &inside[..from]),
        None => word.to_owned(),
    }
}
