//! `jobmeter-truth join SOCKET COMMAND…`: the first process of a job says who it is, waits until the witnesses
//! have taken it under observation, and becomes the job's program. So nothing of the job happens unwitnessed.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Returns only if the command could not be started.
pub(crate) fn join(socket: &Path, command: &[OsString]) -> io::Result<i32> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(format!("{}\n", std::process::id()).as_bytes())?;
    let mut cpu_file = String::new();
    stream.read_to_string(&mut cpu_file)?;
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("no command to become"));
    };
    Err(Command::new(program).args(arguments).env("TRUTH_CPU_FILE", cpu_file).exec())
}

/// Waits for the job's first process on a socket that does not block; `gave_up` says when it will not come.
pub(crate) fn accept(
    listener: &UnixListener,
    mut gave_up: impl FnMut() -> io::Result<bool>,
) -> io::Result<(i32, UnixStream)> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                let pid = read_line(&stream)?;
                let pid = pid.parse().map_err(|_| io::Error::other(format!("'{pid}' is no pid")))?;
                return Ok((pid, stream));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if gave_up()? {
                    return Err(io::Error::other("the job never started"));
                }
                jobmeter_testkit::sys::sleep_ms(1);
            }
            Err(error) => return Err(error),
        }
    }
}

fn read_line(mut stream: &UnixStream) -> io::Result<String> {
    let mut text = String::new();
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 && byte != *b"\n" {
        text.push(char::from(byte[0]));
    }
    Ok(text)
}
