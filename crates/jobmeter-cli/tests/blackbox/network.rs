//! Nothing contacts a network unless the user asks: seen in the system calls themselves.

use crate::help::Room;
use std::process::Command;

/// Only these kinds of sockets reach beyond the machine; local ones are none of this test's business.
const NETWORKS: [&str; 3] = ["AF_INET", "AF_INET6", "AF_PACKET"];

#[test]
fn a_run_with_default_options_opens_no_network_socket() {
    let room = Room::new("network");
    let trace = room.file("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=socket,connect,sendto,sendmsg", "-o", &trace]);
    command.arg(env!("CARGO_BIN_EXE_jobmeter")).args(["run", "--", "sh", "-c", "true; true"]);
    command.env("JOBMETER_STORE", room.path("store"));
    let output = command.output().expect("strace is installed by make test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = std::fs::read_to_string(&trace).expect("the trace");
    for network in NETWORKS {
        assert!(!calls.contains(network), "{calls}");
    }
}
