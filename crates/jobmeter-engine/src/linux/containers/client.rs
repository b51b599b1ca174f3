//! Programs that start containers: which processes of a job are such, and which container of the machine one of them
//! has started. Everything here reads; nothing is asked of an engine that would change it.

use super::{id_in, socket};
use crate::linux::cgroup::watched::group_of_process;
use crate::linux::proc::root::ProcRoot;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A client by its command name. Those of Docker and containerd leave the container to a daemon; Podman starts it itself,
/// in a control group of its own; what Apptainer runs is its child and in no such group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    OfDaemon,
    Podman,
    Apptainer,
}

/// The first letter sorts out nearly everybody.
pub(crate) fn kind_of(name: &[u8; 16]) -> Option<Kind> {
    if !matches!(name[0], b'd' | b'p' | b'n' | b'c' | b'a' | b's') {
        return None;
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    match &name[..end] {
        b"docker" | b"nerdctl" | b"ctr" => Some(Kind::OfDaemon),
        b"podman" => Some(Kind::Podman),
        b"apptainer" | b"singularity" => Some(Kind::Apptainer),
        _ => None,
    }
}

/// A container that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Container {
    pub id: String,
    pub group: PathBuf,
    /// The first of its processes.
    pub first_pid: i32,
}

/// A client that may be about to start a container.
#[derive(Debug)]
pub(crate) struct Client {
    proc: ProcRoot,
    pid: i32,
    start_ticks: u64,
    words: Vec<String>,
    /// The file that it was told to write the container's id into.
    id_file: Option<PathBuf>,
    /// Processes that are older than the client.
    old_pids: HashSet<i32>,
    is_hopeless: bool,
    /// The images of containers, as the engine told them.
    images: HashMap<String, Option<String>>,
    /// Containers that were found not to be its own.
    others_ids: HashSet<String>,
}

/// Subcommands that start one container, and those that work in several containers, of which we cannot say which are theirs.
const STARTERS: [&str; 2] = ["run", "start"];
const OTHERS: [&str; 5] = ["exec", "restart", "up", "build", "compose"];
/// The command is among the first words that are no options: some options have a value.
const LEADING_WORDS: usize = 4;

impl Client {
    /// `None` when its command starts no container.
    pub(crate) fn of(proc: ProcRoot, pid: i32, start_ticks: u64) -> Option<Client> {
        let words = words_of(proc, pid);
        let leading = words.iter().skip(1).filter(|word| !word.starts_with('-')).take(LEADING_WORDS);
        let mut commands =
            leading.filter(|word| [&STARTERS[..], &OTHERS[..]].concat().contains(&word.as_str()));
        let is_hopeless = OTHERS.contains(&commands.next()?.as_str());
        let place = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let id_file = option_of(&words, "--cidfile").map(|file| place.join(file));
        Some(Client {
            proc,
            pid,
            start_ticks,
            words,
            id_file,
            old_pids: HashSet::new(),
            is_hopeless,
            images: HashMap::new(),
            others_ids: HashSet::new(),
        })
    }

    /// Whether the container comes from a service elsewhere.
    pub(crate) fn is_remote(&self) -> bool {
        self.words.iter().skip(1).take(LEADING_WORDS).any(|word| word == "--remote" || word == "-r")
    }

    /// The container that it has started, once that runs and it is certain whose it is. `is_taken` says that another
    /// client of the job has it.
    pub(crate) fn find(&mut self, is_taken: impl Fn(&str) -> bool) -> Option<Container> {
        if self.is_hopeless {
            return None;
        }
        let containers = self.young_containers();
        let wanted = self.id_file.as_ref().map(fs::read_to_string);
        let container = containers.into_iter().find(|container| {
            !is_taken(&container.id)
                && match &wanted {
                    Some(Ok(id)) => id.trim() == container.id,
                    Some(Err(_)) => false,
                    None => self.has_started(container),
                }
        })?;
        Some(container)
    }

    /// Containers whose first process is younger than the client.
    fn young_containers(&mut self) -> Vec<Container> {
        let mut pids = Vec::new();
        let mut buffer = vec![0; 16 * 1024];
        if self.proc.list_processes(&mut buffer, |pid| pids.push(pid)).is_err() {
            return Vec::new();
        }
        let mut found: Vec<Container> = Vec::new();
        for pid in pids.into_iter().filter(|pid| *pid != self.pid) {
            if self.old_pids.contains(&pid) {
                continue;
            }
            let stat = self.proc.stat(pid, &mut buffer);
            if stat.is_none_or(|stat| stat.start_ticks < self.start_ticks) {
                self.old_pids.insert(pid);
                continue;
            }
            let Some(group) = group_of_process(self.proc, pid, |part| id_in(part).is_some()) else {
                continue;
            };
            let id = group.file_name().and_then(|name| id_in(name.to_str()?)).map(str::to_owned);
            let Some(id) = id.filter(|id| !self.others_ids.contains(id)) else { continue };
            // An older process in it: the container was there before.
            let is_old = members(&group).iter().any(|member| self.old_pids.contains(member));
            if is_old {
                self.others_ids.insert(id);
            } else if !found.iter().any(|known| known.id == id) {
                found.push(Container { id, group, first_pid: pid });
            }
        }
        found
    }

    /// Whether its words name what runs in the container, and those of no other client do: by the command at their
    /// end, or by the image as the engine tells it.
    fn has_started(&mut self, container: &Container) -> bool {
        let command = words_of(self.proc, container.first_pid);
        let is_set_up =
            command.first().is_some_and(|word| !word.ends_with("runc") && !word.ends_with("crun"));
        if !is_set_up || command.get(1).is_some_and(|word| word == "init") && command.len() == 2 {
            return false;
        }
        let known = self.images.entry(container.id.clone());
        let image = known.or_insert_with(|| image_of(&container.id)).clone();
        let matches = |words: &[String]| {
            let ends_alike = words.last().is_some_and(|last| Some(last) == command.last());
            let names_image = image.as_ref().map(|image| words.contains(image));
            names_image.unwrap_or(ends_alike)
        };
        let is_ours = matches(&self.words) && !self.other_clients().iter().any(|words| matches(words));
        if !is_ours && image.is_some() && !matches(&self.words) {
            self.others_ids.insert(container.id.clone());
        }
        is_ours
    }

    /// The words of clients that others run at the moment.
    fn other_clients(&self) -> Vec<Vec<String>> {
        let mut pids = Vec::new();
        let mut buffer = vec![0; 16 * 1024];
        drop(self.proc.list_processes(&mut buffer, |pid| pids.push(pid)));
        let is_client = |pid: &i32| {
            let stat = self.proc.stat(*pid, &mut buffer);
            stat.is_some_and(|stat| kind_of(&stat.name).is_some())
        };
        let pids = pids.into_iter().filter(|pid| *pid != self.pid).filter(is_client);
        pids.map(|pid| words_of(self.proc, pid)).collect()
    }
}

/// The container of a process, by its control group. `None` for one that is in none.
pub(crate) fn container_of(proc: ProcRoot, pid: i32) -> Option<Container> {
    let group = group_of_process(proc, pid, |part| id_in(part).is_some())?;
    let id = group.file_name().and_then(|name| id_in(name.to_str()?)).map(str::to_owned)?;
    let first_pid = members(&group).into_iter().min().unwrap_or(pid);
    Some(Container { id, group, first_pid })
}

fn members(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn words_of(proc: ProcRoot, pid: i32) -> Vec<String> {
    proc.command_line(pid).iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The value of `--name VALUE` or `--name=VALUE`.
fn option_of<'words>(words: &'words [String], name: &str) -> Option<&'words str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
        "" => words.get(at + 1).map(String::as_str),
        value => value.strip_prefix('='),
    })
}

/// The image as the client named it.
fn image_of(id: &str) -> Option<String> {
    let config = |answer: &Value| answer.get("Config")?.get("Image")?.as_str().map(str::to_owned);
    let file = fs::read(format!("/var/lib/docker/containers/{id}/config.v2.json")).ok();
    let by_file = file.and_then(|text| config(&serde_json::from_slice(&text).ok()?));
    by_file.or_else(|| {
        let path = format!("/containers/{id}/json");
        socket::places()
            .iter()
            .find_map(|place| config(&serde_json::from_slice(&socket::get(place, &path).ok()?).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn clients_are_known_by_their_names() {
        let name = |text: &str| {
            let mut name = [0; 16];
            name[..text.len()].copy_from_slice(text.as_bytes());
            name
        };
        assert_eq!(kind_of(&name("docker")), Some(Kind::OfDaemon));
        assert_eq!(kind_of(&name("podman")), Some(Kind::Podman));
        assert_eq!(kind_of(&name("singularity")), Some(Kind::Apptainer));
        for other in ["true", "dockerd", "pod", "python3", "", "ctrx", "conmon"] {
            assert_eq!(kind_of(&name(other)), None, "{other}");
        }
    }

    #[test]
    fn the_file_of_the_id_is_found_in_both_ways_to_write_it() {
        assert_eq!(option_of(&words("docker run --cidfile a.txt img"), "--cidfile"), Some("a.txt"));
        assert_eq!(option_of(&words("docker run --cidfile=b.txt img"), "--cidfile"), Some("b.txt"));
        assert_eq!(option_of(&words("docker run img --cidfiles"), "--cidfile"), None);
        assert_eq!(option_of(&words("docker run --cidfile"), "--cidfile"), None);
    }
}
