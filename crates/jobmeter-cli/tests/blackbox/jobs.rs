//! Jobs of many ranks: each rank is a run of its own, all lie below one folder of the store, and every command that takes
//! a run takes the job.

use crate::help::slurm::Slurm;
use crate::help::{JOBMETER, Room, Run, is_running, ranks, value};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Burns a known amount of CPU time and says at its end what `getrusage` counted, as the witness.
const BURN: &str = "\
import os, resource, sys, time
until = time.process_time() + float(sys.argv[2])
while time.process_time() < until: pass
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
with open(os.path.join(sys.argv[1], 'witness-' + str(os.getpid())), 'w') as out:
    out.write(repr(sum(each.ru_utime + each.ru_stime for each in used)))
os._exit(0)
";

/// To half a per cent; and a rank writes its file and ends after it has counted, which takes milliseconds, and more on a busy machine.
fn equals_the_witnesses(cpu_s: f64, witnesses: &[f64]) {
    let truth_s: f64 = witnesses.iter().sum();
    let after_s = 0.02 * witnesses.len() as f64;
    let (low, high) = (truth_s * 0.995, truth_s * 1.005 + after_s);
    assert!((low..high).contains(&cpu_s), "{cpu_s} s, the witnesses counted {truth_s} s");
}

/// Before `BURN`: waits until the test has spent energy.
const WAIT_UNTIL_SPENT: &str = "\
import os, sys, time
deadline = time.monotonic() + 120
while not os.path.exists(os.path.join(sys.argv[1], 'spent')):
    if time.monotonic() > deadline: sys.exit('nothing was spent')
    time.sleep(0.01)
";

/// Kills its meter once there are four records.
const ORPHAN: &str = "\
echo $$ > \"$0\"; store=$1
while :; do set -- \"$store\"/jobs/*/*/*.jobmeter; [ $# -ge 4 ] && break; sleep 0.05; done
sleep 0.1; kill -9 $PPID";

fn call(room: &Room, arguments: &[&str]) -> Run {
    let run = room.finish(room.jobmeter(arguments));
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    run
}

fn text(room: &Room, arguments: &[&str]) -> String {
    String::from_utf8(call(room, arguments).stdout).expect("UTF-8")
}

fn json(room: &Room, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(room, arguments)).expect("JSON")
}

/// What the witnesses counted, in seconds.
fn witnessed(room: &Room) -> Vec<f64> {
    let files = std::fs::read_dir(&room.dir).expect("the room").flatten();
    let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with("witness-"));
    ours.map(|file| std::fs::read_to_string(file.path()).expect("a witness").parse().expect("seconds"))
        .collect()
}

/// A rank as srun would start it.
fn rank(room: &Room, number: u32, world: u32, command: &[&str]) -> Child {
    let mut arguments = vec!["run", "-q", "--"];
    arguments.extend(command);
    let mut rank = room.jobmeter(&arguments);
    rank.env("SLURM_JOB_ID", "4711").env("SLURM_STEP_ID", "0");
    rank.env("SLURM_PROCID", number.to_string()).env("SLURM_STEP_NUM_TASKS", world.to_string());
    rank.stderr(Stdio::null()).spawn().expect("start a rank")
}

#[test]
fn ranks_are_merged_and_who_is_missing_or_was_killed_is_named() {
    let room = Room::new("ranks");
    let folder = room.dir.to_str().expect("UTF-8");
    let burn = ["python3", "-c", BURN, folder, "0.3"];
    let ranks = vec![
        rank(&room, 0, 5, &burn),
        rank(&room, 1, 5, &burn),
        rank(&room, 2, 5, &["sh", "-c", "kill -9 $$"]),
        // The meter itself is killed: its record has no end.
        rank(&room, 3, 5, &["sh", "-c", ORPHAN, &room.file("orphan.pid"), &room.file("store")]),
    ];
    for mut rank in ranks {
        rank.wait().expect("a rank");
    }
    // Its job ends a moment after it; until then the run still goes on.
    let orphan = std::fs::read_to_string(room.path("orphan.pid")).expect("the number of the last job");
    let orphan: u32 = orphan.trim().parse().expect("a number");
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_running(orphan) {
        assert!(Instant::now() < deadline, "process {orphan} does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    let files = room.store_files();
    let below = room.path("store").join("jobs/slurm-4711.s0/0000");
    assert!(files.len() == 4 && files.iter().all(|file| file.parent() == Some(&below)), "{files:?}");

    let job = json(&room, &["show", "job:4711", "--json"]);
    let summary: jobmeter_model::Summary =
        serde_json::from_value(job["summary"].clone()).expect("a summary like any other");
    let cpu = value(&summary.combined, "cpu_ns") / 1e9;
    let truth: f64 = witnessed(&room).iter().sum();
    // The two shells used some milliseconds besides.
    assert!((truth..truth + 0.1).contains(&cpu), "{cpu} s, the witnesses counted {truth} s");
    assert_eq!(job["nodes"].as_array().expect("nodes").len(), 1);
    assert_eq!(job["missing_ranks"], serde_json::json!([4]));
    let states: Vec<&str> =
        job["ranks"].as_array().expect("ranks").iter().map(|rank| rank["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["finished", "finished", "killed", "unfinished"]);
    let verdict = &summary.verdict.text;
    for part in ["ranks was killed: 2", "without an end: 3", "left no record: 4"] {
        assert!(verdict.contains(part), "{verdict}");
    }
    // The machine is there once, as each rank saw it, not four times.
    let of_rank = json(&room, &["show", "job:4711/0", "--json"]);
    let memory = |summary: &Value| summary["system"]["memory_total_bytes_max"]["value"].as_u64();
    assert_eq!(memory(&job["summary"]), memory(&of_rank));
    assert_eq!(of_rank["run"]["job"]["rank"], 0);

    // `last` is the job, since the last run was a rank.
    let shown = text(&room, &["show", "last"]);
    assert!(shown.contains("RANK") && shown.contains("4      left no record"), "{shown}");
    let listed = text(&room, &["ls"]);
    assert!(listed.contains("job:4711") && listed.lines().count() == 2, "{listed}");
    assert_eq!(text(&room, &["ls", "job:4711"]).lines().count(), 5);
    let seff = text(&room, &["seff", "4711"]);
    assert!(seff.contains("Job ID: 4711") && seff.contains("Tasks: 5"), "{seff}");
    let page = room.file("page.html");
    call(&room, &["report", "job:4711", "-o", &page]);
    let rows = text(&room, &["export", "job:4711", "-f", "csv"]);
    assert!(rows.lines().next().is_some_and(|heading| heading.contains("combined_rss_bytes")), "{rows}");
    let budget = room.finish(room.jobmeter(&["check", "job:4711", "--max-cpu-time", "1ms"]));
    assert_ne!(budget.code, 0, "a budget of 1 ms cannot hold");
    call(&room, &["compare", "job:4711", "job:4711/0"]);
    let advice = text(&room, &["advise", "job:4711"]);
    assert!(advice.contains("--ntasks=5 --ntasks-per-node=5"), "{advice}");
    assert!(advice.contains("not every rank ended well"), "{advice}");

    call(&room, &["rm", "job:4711", "--force"]);
    assert!(room.store_files().is_empty() && !below.exists());
}

#[test]
fn a_job_may_be_named_by_hand_and_wrong_names_are_said_to_be_wrong() {
    let room = Room::new("named-job");
    for rank in ["0", "1"] {
        let run = room.run(&["--job", "sweep", "--rank", rank, "--world", "2"], &["true"]);
        let job = run.summary().run.job.clone().expect("a job");
        assert_eq!((job.scheduler.as_str(), job.id.as_str(), job.world_size), ("user", "sweep", Some(2)));
    }
    assert_eq!(json(&room, &["show", "job:sweep", "--json"])["ranks"].as_array().expect("ranks").len(), 2);
    for (arguments, said) in [
        (&["show", "job:nobody"][..], "no stored run fits"),
        (&["show", "job:sweep/7"], "no run of that rank"),
        (&["ls", "sweep"], "is no job; write job:ID"),
        (&["run", "--rank", "1", "--", "true"], "--job"),
        (&["run", "--job", "a/b", "--", "true"], "slash"),
        (&["run", "--job", "a", "--world", "0", "--", "true"], "--world"),
        (&["seff", "nobody"], "no stored run fits"),
    ] {
        let run = room.finish(room.jobmeter(arguments));
        assert!(run.code == 125 && run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn four_ranks_of_a_real_mpirun_are_one_job() {
    if Command::new("mpirun").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("no mpirun here (Debian: openmpi-bin); the launch of Open MPI is not tried");
        return;
    }
    let room = Room::new("mpirun");
    let folder = room.dir.to_str().expect("UTF-8");
    let mut launch = Command::new("mpirun");
    launch.args(["--allow-run-as-root", "--oversubscribe", "--mca", "btl_tcp_if_include", "lo", "-n", "4"]);
    launch.args([JOBMETER, "run", "-q", "--", "python3", "-c", BURN, folder, "0.5"]);
    launch.env("JOBMETER_STORE", room.path("store")).env("TMPDIR", folder).stdin(Stdio::null());
    let output = launch.output().expect("start mpirun");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let witnesses = witnessed(&room);
    let job = json(&room, &["show", "last", "--json"]);
    let cpu = job["summary"]["combined"]["cpu_ns"]["value"].as_f64().expect("CPU time") / 1e9;
    assert_eq!(witnesses.len(), 4);
    equals_the_witnesses(cpu, &witnesses);
    assert_eq!(job["summary"]["run"]["job"]["scheduler"], "open-mpi");
    assert_eq!(job["summary"]["verdict"]["text"], "all 4 ranks exited with code 0");
    assert_eq!(job["nodes"].as_array().expect("nodes").len(), 1);
    let ranks: Vec<u64> =
        job["ranks"].as_array().expect("ranks").iter().filter_map(|rank| rank["rank"].as_u64()).collect();
    assert_eq!(ranks, [0, 1, 2, 3]);
}

#[test]
fn four_ranks_of_a_real_srun_on_two_nodes_are_one_job() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(reason) => {
            eprintln!("no Slurm can be tried here: {reason}");
            return;
        }
    };
    let room = Room::new("srun");
    let folder = room.dir.to_str().expect("UTF-8");
    crate::gpu::rig::lay(&crate::gpu::rig::fixtures().join("powercap/sys"), &room.path("root/sys"));
    std::os::unix::fs::symlink("/proc", room.path("root/proc")).expect("a link");
    let srun = |command: &[&str]| {
        let mut srun = slurm.srun(&["-N2", "-n4", JOBMETER, "run", "-q", "--no-gpu", "--"]);
        srun.args(command).env("JOBMETER_STORE", room.path("store"));
        srun.env("JOBMETER_GPU_ROOT", room.path("root")).env("XDG_RUNTIME_DIR", &room.dir);
        srun.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start srun")
    };
    let script = format!("{WAIT_UNTIL_SPENT}{BURN}");
    let started = srun(&["python3", "-c", &script, folder, "0.5"]);
    ranks::wait_until_all_count(&room, "job:1", 4);
    ranks::spend(&room.path("root/sys/class/powercap/intel-rapl:0/energy_uj"), 100_000);
    std::fs::write(room.path("spent"), "").expect("let the ranks go on");
    let output = started.wait_with_output().expect("the end of srun");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let job = json(&room, &["show", "last", "--json"]);
    let cpu = job["summary"]["combined"]["cpu_ns"]["value"].as_f64().expect("CPU time") / 1e9;
    let witnesses = witnessed(&room);
    assert_eq!(witnesses.len(), 4);
    equals_the_witnesses(cpu, &witnesses);
    let nodes: Vec<&str> =
        job["nodes"].as_array().expect("nodes").iter().filter_map(|node| node["name"].as_str()).collect();
    assert_eq!(nodes, ["n1", "n2"]);
    // Each node's memory once, although two ranks saw it.
    let of_rank = json(&room, &["show", "job:1/0", "--json"]);
    let memory =
        |summary: &Value| summary["system"]["memory_total_bytes_max"]["value"].as_u64().expect("memory");
    assert_eq!(memory(&job["summary"]), 2 * memory(&of_rank));
    // Its energy too: both nodes saw the 100 mJ, each in the records of one rank at a time. Where another rank takes over
    // between two readings, what was spent between them is shared out by time: some per cent, not a second 100 mJ.
    let energy = &job["summary"]["system"]["energy_package_uj"];
    let spent = energy["value"].as_u64().expect("known");
    assert!((180_000..=220_000).contains(&spent), "{energy}");
    let split = job["summary"]["combined"]["energy_package_uj"]["value"].as_u64().expect("an estimate");
    assert!(split <= spent, "{split} of {spent}");
    assert_eq!(job["clocks"]["method"], "one_clock");

    let script = "if [ $SLURM_PROCID = 2 ]; then kill -9 $$; fi";
    let output = srun(&["sh", "-c", script]).wait_with_output().expect("the end of srun");
    assert!(!output.status.success(), "srun must see that a task was killed");
    let job = json(&room, &["show", "job:2", "--json"]);
    let states: Vec<&Value> =
        job["ranks"].as_array().expect("ranks").iter().map(|rank| &rank["state"]).collect();
    assert_eq!(states, ["finished", "finished", "killed", "finished"]);
    let verdict = job["summary"]["verdict"]["text"].as_str().expect("a verdict");
    assert!(verdict.starts_with("1 of 4 ranks was killed: 2"), "{verdict}");
}
