//! Is this a container, of which kind, and by what evidence.

use crate::root::Root;
use serde::Serialize;

/// The container that we run in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContainerInfo {
    /// `docker`, `podman`, `kubernetes`, `lxc`, `apptainer`, `systemd-nspawn`, or what the runtime calls itself.
    pub kind: String,
    /// The runtime's id of the container, where a path or a mount shows it.
    pub id: Option<String>,
    /// What the answer rests on, strongest first.
    pub evidence: Vec<String>,
}

/// `None` means that no evidence was found, which is not a proof of bare metal.
pub(crate) fn read(root: Root<'_>, environment: &[(String, String)]) -> Option<ContainerInfo> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut note = |kind: &str, evidence: String| found.push((kind.to_owned(), evidence));
    let has = |name: &str| environment.iter().any(|(key, value)| key == name && !value.is_empty());

    // Only the presence of the secret's folder is looked at, never its content.
    if root.exists("var/run/secrets/kubernetes.io/serviceaccount") {
        note("kubernetes", "var/run/secrets/kubernetes.io/serviceaccount exists".into());
    }
    if has("KUBERNETES_SERVICE_HOST") {
        note("kubernetes", "KUBERNETES_SERVICE_HOST is set".into());
    }
    let groups = root.text("proc/self/cgroup").unwrap_or_default();
    let mounts = root.text("proc/self/mountinfo").unwrap_or_default();
    for (mark, kind) in [
        ("kubepods", "kubernetes"),
        ("/docker/", "docker"),
        ("docker-", "docker"),
        ("libpod-", "podman"),
        ("/lxc/", "lxc"),
        ("lxc.payload", "lxc"),
    ] {
        if groups.lines().any(|line| line.contains(mark)) {
            note(kind, format!("proc/self/cgroup has {mark}"));
        }
    }
    if root.exists(".dockerenv") {
        note("docker", ".dockerenv exists".into());
    }
    if root.exists("run/.containerenv") {
        note("podman", "run/.containerenv exists".into());
    }
    if root.exists(".singularity.d") || has("APPTAINER_CONTAINER") || has("SINGULARITY_CONTAINER") {
        note("apptainer", ".singularity.d exists or APPTAINER_CONTAINER is set".into());
    }
    if mounts.contains("/docker/containers/") {
        note("docker", "proc/self/mountinfo shows docker's files".into());
    }
    // systemd's convention: the runtime names itself to the container's first process.
    if let Some(name) = runtime_name(root.value("run/systemd/container")) {
        note(&name, format!("run/systemd/container says {name}"));
    }
    let of_init = root.text("proc/1/environ").and_then(|environ| {
        environ.split('\0').find_map(|entry| entry.strip_prefix("container=").map(str::to_owned))
    });
    if let Some(name) = runtime_name(of_init) {
        note(&name, format!("container={name} in the environment of process 1"));
    }

    let kind = found.first()?.0.clone();
    Some(ContainerInfo {
        kind,
        id: container_id(&groups).or_else(|| container_id(&mounts)),
        evidence: found.into_iter().map(|(_, evidence)| evidence).collect(),
    })
}

/// A runtime's name for itself: a word, or it is not believed.
fn runtime_name(name: Option<String>) -> Option<String> {
    name.filter(|name| {
        !name.is_empty()
            && name.len() <= 32
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    })
}

/// Container ids are 64 hexadecimal digits in every runtime that puts them into paths.
fn container_id(text: &str) -> Option<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn fake(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn kind(files: &[(&str, &str)]) -> Option<String> {
        read(Root::new(fake(files).path()), &[]).map(|info| info.kind)
    }

    #[test]
    fn each_runtime_by_its_evidence() {
        assert_eq!(kind(&[("proc/self/cgroup", "0::/\n")]), None);
        assert_eq!(kind(&[(".dockerenv", "")]).as_deref(), Some("docker"));
        assert_eq!(kind(&[("run/.containerenv", "")]).as_deref(), Some("podman"));
        assert_eq!(kind(&[("run/systemd/container", "systemd-nspawn\n")]).as_deref(), Some("systemd-nspawn"));
        assert_eq!(kind(&[("proc/1/environ", "A=1\0container=lxc\0")]).as_deref(), Some("lxc"));
        assert_eq!(kind(&[("proc/1/environ", "container=a\x1b[31m\0")]), None);
        assert_eq!(kind(&[(".singularity.d/env/x", "")]).as_deref(), Some("apptainer"));
    }

    #[test]
    fn a_pod_is_kubernetes_even_where_docker_runs_it() {
        let id = "0123456789abcdef".repeat(4);
        let groups = format!("4:memory:/kubepods/burstable/pod1234/docker-{id}.scope\n");
        let folder = fake(&[("proc/self/cgroup", &groups), (".dockerenv", "")]);
        let info = read(Root::new(folder.path()), &[]).unwrap();
        assert_eq!(info.kind, "kubernetes");
        assert_eq!(info.id, Some(id));
        assert_eq!(info.evidence.len(), 3);
    }
}
