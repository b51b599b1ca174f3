//! Lines that fit the screen: words wrap, what stands at the right gives way first.

use super::super::style::Style;
use super::super::table::cut;
use super::Row;
use super::headline::{Headline, Mood};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const LABEL_WIDTH: usize = 9;
const VALUE_WIDTH: usize = 12;
/// Where the figures begin: two blanks, the label, two blanks.
const VALUE_AT: usize = 2 + LABEL_WIDTH + 2;
const DETAIL_AT: usize = VALUE_AT + VALUE_WIDTH + 2;
const USUAL_WIDTH: usize = 80;
/// Narrower screens wrap as if they were so wide.
const NARROWEST: usize = 24;
/// Wider ones leave the rest free: what belongs together stays together.
const WIDEST: usize = 120;

/// What the text is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns; `None` where it goes to a file or a pipe: laid out for the usual width, and notes are not wrapped.
    pub width: Option<usize>,
    /// Whether signs beyond ASCII can be shown.
    pub is_utf8: bool,
}

impl Default for Screen {
    fn default() -> Screen {
        Screen { width: None, is_utf8: true }
    }
}

/// Whether the locale of the environment speaks UTF-8.
pub fn speaks_utf8() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let value = names.iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    let value = value.map(|value| value.to_string_lossy().to_ascii_lowercase());
    cfg!(windows) || value.is_some_and(|value| value.contains("utf-8") || value.contains("utf8"))
}

pub(super) struct Page {
    screen: Screen,
    width: usize,
    style: Style,
    out: String,
}

impl Page {
    pub(super) fn new(screen: Screen, style: Style) -> Page {
        let width = screen.width.unwrap_or(USUAL_WIDTH).clamp(NARROWEST, WIDEST);
        Page { screen, width, style, out: String::new() }
    }

    pub(super) fn gap(&mut self) {
        self.out.push('\n');
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// The sentence, and the command at the right as far as there is room.
    pub(super) fn headline(&mut self, headline: &Headline, command: &str) {
        let sign = match (self.screen.is_utf8, headline.mood) {
            (false, _) => "",
            (true, Mood::Good) => "✔ ",
            (true, Mood::Bad) => "✘ ",
            (true, Mood::Open) => "▸ ",
        };
        let code = match headline.mood {
            Mood::Good => "1;32",
            Mood::Bad => "1;31",
            Mood::Open => "1;33",
        };
        let text = format!("{sign}{} {}", headline.name, headline.text);
        let mut lines = wrapped(&text, self.width, sign.width()).into_iter();
        let first = lines.next().unwrap_or_default();
        let room = self.width.saturating_sub(first.width() + 2);
        let is_alone = lines.len() == 0;
        let painted = self.style.paint(code, &first);
        // Less than a word of the command says nothing.
        match is_alone && !command.is_empty() && room >= 12 {
            true => {
                let command = cut(command, room);
                let blanks = self.width - first.width() - command.width();
                self.line(&format!("{painted}{}{command}", " ".repeat(blanks)));
            }
            false => self.line(&painted),
        }
        for line in lines {
            let painted = self.style.paint(code, &line);
            self.line(&painted);
        }
    }

    /// A figure with what belongs to it, and its course at the right where there is room for it.
    pub(super) fn row(&mut self, row: &Row, course: Option<&str>) {
        let width = self.width;
        let mut text = row.value.clone();
        // A value that is too wide for its column pushes the rest along.
        if !row.detail.is_empty() {
            let blanks = (VALUE_WIDTH + 2).saturating_sub(text.width()).max(2);
            text = format!("{text}{}{}", " ".repeat(blanks), row.detail);
        }
        let label = self.style.label(&format!("  {:<LABEL_WIDTH$}  ", row.label));
        if VALUE_AT + text.width() > width {
            let is_detail = !row.detail.is_empty() && DETAIL_AT + 20 <= width;
            let indent = if is_detail { DETAIL_AT } else { VALUE_AT };
            let mut lines = wrapped(&text, width - VALUE_AT, indent - VALUE_AT).into_iter();
            let first = lines.next().unwrap_or_default();
            self.line(&format!("{label}{first}"));
            for line in lines {
                self.line(&format!("{}{line}", " ".repeat(VALUE_AT)));
            }
            return;
        }
        let course = course.filter(|_| self.screen.is_utf8);
        match course.filter(|course| VALUE_AT + text.width() + 2 + course.width() <= width) {
            Some(course) => {
                let blanks = width - VALUE_AT - text.width() - course.width();
                let course = self.style.label(course);
                self.line(&format!("{label}{text}{}{course}", " ".repeat(blanks)));
            }
            None => self.line(&format!("{label}{text}")),
        }
    }

    /// What to do next: labels, texts and commands, the commands below each other. A command stands below its text where
    /// it does not fit beside.
    pub(super) fn hints(&mut self, hints: &[(&str, String, String)]) {
        const COMMAND_AT: usize = 43;
        let ends = hints.iter().map(|(_, text, _)| VALUE_AT + text.width() + 2);
        let at = ends.fold(COMMAND_AT, usize::max);
        let is_room = hints.iter().all(|(_, _, command)| at + command.width() <= self.width);
        for (label, text, command) in hints {
            let at = if is_room { at } else { COMMAND_AT.max(VALUE_AT + text.width() + 2) };
            self.hint(label, text, command, at);
        }
    }

    fn hint(&mut self, label: &str, text: &str, command: &str, at: usize) {
        let shown = self.style.label(&format!("  {label:<LABEL_WIDTH$}  "));
        if at + command.width() <= self.width {
            let blanks = at - VALUE_AT - text.width();
            self.line(&format!("{shown}{text}{}{command}", " ".repeat(blanks)));
            return;
        }
        let mut label = shown;
        for part in [text, command] {
            for line in wrapped(part, self.width - VALUE_AT, 0) {
                self.line(&format!("{label}{line}"));
                label = " ".repeat(VALUE_AT);
            }
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        let width = self.screen.width.map_or(usize::MAX, |_| self.width);
        for line in wrapped(&format!("  ! {text}"), width, 4) {
            let painted = self.style.note(&line);
            self.line(&painted);
        }
    }

    pub(super) fn finish(self) -> String {
        if self.screen.is_utf8 { self.out } else { plain(&self.out) }
    }
}

/// Lines of at most `width` columns, broken between words; the second and later ones begin with `indent` blanks. A word
/// that is longer than a line is broken.
pub(in crate::text) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = indent.min(width / 2);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut columns = 0;
    let mut is_fresh = true;
    for word in text.split_inclusive(' ') {
        let bare = word.trim_end_matches(' ');
        if !is_fresh && columns + bare.width() > width {
            lines.push(line.trim_end().to_owned());
            (line, columns, is_fresh) = (" ".repeat(indent), indent, true);
        }
        for letter in word.chars() {
            let wide = letter.width().unwrap_or(0);
            if letter != ' ' && columns + wide > width {
                lines.push(line);
                (line, columns) = (" ".repeat(indent), indent);
            }
            line.push(letter);
            columns += wide;
        }
        is_fresh &= bare.is_empty();
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// In the signs that every terminal has.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            'µ' => out.push('u'),
            '°' => {}
            '…' => out.push('~'),
            '–' => out.push('-'),
            letter if letter.is_ascii() => out.push(letter),
            _ => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_none_is_too_wide() {
        assert_eq!(wrapped("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrapped("one", 8, 2), ["one"]);
        assert_eq!(wrapped("", 8, 2), [""]);
        assert_eq!(wrapped("to /a/path/that/is/long", 12, 2), ["to", "  /a/path/th", "  at/is/long"]);
        let long = "a word_of_far_more_than_eight_columns and another";
        for width in [8, 24, 60] {
            for line in wrapped(long, width, 4) {
                assert!(line.width() <= width, "{line:?} is wider than {width}");
            }
        }
    }

    #[test]
    fn text_for_old_terminals_has_ascii_alone() {
        assert_eq!(plain("412 µs, 60 °C, a…, 日"), "412 us, 60 C, a~, ?");
    }
}
