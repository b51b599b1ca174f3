//! `--phases-from`: a job notes its own code blocks in gpu_tracker's sub-tracking layout, and every command that
//! knows phases takes the file.

use crate::help::{JOBMETER, Room, Run, testkit, value};
use serde_json::Value;
use std::fs;

const MS: f64 = 1e6;

/// A job that burns 120 ms in `load` and 60 ms in each of two calls of `step`, and leaves `open` open.
fn job(room: &Room) -> Run {
    let file = room.file("sub.csv");
    let script = format!(
        "stamp() {{ echo \"$$,$1,$2,$(date +%s.%N)\" >> '{file}'; }}\n\
         echo process_id,code_block_name,position,timestamp > '{file}'\n\
         stamp load 0; '{0}' burn 120; stamp load 1\n\
         for n in 1 2; do stamp step 0; '{0}' burn 60; stamp step 1; done\n\
         stamp open 0; '{JOBMETER}' mark --begin own; '{0}' burn 20; '{JOBMETER}' mark --end own",
        testkit().display()
    );
    let run = room.run(&["-i", "5ms", "--name", "noted"], &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

/// The time between the two stamps of a block, summed, as the file has it.
fn noted_ns(room: &Room, block: &str) -> f64 {
    let text = room.text("sub.csv");
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let seconds = rows.filter(|row| row[1] == block).map(|row| {
        let at: f64 = row[3].parse().expect("a time");
        if row[2] == "0" { -at } else { at }
    });
    seconds.sum::<f64>() * 1e9
}

fn phases(room: &Room, file: &str) -> Vec<Value> {
    let shown = room.finish(room.jobmeter(&["show", "last", "--phases-from", file, "--json"]));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let views: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    views["phases"].as_array().expect("phases").clone()
}

fn named<'a>(phases: &'a [Value], name: &str) -> &'a Value {
    phases.iter().find(|phase| phase["name"] == name).unwrap_or_else(|| panic!("no {name}: {phases:?}"))
}

#[test]
fn blocks_of_a_sub_tracking_file_have_exact_times_and_sampled_counters() {
    let room = Room::new("sub-tracking");
    let run = job(&room);
    let phases = phases(&room, &room.file("sub.csv"));
    let total_ns = value(&run.summary().combined, "cpu_ns");
    for (name, calls, burned_ms) in [("load", 1, 120.0), ("step", 2, 120.0)] {
        let phase = named(&phases, name);
        assert_eq!((phase["calls"].as_u64(), phase["quality"].as_str()), (Some(calls), Some("sampled")));
        let time_ns = phase["time_total_ns"].as_f64().expect("time");
        // The file's stamps are floats of about 240 ns; two per call.
        let slack_ns = 1_000.0 * calls as f64;
        assert!((time_ns - noted_ns(&room, name)).abs() < slack_ns, "{name}: {phase}");
        // Interpolation may miss what was burned in the ticks around both ends of each call, never more; without a
        // cgroup the kernel adds its clock tick at either end.
        let cpu_ns = phase["cpu_ns"].as_f64().expect("CPU");
        let slack_ns = calls as f64 * 50.0 * MS;
        assert!(cpu_ns >= burned_ms * MS - slack_ns && cpu_ns <= total_ns, "{name}: {phase}");
        assert!(phase["peak_rss_bytes"].as_u64() > Some(0));
    }
    let open = named(&phases, "open");
    assert_eq!((open["open_calls"].as_u64(), open["calls"].as_u64()), (Some(1), Some(1)));
    assert_eq!(named(&phases, "own")["quality"], "exact", "the job's own marks came with ticks");
    let text = room.finish(room.jobmeter(&["show", "--phases-from", &room.file("sub.csv")]));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains('~') && text.contains("figures after ~ are sampled"), "{text}");
}

#[test]
fn every_command_that_knows_phases_takes_the_file() {
    let room = Room::new("sub-tracking-all");
    job(&room);
    let file = room.file("sub.csv");
    for (arguments, output) in [
        (&["export", "last", "-t", "phases", "-o"][..], "phases.csv"),
        (&["export", "last", "-t", "marks", "-o"], "marks.jsonl"),
        (&["plot", "last", "-o"], "plot.svg"),
        (&["report", "last", "--static", "-o"], "page.html"),
    ] {
        let mut words = arguments.to_vec();
        let output = room.file(output);
        words.extend([output.as_str(), "--phases-from", &file]);
        let run = room.finish(room.jobmeter(&words));
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        let text = fs::read_to_string(&output).expect("the output");
        assert!(text.contains("load") && text.contains("step"), "{arguments:?}");
    }
    assert!(
        room.text("phases.csv")
            .lines()
            .any(|line| line.starts_with("\"step\",2,") && line.contains("sampled"))
    );
    let compared = room.finish(room.jobmeter(&["compare", "last", "last", "--phases-from", &file, "--all"]));
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    assert!(String::from_utf8_lossy(&compared.stdout).contains("step"));
}

#[test]
fn a_database_says_the_same_as_the_text() {
    let room = Room::new("sub-tracking-sqlite");
    job(&room);
    let database = rusqlite::Connection::open(room.path("sub.sqlite")).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, position INTEGER, timestamp FLOAT)",
        )
        .expect("a table");
    for line in room.text("sub.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let row = (cells[0], cells[1], cells[2], cells[3].parse::<f64>().expect("a time"));
        database.execute("INSERT INTO data VALUES (?, ?, ?, ?)", row).expect("a row");
    }
    drop(database);
    assert_eq!(phases(&room, &room.file("sub.sqlite")), phases(&room, &room.file("sub.csv")));
}

#[test]
fn wrong_files_are_refused_in_one_sentence() {
    let room = Room::new("sub-tracking-wrong");
    job(&room);
    let header = "process_id,code_block_name,position,timestamp\n";
    for (name, content, part) in [
        ("other.csv", format!("{header}1,load,0,1000.5\n1,load,1,1001.5\n"), "none of the 1 calls"),
        ("empty.csv", header.to_owned(), "none of the 0 calls"),
        ("stray.csv", format!("{header}1,load\u{1b}[2J,1,1000.5\n"), "without a start"),
        ("time.csv", format!("{header}1,load,0,1e300\n"), "no Unix time"),
        ("pid.csv", format!("{header}99999999999,load,0,1000.5\n"), "no process number"),
        ("table.csv", "a,b\n1,2\n".to_owned(), "must begin with the header"),
        ("x.txt", header.to_owned(), "Valid file extensions"),
        ("not.sqlite", "no database".to_owned(), "not.sqlite"),
    ] {
        fs::write(room.path(name), content).expect("a file");
        let run = room.finish(room.jobmeter(&["show", "last", "--phases-from", &room.file(name)]));
        assert_eq!(run.code, 125, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(part) && run.stderr.lines().count() == 1, "{name}: {}", run.stderr);
        assert!(!run.stderr.contains('\u{1b}') && run.stdout.is_empty(), "{name}: {}", run.stderr);
    }
}
