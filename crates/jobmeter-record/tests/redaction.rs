//! Redaction on two corpora of whole command lines: secrets in context, of which none may stay, and ordinary lines,
//! of which nearly none may change. Each line is tried as arguments and as the script of `sh -c`.

#![allow(clippy::print_stdout)] // The counts are a product of this test.

use jobmeter_record::redact;
use std::time::{Duration, Instant};

const SECRETS: &str = include_str!("../../../fixtures/redaction/secrets.txt");
const ORDINARY: &str = include_str!("../../../fixtures/redaction/ordinary.txt");

/// The entries of a corpus: one per line; a line inside open quotes goes on in the next one.
fn entries(corpus: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in corpus.lines() {
        if open {
            let last = found.last_mut().expect("an entry is open");
            last.push('\n');
            last.push_str(line);
        } else if line.is_empty() || line.starts_with("# ") {
            continue;
        } else {
            found.push(line.to_owned());
        }
        open = quote_at_end(found.last().expect("just pushed")).is_some();
    }
    found
}

/// The quote that is open at the end of a line.
fn quote_at_end(line: &str) -> Option<char> {
    let (mut quote, mut escaped) = (None, false);
    for letter in line.chars() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
    }
    quote
}

/// A command line into its arguments, by the quotes of a shell; nothing is expanded.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut escaped) = (Vec::new(), None::<String>, None, false);
    for letter in line.chars() {
        match (quote, letter) {
            _ if escaped => {
                if quote == Some('"') && !matches!(letter, '"' | '\\' | '$' | '`') {
                    word.get_or_insert_default().push('\\');
                }
                word.get_or_insert_default().push(letter);
                escaped = false;
            }
            (None | Some('"'), '\\') => escaped = true,
            (None, '"' | '\'') => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            (Some(open), _) if open == letter => quote = None,
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The parts between the marks.
fn marked(entry: &str) -> Vec<String> {
    entry
        .split('«')
        .skip(1)
        .filter_map(|part| part.split_once('»'))
        .map(|(secret, _)| secret.to_owned())
        .collect()
}

/// What an exact redaction makes of an entry.
fn expected(entry: &str) -> String {
    let mut parts = entry.split('«');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("[redacted]");
        out.push_str(part.split_once('»').map_or("", |(_, after)| after));
    }
    out
}

fn as_script(line: &str) -> String {
    redact::argv(&["sh", "-c", line]).pop().unwrap_or_default()
}

#[test]
fn no_secret_of_the_corpus_stays() {
    let (mut secrets, mut exact, mut leaks) = (0, 0, Vec::new());
    let entries = entries(SECRETS);
    for entry in &entries {
        let line = entry.replace(['«', '»'], "");
        let shown = redact::argv(&split(&line));
        let script = as_script(&line);
        for secret in marked(entry) {
            secrets += 1;
            if shown.iter().any(|word| word.contains(&secret)) || script.contains(&secret) {
                leaks.push(line.clone());
            }
        }
        exact += usize::from(shown == split(&expected(entry)));
    }
    println!(
        "{secrets} secrets in {} lines: {} leaks, {exact} lines with nothing else replaced",
        entries.len(),
        leaks.len()
    );
    assert!(secrets >= 250, "{secrets} secrets are too few");
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(exact * 100 >= entries.len() * 98, "only {exact} of {} replace the secret alone", entries.len());
}

#[test]
fn ordinary_command_lines_stay_as_they_are() {
    let entries = entries(ORDINARY);
    let changed: Vec<&String> = entries
        .iter()
        .filter(|line| redact::argv(&split(line)) != split(line) || as_script(line) != **line)
        .collect();
    println!("{} ordinary lines: {} changed", entries.len(), changed.len());
    assert!(entries.len() >= 250, "{} lines are too few", entries.len());
    assert!(changed.len() * 50 <= entries.len(), "{changed:#?}");
}

#[test]
fn a_second_pass_changes_nothing() {
    for entry in entries(SECRETS) {
        let once = redact::argv(&split(&entry.replace(['«', '»'], "")));
        assert_eq!(redact::argv(&once), once, "{entry}");
    }
}

/// Long hostile text, in pieces that make a rule look ahead. In proportion to its length 40 kB take well below a second
/// even without optimisation; in proportion to the square of it they would take longer than the bound.
#[test]
fn time_grows_with_the_length_of_the_text() {
    let pieces = [
        "sk-",
        "eyJ",
        "://",
        "a@",
        "://a:b@",
        "password=",
        "'",
        "\"",
        "\\",
        "{\"a\":",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY",
        "token: ",
        "--password ",
        "a=b,",
        "?sig=",
        "Authorization: ",
        "mysql -p",
        "hooks/",
        "$(",
        "x ",
        "key=a;",
        "'a\"b ",
        "password=\"",
        "<password>",
        "jdbc:oracle:",
        "bearer ",
        "\\\"",
        "é",
        "AIza",
        "login a password ",
    ];
    for piece in pieces {
        let text = piece.repeat(40_000 / piece.len());
        let start = Instant::now();
        let shown = redact::argv(&["sh", "-c", &text, &text]);
        let took = start.elapsed();
        assert!(shown.iter().all(|word| word.len() <= 6 * text.len() + 100), "{piece:?} grows");
        assert!(took < Duration::from_secs(10), "{piece:?} took {took:?}");
    }
}
