//! Short options that carry secrets in some well-known tools and mean other things elsewhere.

use super::REDACTED;

#[derive(Debug, Default)]
pub(super) struct ToolRules {
    tool: Option<&'static Tool>,
    next: Next,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Next {
    #[default]
    Plain,
    Secret,
    /// `user:secret` or `user%secret`.
    Pair(char),
}

#[derive(Debug)]
struct Tool {
    names: &'static [&'static str],
    /// `-pSECRET`, written without a space.
    glued: Option<&'static str>,
    /// Options whose next argument is secret.
    separate: &'static [&'static str],
    /// Options whose value is a user, a separator and a secret.
    pairs: &'static [&'static str],
    separator: char,
}

const NOTHING: &[&str] = &[];

static TOOLS: [Tool; 8] = [
    Tool {
        names: &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump"],
        glued: Some("-p"),
        separate: NOTHING,
        pairs: NOTHING,
        separator: ':',
    },
    Tool { names: &["sshpass"], glued: Some("-p"), separate: &["-p"], pairs: NOTHING, separator: ':' },
    Tool {
        names: &["curl"],
        glued: None,
        separate: NOTHING,
        pairs: &["-u", "--user", "-U", "--proxy-user"],
        separator: ':',
    },
    Tool {
        names: &["http", "https"],
        glued: None,
        separate: NOTHING,
        pairs: &["-a", "--auth"],
        separator: ':',
    },
    Tool { names: &["redis-cli"], glued: None, separate: &["-a"], pairs: NOTHING, separator: ':' },
    Tool {
        names: &["smbclient", "rpcclient"],
        glued: None,
        separate: NOTHING,
        pairs: &["-U", "--user"],
        separator: '%',
    },
    Tool {
        names: &["ldapsearch", "ldapmodify", "ldapadd", "ldapdelete"],
        glued: None,
        separate: &["-w"],
        pairs: NOTHING,
        separator: ':',
    },
    Tool {
        names: &["mongo", "mongosh", "mongodump", "mongorestore", "sqlcmd"],
        glued: None,
        separate: &["-p", "-P"],
        pairs: NOTHING,
        separator: ':',
    },
];

impl ToolRules {
    /// The redacted form, where a rule of the current tool says so.
    pub(super) fn apply(&mut self, argument: &str) -> Option<String> {
        match std::mem::take(&mut self.next) {
            Next::Pair(separator) => return Some(redact_pair(argument, separator)),
            Next::Plain | Next::Secret => {}
        }
        let Some(tool) = self.tool else {
            self.recognise(argument);
            return None;
        };
        if tool.separate.contains(&argument) {
            self.next = Next::Secret;
            return None;
        }
        if tool.pairs.contains(&argument) {
            self.next = Next::Pair(tool.separator);
            return None;
        }
        let pair = tool.pairs.iter().find_map(|option| {
            let value = argument.strip_prefix(option)?;
            let value = if option.len() > 2 { value.strip_prefix('=')? } else { value };
            Some((argument.len() - value.len(), value))
        });
        if let Some((lead, value)) = pair {
            return Some(format!("{}{}", &argument[..lead], redact_pair(value, tool.separator)));
        }
        // `openssl`-like `-pass` and long options are not a glued short option.
        let glued = tool.glued.and_then(|option| argument.strip_prefix(option));
        if glued.is_some_and(|value| !value.is_empty()) {
            return Some(format!("{}{REDACTED}", tool.glued.unwrap_or_default()));
        }
        self.recognise(argument);
        None
    }

    pub(super) fn next_is_secret(&self) -> bool {
        self.next == Next::Secret
    }

    fn recognise(&mut self, argument: &str) {
        let base = argument.rsplit('/').next().unwrap_or(argument);
        if let Some(tool) = TOOLS.iter().find(|tool| tool.names.contains(&base)) {
            self.tool = Some(tool);
        }
    }
}

fn redact_pair(value: &str, separator: char) -> String {
    match value.split_once(separator) {
        Some((user, secret)) if !secret.is_empty() => format!("{user}{separator}{REDACTED}"),
        _ => value.to_owned(),
    }
}
