//! One question to the local socket of a container engine: a GET, which changes nothing.

use std::env;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An engine that does not answer in this time is not asked again.
const PATIENCE: Duration = Duration::from_secs(2);
/// What an engine says of one container is some kilobytes.
const MOST_BYTES: u64 = 4 << 20;

/// Where engines listen: what the user set, then the usual places.
pub(super) fn places() -> Vec<PathBuf> {
    let set = ["DOCKER_HOST", "CONTAINER_HOST"].into_iter().filter_map(env::var_os);
    let set = set.filter_map(|text| text.to_str()?.strip_prefix("unix://").map(PathBuf::from));
    let user = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let user = user.into_iter().flat_map(|dir| [dir.join("docker.sock"), dir.join("podman/podman.sock")]);
    let usual = ["/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from);
    set.chain(user).chain(usual).collect()
}

/// The body of the answer.
pub(super) fn get(place: &Path, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(place)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Version 1.0: the answer ends with the connection and is not cut into pieces.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer)?;
    let is_good = answer.starts_with(b"HTTP/1.0 200") || answer.starts_with(b"HTTP/1.1 200");
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n").filter(|_| is_good);
    body.map(|at| answer.split_off(at + 4)).ok_or_else(|| io::Error::other("no such container"))
}
