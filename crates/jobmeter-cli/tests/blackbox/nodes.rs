//! Ranks of one job on one node: one of them records the machine, another takes over when it ends, and nothing of the
//! node is counted twice.

use crate::help::{JOBMETER, Room, ranks};
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Works until a file is gone.
const WORK: &str = "import os, sys, time
while os.path.exists(sys.argv[1]): sum(range(20000))
";

struct Ranks {
    room: Room,
    children: Vec<Child>,
    went_on: PathBuf,
    energy: PathBuf,
}

impl Drop for Ranks {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.went_on);
        for child in &mut self.children {
            let _reaped = child.wait();
        }
    }
}

impl Ranks {
    /// Starts so many ranks of a job on a machine with energy counters, each once the one before has its record.
    fn start(name: &str, count: u32, runtime: Option<&Path>) -> Ranks {
        let room = Room::new(name);
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/powercap/sys");
        crate::gpu::rig::lay(&fixture, &room.path("root/sys"));
        symlink("/proc", room.path("root/proc")).expect("a link");
        let went_on = room.path("go-on");
        std::fs::write(&went_on, "").expect("a file");
        let energy = room.path("root/sys/class/powercap/intel-rapl:0/energy_uj");
        let mut ranks = Ranks { room, children: Vec::new(), went_on, energy };
        for rank in 0..count {
            let child = ranks.command(rank, count, runtime).spawn().expect("start a rank");
            ranks.children.push(child);
            ranks.wait("a record of each rank", |ranks| ranks.room.store_files().len() == rank as usize + 1);
        }
        ranks
    }

    fn command(&self, rank: u32, count: u32, runtime: Option<&Path>) -> Command {
        let (number, world) = (rank.to_string(), count.to_string());
        let mut command =
            self.room.jobmeter(&["run", "-q", "-i", "100ms", "--no-gpu", "--job", "nodes", "--rank"]);
        command.args([&number, "--world", &world, "--", "python3", "-c", WORK]).arg(&self.went_on);
        command.env("JOBMETER_GPU_ROOT", self.room.path("root"));
        match runtime {
            Some(folder) => command.env("XDG_RUNTIME_DIR", folder),
            // A folder of its own, so that other tests have other locks.
            None => command.env("XDG_RUNTIME_DIR", &self.room.dir),
        };
        command.stderr(Stdio::null());
        command
    }

    fn wait(&self, what: &str, is_there: impl Fn(&Ranks) -> bool) {
        ranks::wait(what, || is_there(self));
    }

    fn show(&self, selector: &str) -> Value {
        ranks::try_show(&self.room, selector).expect("a run or a job")
    }

    fn recorders(&self) -> Vec<u64> {
        let job = self.show("job:nodes");
        let list = job["nodes"][0]["recorders"].as_array().expect("recorders").clone();
        list.iter().filter_map(|recorder| recorder["rank"].as_u64()).collect()
    }

    /// Adds energy to the counter of the package.
    fn spend(&self, energy_uj: u64) {
        ranks::spend(&self.energy, energy_uj);
    }

    /// Lets the ranks end, and the job as it then is.
    fn end(&mut self) -> Value {
        std::fs::remove_file(&self.went_on).expect("ours");
        for child in &mut self.children {
            child.wait().expect("a rank");
        }
        self.show("job:nodes")
    }
}

fn machine_busy_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").expect("the machine");
    let numbers = text.lines().next().expect("a line").split_whitespace().skip(1);
    let ticks: Vec<u64> = numbers.map(|number| number.parse().expect("ticks")).collect();
    (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * 10_000_000
}

/// The last rows of a rank may be on their way when its figures are read.
const TICK_NS: f64 = 10_000_000.0;

#[test]
fn the_recorder_is_killed_another_takes_over_and_nothing_is_counted_twice() {
    let began_busy_ns = machine_busy_ns();
    let mut ranks = Ranks::start("node-killed", 3, None);
    ranks.wait("a recorder", |ranks| ranks.recorders().len() == 1);
    ranks::wait_until_all_count(&ranks.room, "job:nodes", 3);
    let all_started_busy_ns = machine_busy_ns();
    let first = ranks.recorders()[0] as usize;
    // While the first records, between the two, and while the second does.
    ranks.spend(100_000);
    ranks.wait("the first energy", |ranks| {
        ranks.show("job:nodes")["nodes"][0]["system"]["energy_package_uj"]["value"] == 100_000
    });
    ranks.children[first].kill().expect("kill the recorder");
    ranks.children[first].wait().expect("it was killed");
    ranks.spend(100_000);
    ranks.wait("another recorder", |ranks| ranks.recorders().len() == 2);
    ranks.spend(100_000);
    let before_end_busy_ns = machine_busy_ns();
    let job = ranks.end();
    let ended_busy_ns = machine_busy_ns();

    let node = &job["nodes"][0];
    assert_eq!(job["nodes"].as_array().expect("nodes").len(), 1);
    // One tick without a recorder is the tick that it takes to notice; a loaded machine is late for some.
    let gap_ns = node["longest_gap_ns"].as_u64().expect("a gap");
    assert!(gap_ns > 0 && gap_ns < 5_000_000_000, "{gap_ns} ns without a recorder");
    // All energy is there once, also what was spent while nobody recorded.
    assert_eq!(node["system"]["energy_package_uj"]["value"], 300_000, "{node}");
    // The machine's CPU time by an independent witness: at least that between the first tick of the first and the last of
    // the last, at most that of the whole test.
    let busy_ns = node["system"]["cpu_ns"]["value"].as_f64().expect("CPU time");
    let least_ns = (before_end_busy_ns - all_started_busy_ns) as f64;
    let most_ns = (ended_busy_ns - began_busy_ns) as f64;
    assert!(
        busy_ns >= least_ns - 4.0 * TICK_NS && busy_ns <= most_ns + 4.0 * TICK_NS,
        "{busy_ns} of {least_ns}..{most_ns}"
    );
    // Who was killed is named; the split gives away no more than there was.
    let states: Vec<&str> =
        job["ranks"].as_array().expect("ranks").iter().filter_map(|rank| rank["state"].as_str()).collect();
    assert_eq!(states.iter().filter(|state| **state == "unfinished").count(), 1, "{states:?}");
    assert_eq!(states[first], "unfinished");
    let given = job["summary"]["combined"]["energy_package_uj"].clone();
    assert!(given["value"].as_u64().is_some_and(|uj| uj > 0 && uj <= 300_000), "{given}");
    assert_eq!(given["quality"], "estimate");
    let joules: f64 = job["ranks"]
        .as_array()
        .expect("ranks")
        .iter()
        .filter_map(|rank| rank["energy_joules"].as_f64())
        .sum();
    assert!((joules - given["value"].as_f64().expect("energy") / 1e6).abs() < 1e-5, "{joules} J, {given}");
}

#[test]
fn only_the_recorder_holds_the_machine() {
    let mut ranks = Ranks::start("node-once", 2, None);
    ranks.wait("a recorder", |ranks| ranks.recorders().len() == 1);
    let recorder = ranks.recorders()[0];
    let job = ranks.end();
    for rank in [0, 1] {
        let shown = ranks.show(&format!("job:nodes/{rank}"));
        let used = &shown["system"]["memory_used_bytes_max"];
        assert!(
            shown["system"]["memory_total_bytes_max"]["value"].as_u64().is_some(),
            "its capacity is known"
        );
        if rank == recorder {
            assert!(used["value"].as_u64().is_some(), "{used}");
        } else if ranks.recorders().len() == 1 {
            assert_eq!(used["reason"], "another rank of the job on this node records the machine");
            assert_eq!(shown["system"]["energy_package_uj"]["value"], Value::Null);
            assert_eq!(shown["cores"], serde_json::json!([]));
        }
    }
    assert_eq!(job["clocks"]["method"], "one_clock");
    assert_eq!(job["clocks"]["uncertainty_ns"], 0);
    assert!(ranks.room.path("jobmeter-0").exists() || !is_root(), "the lock is in the runtime folder");
}

fn is_root() -> bool {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// However the folder of the lock is broken, every rank is measured, and the node is counted once.
#[test]
fn without_a_lock_every_rank_records_and_the_merge_counts_one() {
    // SAFETY: geteuid has no arguments and cannot fail.
    let own = format!("jobmeter-{}", unsafe { libc::geteuid() });
    let room = Room::new("node-broken");
    let at = |name: &str| room.path(name);
    for name in ["link", "file", "lock"] {
        std::fs::create_dir(at(name)).expect("a folder");
    }
    symlink("/etc", at("link").join(&own)).expect("a link");
    std::fs::write(at("file").join(&own), "").expect("a file");
    std::fs::create_dir(at("lock").join(&own)).expect("a folder");
    std::fs::set_permissions(at("lock").join(&own), std::fs::Permissions::from_mode(0o700)).expect("private");
    symlink("/etc/hostname", at("lock").join(&own).join("nodes.lock")).expect("a link");
    for name in ["link", "file", "lock"] {
        // /run/user and /tmp would be used next: hide their folders, so that none is left for the lock.
        let script = "mount -t tmpfs none /run/user 2>/dev/null; mkdir -p -m 700 \"/tmp/$0\" && \
            mount -t proc none \"/tmp/$0\" && exec \"$@\"";
        let run = |rank: &str| {
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", script, &own, JOBMETER, "run", "-q", "-i", "20ms"]);
            command.args(["--job", name, "--rank", rank, "--world", "2", "--", "sleep", "0.3"]);
            command.env("JOBMETER_STORE", at("store")).env("XDG_RUNTIME_DIR", at(name)).stdin(Stdio::null());
            command.output().expect("start unshare")
        };
        let first = run("0");
        if !first.status.success() && !is_root() {
            eprintln!("no mount namespace may be made here: {}", String::from_utf8_lossy(&first.stderr));
            return;
        }
        assert!(first.status.success(), "{name}: {}", String::from_utf8_lossy(&first.stderr));
        assert!(run("1").status.success());
        let shown = room.finish(room.jobmeter(&["show", &format!("job:{name}"), "--json"]));
        let job: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        assert_eq!(job["nodes"].as_array().expect("nodes").len(), 1);
        for rank in ["0", "1"] {
            let shown = room.finish(room.jobmeter(&["show", &format!("job:{name}/{rank}"), "--json"]));
            let run: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
            assert_eq!(run["run"]["job"]["machine"]["is_shared"], false, "{name}");
            assert!(
                run["system"]["cpu_ns"]["value"].as_u64().is_some(),
                "{name}: {}",
                run["system"]["cpu_ns"]
            );
        }
    }
}

/// Two hosts on one machine, by their names: each has a recorder of its own.
#[test]
fn ranks_of_two_hosts_have_a_recorder_each() {
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("a PID namespace");
    if namespace.to_str() != Some("pid:[4026531836]") {
        eprintln!("left out: in a container the hosts of one machine are one node, whatever their names");
        return;
    }
    let room = Room::new("node-hosts");
    let go_on = room.path("go-on");
    std::fs::write(&go_on, "").expect("a file");
    let mut children = Vec::new();
    for (rank, host) in ["one", "one", "two", "two"].iter().enumerate() {
        let mut command = Command::new("unshare");
        let script = format!("hostname {host} && exec \"$@\"");
        command.args(["--uts", "--mount", "sh", "-c", &script, "sh", JOBMETER, "run", "-q", "-i", "50ms"]);
        command.args(["--job", "hosts", "--rank", &rank.to_string(), "--world", "4", "--"]);
        command.args(["python3", "-c", WORK]).arg(&go_on);
        command.env("JOBMETER_STORE", room.path("store")).env("XDG_RUNTIME_DIR", &room.dir);
        children.push(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("start unshare"));
    }
    let is_whole = |job: &Value| {
        let nodes = job["nodes"].as_array().cloned().unwrap_or_default();
        nodes.len() == 2
            && nodes.iter().all(|node| {
                node["ranks"] == 2 && node["recorders"].as_array().is_some_and(|list| !list.is_empty())
            })
    };
    let mut found = None;
    ranks::wait("a job of two nodes, or the end of a rank", || {
        found = ranks::try_show(&room, "job:hosts").filter(is_whole);
        found.is_some()
            || children.iter_mut().any(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    });
    let _gone = std::fs::remove_file(&go_on);
    let ended: Vec<bool> =
        children.iter_mut().map(|child| child.wait().is_ok_and(|status| status.success())).collect();
    if found.is_none() && ended.contains(&false) && !is_root() {
        eprintln!("no host name may be set here");
        return;
    }
    let job = found.expect("two nodes with a recorder each");
    for node in job["nodes"].as_array().expect("nodes") {
        let recorders = node["recorders"].as_array().expect("recorders");
        assert_eq!(recorders.len(), 1, "{node}");
    }
    assert_eq!(job["clocks"]["method"], "one_clock", "they have one kernel");
}
