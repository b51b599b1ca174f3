//! Operating system, kernel, architecture and host name.

use crate::root::Root;
use serde::Serialize;

/// The operating system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OsInfo {
    /// `PRETTY_NAME` of `etc/os-release` (or `usr/lib/os-release`).
    pub name: Option<String>,
    /// `ID`: `debian`, `ubuntu`, `rhel` …
    pub id: Option<String>,
    /// Of the distribution.
    pub version: Option<String>,
    /// Release of the running kernel, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// Machine architecture: `x86_64`, `aarch64` …
    pub arch: Option<String>,
    /// The machine's own name.
    pub hostname: Option<String>,
}

impl OsInfo {
    pub(crate) fn read(root: Root<'_>) -> OsInfo {
        let release =
            root.text("etc/os-release").or_else(|| root.text("usr/lib/os-release")).unwrap_or_default();
        OsInfo {
            name: release_field(&release, "PRETTY_NAME").or_else(|| release_field(&release, "NAME")),
            id: release_field(&release, "ID"),
            version: release_field(&release, "VERSION_ID"),
            kernel: root.value("proc/sys/kernel/osrelease"),
            // Linux 6.1 and later tell; before that this program's own architecture is the best answer.
            arch: root.value("proc/sys/kernel/arch").or_else(|| Some(std::env::consts::ARCH.to_owned())),
            hostname: root.value("proc/sys/kernel/hostname").or_else(|| root.value("etc/hostname")),
        }
    }
}

/// A value of a shell-like `KEY="value"` file. The quotes and backslashes of os-release are undone.
fn release_field(text: &str, key: &str) -> Option<String> {
    let raw = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?.trim();
    let quote = raw.chars().next().filter(|c| *c == '"' || *c == '\'');
    let inner = quote.map_or(raw, |quote| {
        let rest = &raw[1..];
        rest.strip_suffix(quote).unwrap_or(rest)
    });
    let mut value = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.extend(chars.next()),
            c => value.push(c),
        }
    }
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::release_field;

    #[test]
    fn os_release_quotes_are_undone() {
        let text = "NAME=Arch\nID_LIKE=x\nID='arch'\nPRETTY_NAME=\"A \\\"B\\\" \\$5\"\nVERSION_ID=\n";
        assert_eq!(release_field(text, "PRETTY_NAME").as_deref(), Some("A \"B\" $5"));
        assert_eq!(release_field(text, "ID").as_deref(), Some("arch"));
        assert_eq!(release_field(text, "NAME").as_deref(), Some("Arch"));
        assert_eq!(release_field(text, "VERSION_ID"), None);
        assert_eq!(release_field("NAME=\"", "NAME"), None);
    }
}
