//! The views of `jobmeter show`: processes, phases and the timeline, as text for any terminal and as JSON.

use crate::help::{JOBMETER, Room, testkit, value};
use serde_json::Value;

fn json_of(room: &Room, arguments: &[&str]) -> Value {
    let shown = room.finish(room.jobmeter(arguments));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    serde_json::from_slice(&shown.stdout).expect("JSON")
}

fn text_of(room: &Room, columns: &str, arguments: &[&str]) -> String {
    let mut command = room.jobmeter(arguments);
    command.env("COLUMNS", columns);
    let shown = room.finish(command);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    String::from_utf8(shown.stdout).expect("UTF-8")
}

#[test]
fn every_process_that_lived_has_its_row() {
    let room = Room::new("show-processes");
    let script = format!("'{0}' burn 120; sleep 0.2 & '{0}' burn 80; wait; exit 3", testkit().display());
    let run = room.run(&["-i", "2ms"], &["sh", "-c", &script]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let views = json_of(&room, &["show", "last", "--processes", "-f", "json"]);
    let rows = views["processes"].as_array().expect("a list");
    let main_pid = i64::from(run.summary().run.pid);
    let main = rows.iter().find(|row| row["pid"] == main_pid).expect("the main process");
    assert_eq!((main["exit_code"].as_i64(), main["name"].as_str()), (Some(3), Some("sh")), "{main}");
    let burners: Vec<&Value> = rows.iter().filter(|row| row["name"] == "testkit").collect();
    assert_eq!(burners.len(), 2, "{rows:?}");
    let mut burned: Vec<f64> = burners.iter().map(|row| row["cpu_ns"].as_f64().expect("CPU")).collect();
    burned.sort_by(f64::total_cmp);
    // What a process used after its last tick is in its parent's account, not in its own row.
    assert!((40e6..130e6).contains(&burned[0]) && (60e6..170e6).contains(&burned[1]), "{burned:?}");
    assert!(rows.iter().any(|row| row["name"] == "sleep"), "{rows:?}");
    for row in rows.iter().filter(|row| row["pid"] != main_pid) {
        assert_eq!(row["parent_pid"], main_pid, "{row}");
        assert!(row["end_ns"].as_u64() >= row["begin_ns"].as_u64(), "{row}");
    }
    let seen = value(&run.summary().combined, "processes_total");
    assert!(rows.len() as f64 <= seen, "{} rows, {seen} processes", rows.len());
    let tree = text_of(&room, "80", &["show", "--processes"]);
    for word in ["process", "count", "testkit", "  sleep", "note: count, CPU and peak"] {
        assert!(tree.contains(word), "no {word}: {tree}");
    }
    let text = text_of(&room, "80", &["show", "--processes", "--all"]);
    for word in ["pid", "parent", "command", "start", "peak RSS", "exit", "testkit", "sleep"] {
        assert!(text.contains(word), "no {word}: {text}");
    }
}

#[test]
fn hostile_names_stay_inside_their_cells() {
    let room = Room::new("show-hostile");
    let testkit = testkit();
    let script = format!(
        "'{}' names 30 60; '{JOBMETER}' mark --begin \"$(printf 'a\\033[31mb\\342\\200\\256c')\"; sleep 0.02",
        testkit.display()
    );
    let run = room.run(&["-i", "2ms"], &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for width in ["20", "50", "200"] {
        let text = text_of(&room, width, &["show", "--processes", "--phases", "--timeline"]);
        let hostile = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
        assert!(!text.contains(hostile), "{text:?}");
        assert!(text.contains("a\\u"), "the phase is missing: {text}");
    }
}

#[test]
fn the_timeline_fits_the_terminal_and_shows_phases() {
    let room = Room::new("show-timeline");
    let script = format!(
        "'{JOBMETER}' mark --begin compute; '{}' burn 400; '{JOBMETER}' mark --end compute; '{JOBMETER}' mark done",
        testkit().display()
    );
    let run = room.run(&["-i", "10ms"], &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for columns in [60, 100] {
        let text = text_of(&room, &columns.to_string(), &["show", "--timeline"]);
        for word in ["CPU cores", "RAM", "phases", "compute", "▾", "█"] {
            assert!(text.contains(word), "no {word}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        assert!(!text.contains('\u{1b}'), "colour in a pipe: {text}");
    }
    assert!(text_of(&room, "80", &["show", "--timeline", "--color", "always"]).contains('\u{1b}'));
    let views = json_of(&room, &["show", "--timeline", "--json"]);
    let rows = views["timeline"]["rows"].as_array().expect("rows");
    let ram = rows.iter().find(|row| row["column"] == "combined_rss_bytes").expect("RAM");
    let cells: Vec<f64> = ram["cells"].as_array().expect("cells").iter().filter_map(Value::as_f64).collect();
    let highest = cells.iter().copied().fold(0.0, f64::max);
    assert_eq!(Some(highest), ram["peak"].as_f64());
    assert_eq!(views["timeline"]["phases"][0]["name"], "compute");
    assert!(views.get("processes").is_none() && views.get("phases").is_none());
}
