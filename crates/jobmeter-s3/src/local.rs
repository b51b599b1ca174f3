//! Where an object goes in a local store. Keys are hostile text.

use std::path::{Path, PathBuf};

const EXTENSION: &str = "jobmeter";
const JOBS: &str = "jobs";

/// The place of a run file below the store's folder: `jobs/JOB/PART/ID.jobmeter` or `ID.jobmeter`, as it was uploaded.
/// `None` for what is no run file, or has a name that no run has.
pub fn local_place(key: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = key.split('/').collect();
    let (file, folders) = parts.split_last()?;
    let id = file.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    if !is_plain(id) {
        return None;
    }
    match folders {
        [.., JOBS, job, part] if is_plain(job) && is_plain(part) => {
            Some(Path::new(JOBS).join(job).join(part).join(file))
        }
        _ => Some(PathBuf::from(file)),
    }
}

/// The part of a path that is the key of its file below the prefix: from the store on, with slashes.
pub fn relative_key(file: &Path, store: &Path) -> Option<String> {
    let below = file.strip_prefix(store).ok().or_else(|| file.file_name().map(Path::new))?;
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

fn is_plain(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_to_where_the_runs_lay() {
        let place = |key: &str| local_place(key).map(|path| path.to_string_lossy().into_owned());
        for (key, expected) in [
            ("a/b/20260101T000000-1f.jobmeter", "20260101T000000-1f.jobmeter"),
            ("p/jobs/slurm-4711.s0/0003/x-1.jobmeter", "jobs/slurm-4711.s0/0003/x-1.jobmeter"),
            ("jobs/slurm-4711/0000/x.jobmeter", "jobs/slurm-4711/0000/x.jobmeter"),
            // Nothing leads out of the store.
            ("jobs/../0000/x.jobmeter", "x.jobmeter"),
            ("jobs/a/b/c/x.jobmeter", "x.jobmeter"),
        ] {
            assert_eq!(place(key).as_deref(), Some(expected), "{key}");
        }
        for key in [
            "",
            "a/",
            "x.json",
            ".jobmeter",
            "a/..jobmeter",
            "a/.x.jobmeter",
            "a/x y.jobmeter",
            "a/x\0.jobmeter",
            "jobmeter",
        ] {
            assert_eq!(place(key), None, "{key:?}");
        }
        let key = |file: &str| relative_key(Path::new(file), Path::new("/store"));
        assert_eq!(key("/store/jobs/a/0000/x.jobmeter").as_deref(), Some("jobs/a/0000/x.jobmeter"));
        assert_eq!(key("/elsewhere/x.jobmeter").as_deref(), Some("x.jobmeter"));
    }
}
