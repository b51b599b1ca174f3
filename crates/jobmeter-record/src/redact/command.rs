//! What the words of a command mean one after the other: which tool it is, and whose value comes next.

use super::REDACTED;
use super::names::{Weight, weigh};
use super::scan::{is_option_name, looks_like_option};
use super::tools::{CURL_FLAGS, OPTIONS, ORACLE, OptionRule, PLACES, SETTERS, Takes, WRAPPERS};
use super::values::{Place, secret_part};

/// The state between two words of a command.
#[derive(Debug)]
pub(super) struct Command {
    place: Place,
    tool: Option<&'static str>,
    /// Whether the next word may still be the name of a tool.
    may_name_tool: bool,
    next: Next,
    /// The words of `after` that have come, with the number of arguments since each.
    seen: Vec<(&'static str, usize)>,
    sets: bool,
    previous_is_option: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Plain,
    /// The value of an option or a name that says so itself.
    Named(Weight),
    Tool(Takes),
}

impl Command {
    pub(super) fn new(place: Place) -> Command {
        Command {
            place,
            tool: None,
            may_name_tool: true,
            next: Next::Plain,
            seen: Vec::new(),
            sets: false,
            previous_is_option: false,
        }
    }

    /// The word with its secret replaced, where the rules of the command say so; otherwise `None`, and the word is
    /// to be looked at by itself.
    pub(super) fn word(&mut self, word: &str) -> Option<String> {
        match std::mem::replace(&mut self.next, Next::Plain) {
            Next::Named(weight) if !looks_like_option(word) => {
                self.previous_is_option = false;
                if let Some(part) = secret_part(word, weight, self.place) {
                    return Some(replaced(word, part));
                }
            }
            Next::Tool(takes) => {
                self.previous_is_option = false;
                return self.taken(word, takes);
            }
            Next::Named(_) | Next::Plain => {}
        }
        let found = self.by_tool(word).or_else(|| self.by_place(word)).or_else(|| self.secret_option(word));
        self.note(word);
        if found.is_none() && self.next == Next::Plain {
            self.announce(word);
        }
        self.previous_is_option = word.starts_with('-') && word != "--" && !word.contains('=');
        found
    }

    /// A word that is an option or a name whose value is the next word.
    fn announce(&mut self, word: &str) {
        let is_name =
            || self.sets && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-/:".contains(&byte));
        if word.starts_with('-') && is_option_name(word) || !word.starts_with('-') && is_name() {
            let weight = match weigh(word) {
                // Oracle's and ffmpeg's passes: `-pass 1`.
                Weight::Pair if !word.starts_with('-') => Weight::Never,
                weight => weight,
            };
            if matches!(word, "--cookie" | "--cookies" | "-cookie") {
                self.next = Next::Tool(Takes::Cookie);
            } else if weight != Weight::Never && !self.has_rule(word, Takes::Nothing) {
                self.next = Next::Named(weight);
            }
        }
    }

    fn rules(&self) -> impl Iterator<Item = &'static OptionRule> {
        let tool = self.tool;
        let seen = self.seen.as_slice();
        OPTIONS.iter().filter(move |rule| {
            tool.is_some_and(|tool| rule.tools.contains(&tool))
                && (rule.after.is_empty() || seen.iter().any(|(word, _)| *word == rule.after))
        })
    }

    fn has_rule(&self, option: &str, takes: Takes) -> bool {
        self.rules().any(|rule| rule.takes == takes && rule.options.contains(&option))
    }

    fn by_tool(&mut self, word: &str) -> Option<String> {
        let tool = self.tool?;
        if ORACLE.contains(&tool)
            && !word.starts_with(['-', '@', '/'])
            && let Some(slash) = word.find('/')
        {
            let end = word.rfind('@').unwrap_or(word.len());
            if slash + 1 < end {
                return Some(replaced(word, slash + 1..end));
            }
        }
        let mut found = None;
        for rule in self.rules() {
            for option in rule.options {
                let Some((lead, value)) = option_value(tool, word, option) else { continue };
                found = Some((lead, value, rule.takes));
            }
        }
        let (lead, value, takes) = found?;
        match (takes, value) {
            (Takes::Nothing, "") | (Takes::Glued, "") => None,
            (Takes::Nothing, _) => Some(word.to_owned()),
            (_, "") => {
                self.next = Next::Tool(takes);
                None
            }
            // `-p3306:3306` publishes a port.
            (Takes::Glued, value)
                if value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') && value.contains(':') =>
            {
                None
            }
            (Takes::Next, _) => None,
            (takes, value) => {
                let redacted = self.taken(value, takes)?;
                Some(format!("{}{redacted}", &word[..lead]))
            }
        }
    }

    /// The value of an option of a tool.
    fn taken(&self, value: &str, takes: Takes) -> Option<String> {
        let part = match takes {
            Takes::Secret | Takes::Next | Takes::Glued if looks_like_option(value) => None,
            Takes::Secret | Takes::Next | Takes::Glued => secret_part(value, Weight::Strong, self.place),
            Takes::PassPrefix => value
                .strip_prefix("pass:")
                .and_then(|secret| secret_part(secret, Weight::Strong, self.place))
                .map(|part| part.start + 5..part.end + 5),
            Takes::Cookie => {
                value.contains('=').then_some(0..value.len()).filter(|_| !value.starts_with(['$', '@']))
            }
            Takes::Proxy => match (value.find(':'), value.rfind('@')) {
                (Some(colon), Some(host)) if colon + 1 < host && !value.contains("://") => {
                    secret_part(&value[colon + 1..host], Weight::Strong, self.place).map(|_| colon + 1..host)
                }
                _ => None,
            },
            Takes::Pair(separator) => {
                let at = value.find(separator)? + separator.len_utf8();
                // A URL is looked at elsewhere.
                let part = secret_part(&value[at..], Weight::Strong, self.place)
                    .filter(|_| !value[at..].starts_with("//"));
                part.map(|part| at + part.start..at + part.end)
            }
            Takes::Nothing => None,
        };
        Some(part.map_or_else(|| super::argument(value), |part| replaced(value, part)))
    }

    /// `--secret=value` of a tool for which it is not the name of a secret.
    fn secret_option(&self, word: &str) -> Option<String> {
        let value = word.strip_prefix("--secret=")?;
        let lead = word.len() - value.len();
        secret_part(value, Weight::Strong, self.place)
            .map(|part| replaced(word, lead + part.start..lead + part.end))
    }

    /// Secrets by their place among the arguments.
    fn by_place(&mut self, word: &str) -> Option<String> {
        let tool = self.tool?;
        if word.starts_with('-') {
            return None;
        }
        for (_, count) in &mut self.seen {
            *count += 1;
        }
        let secret = PLACES.iter().filter(|rule| rule.tools.contains(&tool)).any(|rule| {
            self.seen.iter().any(|(after, count)| *after == rule.after && rule.nth.contains(count))
        });
        let secret = secret && !word.contains("://");
        secret
            .then(|| secret_part(word, Weight::Strong, self.place))
            .flatten()
            .map(|part| replaced(word, part))
    }

    /// Remembers the tool and the words that rules depend on.
    fn note(&mut self, word: &str) {
        self.sets |= SETTERS.contains(&word);
        let words = OPTIONS.iter().map(|rule| rule.after).chain(PLACES.iter().map(|rule| rule.after));
        if let Some(tool) = self.tool
            && let Some(after) = words.filter(|after| !after.is_empty()).find(|after| *after == word)
            && after != tool
            && !self.seen.iter().any(|(seen, _)| *seen == after)
        {
            self.seen.push((after, 0));
        }
        if !self.may_name_tool || word.starts_with('-') || is_assignment(word) {
            return;
        }
        let base = word.rsplit(['/', '\\']).next().unwrap_or(word);
        let wrapper = WRAPPERS.contains(&base);
        let first = self.tool.is_none();
        // `docker run --name mysql -p 3306:3306`: the value of an option is no program.
        if !first && self.previous_is_option {
            return;
        }
        let known = OPTIONS
            .iter()
            .flat_map(|rule| rule.tools)
            .chain(PLACES.iter().flat_map(|rule| rule.tools))
            .chain(ORACLE);
        match known.copied().find(|tool| *tool == base) {
            Some(tool) => {
                self.tool = Some(tool);
                self.seen = vec![(tool, 0)];
                self.may_name_tool = wrapper;
            }
            None if wrapper => {}
            // The command is another program; inside a wrapper its arguments come first.
            None if first && !self.wrapped() => self.may_name_tool = false,
            None => {}
        }
        if wrapper && self.tool.is_none() {
            self.seen.push(("", 0));
        }
    }

    /// Whether a wrapper has come.
    fn wrapped(&self) -> bool {
        !self.seen.is_empty()
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

fn replaced(word: &str, part: std::ops::Range<usize>) -> String {
    format!("{}{REDACTED}{}", &word[..part.start], &word[part.end..])
}

/// The value glued to an option, with the length before it; empty if it is the next word.
fn option_value<'a>(tool: &str, word: &'a str, option: &str) -> Option<(usize, &'a str)> {
    let mut offset = 0;
    if tool == "curl" && option.len() == 2 && word.starts_with('-') && !word.starts_with("--") {
        // The letters before it in the same word.
        offset = word.bytes().skip(1).take_while(|letter| CURL_FLAGS.contains(letter)).count();
    }
    let value = match option.strip_prefix('-') {
        Some(letter) if option.len() == 2 => {
            let rest = word.strip_prefix('-')?.get(offset..)?;
            rest.strip_prefix(letter)?
        }
        _ if word == option => "",
        _ if option.starts_with("--") => word.strip_prefix(option)?.strip_prefix('=')?,
        _ if option.starts_with('/') || option == "-hp" => word.strip_prefix(option)?,
        _ => return None,
    };
    Some((word.len() - value.len(), value))
}
