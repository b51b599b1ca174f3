//! Which file server holds a record: its clock is one that the ranks of a job have in common.

use crate::output::Target;
use jobmeter_model::Event;
use jobmeter_model::event::STORE_TIME_NOTE;
use jobmeter_model::job::StoreTime;
use std::path::Path;

/// The comparisons of a run.
#[derive(Debug, Default)]
pub(crate) struct StoreTimes {
    pub(crate) server: Option<String>,
    pub(crate) times: Vec<StoreTime>,
}

/// The server as it was mounted, where it stamps files with its own clock. Nothing is asked of it.
pub(crate) fn server_of(target: &Target) -> Option<String> {
    let (Target::New(path) | Target::Stored(path)) = target else { return None };
    let path = std::path::absolute(path).ok()?;
    server_in(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &path)
}

/// The source of the mount that `path` is on, by the text of `/proc/self/mountinfo`, if that is NFS. Of several mounts at
/// one place the last counts.
fn server_in(mounts: &str, path: &Path) -> Option<String> {
    let mut best: Option<(usize, Option<String>)> = None;
    for line in mounts.lines() {
        let (Some(at), Some((_, source))) = (line.split(' ').nth(4), line.split_once(" - ")) else {
            continue;
        };
        let at = at.replace("\\040", " ");
        let length = Path::new(&at).components().count();
        if !path.starts_with(&at) || best.as_ref().is_some_and(|(best, _)| length < *best) {
            continue;
        }
        let mut words = source.split(' ');
        let (kind, server) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        best = Some((length, matches!(kind, "nfs" | "nfs4").then(|| server.to_owned())));
    }
    best.and_then(|(_, server)| server)
}

pub(crate) fn note(t_ns: u64, server: &str, time: StoreTime) -> Event {
    let value = serde_json::json!({ "server": server, "time": time });
    Event::Note { t_ns, key: STORE_TIME_NOTE.to_owned(), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
25 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 25 0:44 / /home rw,relatime shared:5 - nfs4 files.example:/export/home rw,vers=4.2
31 30 0:45 / /home/a\\040b rw - nfs files.example:/other rw,vers=3
32 25 0:46 / /scratch rw - lustre 10.0.0.1@tcp:/fs rw
";

    #[test]
    fn the_server_is_that_of_the_nearest_mount() {
        let server = |path: &str| server_in(MOUNTS, Path::new(path));
        assert_eq!(server("/home/me/runs/1.jobmeter").as_deref(), Some("files.example:/export/home"));
        assert_eq!(server("/home/a b/1.jobmeter").as_deref(), Some("files.example:/other"));
        assert_eq!(server("/homely/1.jobmeter"), None);
        assert_eq!(server("/scratch/1.jobmeter"), None, "its clients stamp files themselves");
        assert_eq!(server("/var/1.jobmeter"), None);
        assert_eq!(server_in("nonsense", Path::new("/x")), None);
    }
}
