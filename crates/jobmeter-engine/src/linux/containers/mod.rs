//! Containers of this machine, as their engines' own files and sockets tell of them. They are only read.

pub(crate) mod client;
mod names;
mod socket;

use crate::linux::cgroup::watched::group_named;
use crate::linux::proc::root::ProcRoot;
use std::path::PathBuf;

/// Hexadecimal digits of a whole id.
const ID_DIGITS: usize = 64;
/// Fewer digits may be a name.
const SHORT_ID_DIGITS: usize = 12;

/// The control group of the running container that `docker ps`, `podman ps` or `nerdctl ps` show as `name`, or whose id
/// begins with it.
pub fn group_of_container(name: &str) -> Result<PathBuf, String> {
    let id = names::id_of(name).or_else(|| is_id(name).then(|| name.to_owned()));
    id.and_then(|id| group_named(ProcRoot::KERNEL, |part| is_group_of(part, &id))).ok_or_else(|| {
        format!(
            "no running container '{}' is to be seen; name it as docker ps or podman ps show it, as a user who may ask them",
            name.escape_debug()
        )
    })
}

fn is_id(text: &str) -> bool {
    (SHORT_ID_DIGITS..=ID_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a part of a group's path is the group of container `id`: `ID`, `docker-ID.scope`, `libpod-ID`. The monitor of
/// Podman has a group of its own, which holds the id too.
fn is_group_of(part: &str, id: &str) -> bool {
    id_in(part).is_some_and(|whole| whole.starts_with(id))
}

/// The id in a part of a group's path.
pub fn id_in(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let at = part.len().checked_sub(ID_DIGITS)?;
    let (before, id) = (part.get(..at)?, part.get(at..)?);
    let is_named = before.is_empty() || before.ends_with(['-', ':', '_']);
    (is_named && !before.contains("conmon") && is_id(id)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_the_names_that_engines_give_to_groups() {
        let id = "07ff6ebb70e138762bebe0cff256e377ac66622638d1fbcaa7eefa6bfc10928c";
        for part in ["ID", "docker-ID.scope", "libpod-ID.scope", "libpod-ID", "cri-containerd-ID.scope"] {
            assert_eq!(id_in(&part.replace("ID", id)), Some(id), "{part}");
        }
        for part in ["libpod-conmon-ID.scope", "IDx", "xID", "docker", "ID/", ""] {
            assert_eq!(id_in(&part.replace("ID", id)), None, "{part}");
        }
        assert!(is_group_of(id, "07ff6ebb70e1") && !is_group_of(id, "07ff6ebb70e2"));
        assert!(!is_id("07ff6ebb70e") && !is_id("database-one"));
    }
}
