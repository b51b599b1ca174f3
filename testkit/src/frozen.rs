//! A store that hangs on demand: an ext4 file system in a file, which root can freeze.

use crate::sys;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const IMAGE_BYTES: u64 = 16 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// Thawed and unmounted when it is dropped, whatever happened.
pub struct Disk(PathBuf);

impl Disk {
    /// Makes the file `image` and mounts it on the folder `at`, which is made too; `None` where that cannot be had.
    pub fn mount(image: &Path, at: PathBuf) -> io::Result<Option<Disk>> {
        std::fs::create_dir(&at)?;
        std::fs::File::create(image)?.set_len(IMAGE_BYTES)?;
        let is_made = does("mkfs.ext4", &["-q".as_ref(), image])
            && does("mount", &["-o".as_ref(), "loop".as_ref(), image, &at]);
        Ok(is_made.then_some(Disk(at)))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// From now on every write to it waits. Returns whether that was allowed.
    pub fn freeze(&self) -> bool {
        does("fsfreeze", &["-f".as_ref(), &self.0])
    }

    pub fn thaw(&self) {
        does("fsfreeze", &["-u".as_ref(), &self.0]);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.thaw();
        // What hung in it goes when it thaws; until then it is busy.
        let start = Instant::now();
        while !does("umount", &[&self.0]) && start.elapsed() < PATIENCE {
            sys::sleep_ms(20);
        }
    }
}

fn does(program: &str, arguments: &[&Path]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}
