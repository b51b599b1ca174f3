//! Names and values inside a text: assignments, JSON, YAML, keywords of Python, connection strings, forms, headers,
//! long options with their value, SQL, XML. One pass from left to right; what is read ahead is bounded or consumed.

use super::REDACTED;
use super::names::{Weight, is_header, weigh};
use super::rules::{HEADERS, SCHEMES};
use super::values::{Place, looks_random, secret_part};

/// What kind of text it is; it says where a value without quotes ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// One argument. A value at its beginning runs to the end, also over spaces, unless another name follows.
    Argument,
    /// A script, or words in a row: white space and the operators of the shell end a value.
    Script,
}

/// Names and what is looked for behind a separator are not longer than this.
pub(super) const NEAR: usize = 128;

pub(super) fn redact(text: &str, mode: Mode) -> String {
    let mut scanner =
        Scanner { text, bytes: text.as_bytes(), mode, quote: None, outer: None, is_script: false, depth: 0 };
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied) = (0, 0);
    while at < text.len() {
        let end = scanner.name_end(at);
        if end == at {
            scanner.step(at);
            at += 1;
            continue;
        }
        match scanner.value_of(at, end) {
            Some((from, to)) => {
                out.push_str(&text[copied..from]);
                out.push_str(REDACTED);
                (at, copied) = (to, to);
            }
            None => at = end,
        }
    }
    out.push_str(&text[copied..]);
    out
}

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) mode: Mode,
    /// The quote that is open here, and the one around it.
    pub(super) quote: Option<u8>,
    pub(super) outer: Option<u8>,
    /// Whether what is in quotes is a script again: `sh -c '…'`.
    pub(super) is_script: bool,
    /// Whether a brace or bracket has been opened: the text has a structure.
    pub(super) depth: usize,
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

impl Scanner<'_> {
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    pub(super) fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(0, |at| self.bytes[at])
    }

    fn name_end(&self, at: usize) -> usize {
        at + self.bytes[at..].iter().take_while(|byte| is_name(**byte)).count()
    }

    /// Keeps track of quotes and braces outside of names.
    fn step(&mut self, at: usize) {
        let byte = self.bytes[at];
        match byte {
            b'"' | b'\'' if self.before(at) == b'\\' => {}
            b'"' | b'\'' if self.quote == Some(byte) => self.quote = self.outer.take(),
            b'"' | b'\'' if self.outer == Some(byte) => (self.quote, self.outer) = (None, None),
            b'"' | b'\'' if self.outer.is_none() => {
                let before = self.before(at);
                if before == 0 || before.is_ascii_whitespace() || b"=([{,:;|&$".contains(&before) {
                    let script = self.quote.is_none() && super::announces_script(self.word_before(at));
                    self.is_script = script || self.quote.is_some() && self.is_script;
                    (self.quote, self.outer) = (Some(byte), self.quote);
                }
            }
            b'{' | b'(' | b'[' => self.depth += 1,
            b'}' | b')' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    pub(super) fn skip_blanks(&self, at: usize) -> usize {
        at + self.bytes[at.min(self.bytes.len())..]
            .iter()
            .take(8)
            .take_while(|byte| b" \t".contains(byte))
            .count()
    }

    /// The secret part of the value of the name at `from..to`, if it has one.
    fn value_of(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let name = &self.text[from..to];
        if name.len() > NEAR {
            return None;
        }
        let closed = to + self.bytes[to..].iter().take(3).take_while(|byte| b"\"'\\]".contains(byte)).count();
        let after = self.skip_blanks(closed);
        // The quote around the name is closed; what is open is the one around both.
        if self.quote.is_some_and(|quote| self.bytes[to..closed].contains(&quote)) {
            let outside = Scanner { quote: self.outer, outer: None, ..*self };
            return outside.separated(from, to, closed, after);
        }
        self.separated(from, to, closed, after)
    }

    /// The value behind the separator at `after`.
    fn separated(&self, from: usize, to: usize, closed: usize, after: usize) -> Option<(usize, usize)> {
        let name = &self.text[from..to];
        let is_option = name.starts_with('-');
        match (self.byte(after), self.byte(after + 1)) {
            (b'=', b'>' | b'=') | (b':', b'=') => self.assigned(from, to, self.skip_blanks(after + 2), true),
            (b'=', b'~') => None,
            (b'=', _) => {
                let value = self.skip_blanks(after + 1);
                // `PASSWORD= command` of a shell assigns nothing; `password = x` and `password= "x"` do.
                let spaced = value == after + 1 || after > closed || b"\"'".contains(&self.byte(value));
                if spaced { self.assigned(from, to, value, closed > to) } else { None }
            }
            (b':', _) => self.after_colon(from, to, closed, after),
            (b',', _) if is_option && closed > to => {
                self.assigned(from, to, self.skip_blanks(after + 1), true)
            }
            (b'>', _) if self.before(from) == b'<' => {
                let end = self.text[after..].find('<').map(|end| after + end)?;
                self.checked(after + 1, end, weigh(name))
            }
            (b'%', b'3') if self.text[after..].starts_with("%3D") => {
                let value = after + 3;
                let end = self.bytes[value..].iter().position(|byte| !is_name(*byte) && *byte != b'+')?;
                self.checked(value, value + end, weigh(name))
            }
            (b'(', b'"' | b'\'') if name == "HTTPBasicAuth" || name == "BasicAuth" => {
                self.second_of_pair(from, after)
            }
            // SQL's `PASSWORD('x')`.
            (b'(', b'"' | b'\'') if name.eq_ignore_ascii_case("password") => {
                self.assigned(from, to, after + 1, true)
            }
            _ if after > closed && closed == to => self.after_blank(from, to, after),
            _ => None,
        }
    }

    /// `name=value` and its relatives; the value begins at `at`.
    fn assigned(&self, from: usize, to: usize, at: usize, structured: bool) -> Option<(usize, usize)> {
        let name = &self.text[from..to];
        let lower = name.trim_start_matches('-').to_ascii_lowercase();
        if HEADERS.contains(&lower.as_str()) {
            return self.header(at);
        }
        if name == "--secret" {
            return None;
        }
        let mut weight = weigh(name);
        // Signed URLs: `?sig=`.
        if weight == Weight::Weak && b"?&".contains(&self.before(from)) && lower.contains("sig") {
            weight = Weight::Strong;
        }
        // `auth=("user", "secret")`.
        if weight == Weight::Pair && self.byte(at) == b'(' {
            return self.second_of_pair(from, at);
        }
        if weight == Weight::Never {
            return None;
        }
        let (begin, end) = self.value(from, at, structured);
        self.checked(begin, end, weight)
    }

    fn after_colon(&self, from: usize, to: usize, closed: usize, colon: usize) -> Option<(usize, usize)> {
        let name = &self.text[from..to];
        let at = self.skip_blanks(colon + 1);
        // `${NAME:-default}`, a URL, a C++ scope, a word of its own.
        if colon > to && closed == to || self.before(from) == b'{' && from > 1 && self.bytes[from - 2] == b'$'
        {
            return None;
        }
        if self.text[colon + 1..].starts_with("//") || b":=".contains(&self.byte(colon + 1)) {
            return None;
        }
        if HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return self.header(at);
        }
        // `my-token:latest` is an image.
        let header = is_header(name)
            && (at > colon + 1
                || name.starts_with(|letter: char| letter.is_ascii_uppercase())
                || name.starts_with("x-")
                || matches!(name, "api-key" | "private-token"));
        let weight = match weigh(name) {
            Weight::Never | Weight::Weak if header => Weight::Strong,
            // "pass: all of them" is prose.
            Weight::Short | Weight::Code if name.eq_ignore_ascii_case("pass") => Weight::Weak,
            weight => weight,
        };
        if weight == Weight::Never {
            return None;
        }
        let (begin, end) = if header && closed == to && self.quote.is_some() {
            (at, self.quote_end(at))
        } else {
            self.value(from, at, self.depth > 0)
        };
        // Without a space, quotes or braces `a:b` is mostly a tag, a mount or a line number.
        let plain =
            at == colon + 1 && closed == to && self.depth == 0 && !header && !b"\"'".contains(&self.byte(at));
        if closed == to && self.depth == 0 && self.is_prose(name, at) {
            return None;
        }
        let switch = self.before(from) == b'/' && from == 1;
        if plain && !switch && !looks_random(self.text.get(begin..end)?) {
            return None;
        }
        self.checked(begin, end, weight)
    }

    /// "secret: rotate it", "password: reset the form": a topic and what is said about it.
    fn is_prose(&self, name: &str, at: usize) -> bool {
        let word = self.word(at).trim_end_matches(['"', '\'']);
        let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
        let next = self.skip_blanks(at + word.len());
        let goes_on = next > at + word.len() && self.byte(next).is_ascii_alphanumeric();
        plain && (goes_on || matches!(name, "token" | "secret" | "key" | "credentials"))
    }

    /// `--password value`, `Bearer value`, SQL's `PASSWORD 'value'`, netrc's `login x password y`.
    fn after_blank(&self, from: usize, to: usize, at: usize) -> Option<(usize, usize)> {
        let name = &self.text[from..to];
        if name.starts_with('-') && is_option_name(name) {
            // Of some tools it is the name of a secret: `command` knows which.
            if name == "--secret" {
                return None;
            }
            if self.mode == Mode::Argument && from > 0 || looks_like_option(self.word(at)) {
                return None;
            }
            let weight = weigh(name);
            if weight == Weight::Never {
                return None;
            }
            let (begin, end) = self.value(from, at, false);
            return self.checked(begin, end, weight);
        }
        let quoted = b"\"'".contains(&self.byte(at)) && self.quote != Some(self.byte(at));
        let previous = self.word_before(from);
        let is = |words: &[&str], word: &str| words.iter().any(|known| word.eq_ignore_ascii_case(known));
        let sql = is(&["password"], name)
            && (name == "PASSWORD"
                || is(&["with", "encrypted", "login", "superuser", "user", "role"], previous))
            || is(&["by"], name) && (is(&["identified"], previous) || name == "BY");
        if sql && quoted {
            let (begin, end) = self.value(from, at, true);
            return self.checked(begin, end, Weight::Strong);
        }
        if is(&["bearer", "basic"], name) {
            let word = self.word(at).trim_end_matches(['"', '\'', ',', ';', '\\', ')']);
            let unpadded = word.trim_end_matches('=');
            if unpadded.starts_with('-')
                || !unpadded.bytes().all(|byte| is_name(byte) || b"+/~".contains(&byte))
            {
                return None;
            }
            let mixed = word.bytes().any(|byte| byte.is_ascii_digit())
                || word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
            let long = word.len() >= 8 && mixed || word.len() >= 24;
            return if long { self.checked(at, at + word.len(), Weight::Strong) } else { None };
        }
        if is(&["password"], name) && self.has_login(from) {
            let (begin, end) = self.value(from, at, false);
            return self.checked(begin, end, Weight::Strong);
        }
        None
    }

    /// netrc: `login NAME password SECRET`.
    fn has_login(&self, from: usize) -> bool {
        let window = &self.bytes[from.saturating_sub(NEAR)..from];
        let mut words = window.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.nth(1).is_some_and(|word| word == b"login")
    }

    pub(super) fn word_before(&self, at: usize) -> &str {
        let end = self.bytes[..at].iter().rev().take(8).take_while(|byte| byte.is_ascii_whitespace()).count();
        let end = at - end;
        let len = self.bytes[..end].iter().rev().take(24).take_while(|byte| is_name(**byte)).count();
        &self.text[end - len..end]
    }

    fn word(&self, at: usize) -> &str {
        let len = self.bytes[at..].iter().take(512).take_while(|byte| !byte.is_ascii_whitespace()).count();
        self.text.get(at..at + len).unwrap_or_default()
    }

    /// The value of a header with a scheme: the scheme stays.
    fn header(&self, at: usize) -> Option<(usize, usize)> {
        let (at, quote) = match self.byte(at) {
            byte @ (b'"' | b'\'') if self.quote != Some(byte) => (at + 1, Some(byte)),
            _ => (at, self.quote),
        };
        let word = self.word(at);
        let mut begin = at;
        if SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme)) {
            let next = self.skip_blanks(at + word.len());
            if next < self.text.len() {
                begin = next;
            }
        }
        let inner = Scanner { quote, ..*self };
        let end = match quote {
            Some(_) => inner.quote_end(begin),
            None if self.mode == Mode::Argument => {
                self.text[begin..].find(['\n', '\r']).map_or(self.text.len(), |end| begin + end)
            }
            None => {
                begin
                    + self.text[begin..]
                        .find(|letter: char| letter.is_whitespace() || "|)`".contains(letter))
                        .unwrap_or(self.text.len() - begin)
            }
        };
        self.checked(begin, end, Weight::Strong)
    }

    /// The secret of `("user", "secret")`.
    fn second_of_pair(&self, from: usize, open: usize) -> Option<(usize, usize)> {
        let comma = self.bytes[open..].iter().take(NEAR).position(|byte| *byte == b',')?;
        let at = self.skip_blanks(open + comma + 1);
        let (begin, end) = self.value(from, at, true);
        if b"\"'".contains(&self.before(begin)) { self.checked(begin, end, Weight::Strong) } else { None }
    }

    fn checked(&self, begin: usize, end: usize, weight: Weight) -> Option<(usize, usize)> {
        let place = if self.mode == Mode::Script || self.quote.is_some() || self.depth > 0 {
            Place::Code
        } else {
            Place::Argument
        };
        let part = secret_part(self.text.get(begin..end)?, weight, place)?;
        Some((begin + part.start, begin + part.end))
    }
}

/// Whether a word that begins with a dash is long enough to be a name: `--pw`, `-storepass`, `-pwd`.
pub(super) fn is_option_name(argument: &str) -> bool {
    let name = argument.trim_start_matches('-');
    let long = argument.starts_with("--") && name.len() >= 2 || name.len() >= 4 || argument == "-pwd";
    long && name.bytes().all(is_name)
}

/// `-x` and `--word-word`, but not `-` or a password that begins with dashes and holds digits, capitals or symbols.
pub(super) fn looks_like_option(argument: &str) -> bool {
    let name = argument.trim_start_matches('-');
    let plain = |name: &str| {
        name.starts_with(|letter: char| letter.is_ascii_lowercase())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte))
    };
    match argument.len() - name.len() {
        1 => name.len() == 1 && name.starts_with(|letter: char| letter.is_ascii_alphabetic()),
        2 => plain(name.split('=').next().unwrap_or(name)),
        _ => false,
    }
}
