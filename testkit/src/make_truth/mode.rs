//! The ways in which each job is measured: by whom, how often, and with or without a control group.

pub(crate) const NOBODY: u32 = 65534;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    pub as_user: bool,
    /// Root makes a group itself; a user needs one that was delegated, which the harness does.
    pub with_group: bool,
    /// `-i 1s` in place of the default.
    pub every_second: bool,
    /// `--follow`, which an ordinary user asks for; only where it is named.
    pub follows: bool,
}

impl Mode {
    pub(crate) fn name(self) -> String {
        let who = if self.as_user { "user" } else { "root" };
        let group = if self.with_group { "" } else { "-nogroup" };
        let pace = if self.every_second { "-1s" } else { "" };
        let follow = if self.follows { "-follow" } else { "" };
        format!("{who}{group}{pace}{follow}")
    }

    /// Those that can be had, and that `wanted` (names with commas between them) does not leave out.
    pub(crate) fn all(is_root: bool, wanted: Option<&str>) -> Vec<Mode> {
        let mut modes = Vec::new();
        for as_user in [false, true] {
            for with_group in [true, false] {
                for (every_second, follows) in [(false, false), (true, false), (false, true), (true, true)] {
                    modes.push(Mode { as_user, with_group, every_second, follows });
                }
            }
        }
        // Without root there is one user, the present one.
        modes.retain(|mode| is_root || mode.as_user);
        match wanted {
            Some(wanted) => modes.retain(|mode| wanted.split(',').any(|name| name == mode.name())),
            None => modes.retain(|mode| !mode.follows),
        }
        modes
    }
}
