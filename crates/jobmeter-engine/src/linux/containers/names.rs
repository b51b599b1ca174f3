//! From the name of a container to its id, by the files of Docker, Podman and nerdctl where they may be read, and by the
//! local sockets of Docker and Podman.

use super::{is_id, socket};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The whole id of the container that is called `name`.
pub(super) fn id_of(name: &str) -> Option<String> {
    // The name becomes a part of paths and of a request.
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    if name.is_empty() || !is_plain || name.starts_with('.') {
        return None;
    }
    by_sockets(name)
        .or_else(|| by_docker_files(Path::new("/var/lib/docker"), name))
        .or_else(|| podman_stores().iter().find_map(|store| by_podman_files(store, name)))
        .or_else(|| by_nerdctl_files(Path::new("/var/lib/nerdctl"), name))
        .filter(|id| is_id(id))
}

fn by_sockets(name: &str) -> Option<String> {
    let path = format!("/containers/{name}/json");
    socket::places().iter().find_map(|place| {
        let answer: Value = serde_json::from_slice(&socket::get(place, &path).ok()?).ok()?;
        Some(answer.get("Id")?.as_str()?.to_owned())
    })
}

fn by_docker_files(root: &Path, name: &str) -> Option<String> {
    let entries = fs::read_dir(root.join("containers")).ok()?.flatten();
    let called = |config: &Value| config.get("Name").and_then(Value::as_str) == Some(&format!("/{name}"));
    entries.into_iter().find_map(|entry| {
        let config: Value = read_json(&entry.path().join("config.v2.json"))?;
        called(&config).then(|| config.get("ID")?.as_str().map(str::to_owned))?
    })
}

fn podman_stores() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".local/share/containers/storage"));
    home.into_iter().chain([PathBuf::from("/var/lib/containers/storage")]).collect()
}

fn by_podman_files(store: &Path, name: &str) -> Option<String> {
    let folders = fs::read_dir(store).ok()?.flatten();
    let folders = folders.filter(|entry| entry.file_name().to_string_lossy().ends_with("-containers"));
    folders.into_iter().find_map(|folder| {
        let list: Value = read_json(&folder.path().join("containers.json"))?;
        let called = |container: &&Value| {
            let names = container.get("names").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|own| own == name))
        };
        list.as_array()?.iter().find(called)?.get("id")?.as_str().map(str::to_owned)
    })
}

/// `ADDRESS/names/NAMESPACE/NAME` holds the id.
fn by_nerdctl_files(root: &Path, name: &str) -> Option<String> {
    let addresses = fs::read_dir(root).ok()?.flatten();
    let spaces =
        addresses.filter_map(|entry| fs::read_dir(entry.path().join("names")).ok()).flatten().flatten();
    let mut ids = spaces.filter_map(|space| fs::read_to_string(space.path().join(name)).ok());
    ids.next().map(|id| id.trim().to_owned())
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_the_files_of_each_engine() {
        let root = env::temp_dir().join(format!("jobmeter-names-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        put("docker/containers/aa/config.v2.json", r#"{"ID": "aa", "Name": "/other"}"#);
        put("docker/containers/bb/config.v2.json", r#"{"ID": "bb", "Name": "/web"}"#);
        put("docker/containers/cc/config.v2.json", "no JSON");
        put("podman/overlay-containers/containers.json", r#"[{"id": "dd", "names": ["db", "web"]}]"#);
        put("nerdctl/1935db59/names/default/web", "ee\n");
        assert_eq!(by_docker_files(&root.join("docker"), "web").as_deref(), Some("bb"));
        assert_eq!(by_docker_files(&root.join("docker"), "we"), None);
        assert_eq!(by_podman_files(&root.join("podman"), "web").as_deref(), Some("dd"));
        assert_eq!(by_podman_files(&root.join("podman"), "nobody"), None);
        assert_eq!(by_nerdctl_files(&root.join("nerdctl"), "web").as_deref(), Some("ee"));
        assert_eq!(by_nerdctl_files(&root.join("nowhere"), "web"), None);
        fs::remove_dir_all(&root).expect("ours");
    }

    #[test]
    fn what_is_no_name_is_not_asked_for() {
        for name in ["", "../../x", "a/b", "a b", "a\r\nHost: x", "."] {
            assert_eq!(id_of(name), None, "{name:?}");
        }
    }
}
