//! Where a value begins and ends.

use super::REDACTED;
use super::scan::{Mode, NEAR, Scanner, is_name};

impl Scanner<'_> {
    /// Where the open quote closes, or the end of the line or text.
    pub(super) fn quote_end(&self, at: usize) -> usize {
        let mut escaped = false;
        for (index, byte) in self.bytes.iter().enumerate().skip(at) {
            match byte {
                b'\\' if !escaped && self.quote == Some(b'"') => {
                    if b"\"rn".contains(&self.byte(index + 1)) {
                        return index;
                    }
                    escaped = true;
                }
                b'\n' | b'\r' => return index,
                byte if !escaped && [self.quote, self.outer].contains(&Some(*byte)) => return index,
                _ => escaped = false,
            }
        }
        self.text.len()
    }

    /// The extent of the value at `at`, without its quotes.
    pub(super) fn value(&self, from: usize, at: usize, structured: bool) -> (usize, usize) {
        if self.text[at..].starts_with(REDACTED) {
            return (at, at + REDACTED.len());
        }
        if let Some(block) = self.block(at) {
            return block;
        }
        let mut at = at;
        let opens = |at: usize| b"\"'".contains(&self.byte(at)) && self.quote != Some(self.byte(at));
        // `b'…'`, `$'…'`, `["…"]`.
        if b"bruf$[({".contains(&self.byte(at)) && opens(at + 1) {
            at += 1;
        }
        let slashes = self.bytes[at..].iter().take(4).take_while(|byte| **byte == b'\\').count();
        let quote = self.byte(at + slashes);
        if b"\"'".contains(&quote) && (slashes > 0 || opens(at)) {
            return self.quoted(at + slashes, slashes, quote);
        }
        (at, self.bare_end(from, at, structured))
    }

    /// A quoted value, and the pieces that a shell would glue to it: `'it'"'"'s'`.
    fn quoted(&self, open: usize, slashes: usize, quote: u8) -> (usize, usize) {
        let begin = open + 1;
        let mut at = begin;
        let mut quote = quote;
        loop {
            let mut run = 0;
            while at < self.bytes.len() {
                match self.bytes[at] {
                    b'\\' => run += 1,
                    byte if byte == quote && (run == slashes || quote == b'\'' && slashes == 0) => break,
                    _ => run = 0,
                }
                at += 1;
            }
            if at >= self.bytes.len() || slashes > 0 {
                return (
                    begin,
                    at.min(self.bytes.len())
                        .saturating_sub(if at < self.bytes.len() { slashes } else { 0 })
                        .max(begin),
                );
            }
            // Glued: another quote, or an escaped one and then a quote.
            let mut next = at + 1;
            if self.byte(next) == b'\\' && b"'\"".contains(&self.byte(next + 1)) {
                next += 2;
            }
            match self.byte(next) {
                byte @ (b'"' | b'\'') if Some(byte) != self.quote => {
                    quote = byte;
                    at = next + 1;
                }
                _ => return (begin, at),
            }
        }
    }

    /// The end of a value without quotes.
    fn bare_end(&self, from: usize, at: usize, structured: bool) -> usize {
        let lead = self.before(from);
        let in_list = b",;&?".contains(&lead);
        let whole = self.is_quoted_assignment(from);
        let inside = structured && self.depth > 0 || b"{([".contains(&lead);
        for index in at..self.bytes.len() {
            let byte = self.bytes[index];
            let ends = match byte {
                b'\n' | b'\r' => true,
                _ if [self.quote, self.outer].contains(&Some(byte)) => true,
                b' ' | b'\t' if whole => self.pair_follows(index),
                b' ' | b'\t' => {
                    self.mode == Mode::Script
                        || self.depth > 0
                        || lead.is_ascii_whitespace()
                        || self.pair_follows(index)
                }
                b';' | b'|' | b'<' | b'>' | b'`' if self.mode == Mode::Script && self.reads_as_script() => {
                    true
                }
                b'&' if self.mode == Mode::Script && self.reads_as_script() || b"?&".contains(&lead) => true,
                b'\\' => self.quote.is_some() && self.byte(index + 1) == b'"',
                b'#' => b"?&".contains(&lead),
                b',' | b';' | b'&' => {
                    in_list && byte == lead || inside || self.pair_follows(index) || self.blank_follows(index)
                }
                b'}' | b')' | b']' | b'"' | b'\'' => {
                    self.depth > 0 || inside || self.mode == Mode::Script && byte == b')'
                }
                _ => false,
            };
            if ends {
                return index;
            }
        }
        self.bytes.len()
    }

    /// `"PASSWORD=two words"`: the quote opens before the name, and what is inside is no script.
    fn is_quoted_assignment(&self, from: usize) -> bool {
        self.mode == Mode::Script
            && from > 0
            && self.quote == Some(self.bytes[from - 1])
            && !super::announces_script(self.word_before(from - 1))
            && {
                let end = self.quote_end(from).min(from + 2 * NEAR);
                self.text.get(from..end).is_some_and(|inside| !super::looks_like_script(inside))
            }
    }

    /// Whether the operators of a shell end a word here.
    fn reads_as_script(&self) -> bool {
        self.quote.is_none() || self.is_script && self.outer.is_none()
    }

    /// YAML's block: `password: |` and the indented lines below.
    fn block(&self, at: usize) -> Option<(usize, usize)> {
        let head = self.bytes[at..].iter().take(4).take_while(|byte| b"|>+-".contains(byte)).count();
        if head == 0 || !b"|>".contains(&self.byte(at)) || self.byte(at + head) != b'\n' {
            return None;
        }
        let line = at + head + 1;
        let begin = self.skip_blanks(line);
        let ends = |end: usize| match self.bytes[end] {
            b'\n' => !b" \t".contains(&self.byte(end + 1)),
            byte => Some(byte) == self.quote,
        };
        (begin > line)
            .then(|| (begin, (begin..self.bytes.len()).find(|end| ends(*end)).unwrap_or(self.bytes.len())))
    }

    fn blank_follows(&self, at: usize) -> bool {
        self.mode == Mode::Script && matches!(self.byte(at + 1), 0 | b' ' | b'\t' | b'\n')
    }

    /// Whether another `name=` follows the separator at `at`.
    fn pair_follows(&self, at: usize) -> bool {
        let begin = self.skip_blanks(at + 1);
        let rest = &self.bytes[begin.min(self.bytes.len())..];
        let name = rest.iter().take(NEAR).take_while(|byte| is_name(**byte) || **byte == b' ').count();
        name > 0 && rest.get(name) == Some(&b'=') && !rest[..name].ends_with(b" ")
    }
}
