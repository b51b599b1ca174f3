//! How runs are named, listed and removed on the command line: every form of a selector, every filter, and that
//! nothing outside the store is ever touched. And what a spreadsheet would make of a job's own words.

use crate::help::{JOBMETER, Room, Run};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;

fn call(room: &Room, arguments: &[&str]) -> Run {
    room.finish(room.jobmeter(arguments))
}

fn json(room: &Room, arguments: &[&str]) -> Value {
    let run = call(room, arguments);
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    serde_json::from_slice(&run.stdout).expect("JSON")
}

/// Three runs: `train` twice (the second fails with 3), `test` once, in this order.
fn filled(name: &str) -> (Room, Vec<String>) {
    let room = Room::new(name);
    let mut ids = Vec::new();
    for (name, tag, script) in
        [("train", "lr=1", "exit 0"), ("train", "lr=2", "exit 3"), ("test", "lr=2", "true; exit 0")]
    {
        let run = room.run(&["--name", name, "--tag", tag], &["sh", "-c", script]);
        ids.push(run.summary().run.id.clone());
    }
    (room, ids)
}

fn shown_id(room: &Room, selector: &str) -> String {
    json(room, &["show", selector, "--json"])["run"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn every_form_of_a_selector_names_its_run_in_every_command() {
    let (room, ids) = filled("selectors");
    let path = room.path("store").join(format!("{}.jobmeter", ids[0]));
    let path = path.to_str().expect("UTF-8");
    for (selector, at) in [
        ("last", 2),
        ("last~0", 2),
        ("last~", 1),
        ("last~2", 0),
        (ids[1].as_str(), 1),
        (&ids[2][..ids[2].len() - 2], 2),
        ("name:train", 1),
        ("name:t*t", 2),
        ("train:*", 1),
        ("tag:lr=1", 0),
        (path, 0),
    ] {
        assert_eq!(shown_id(&room, selector), ids[at], "{selector}");
        let csv = call(&room, &["export", selector, "-t", "processes"]);
        assert_eq!(csv.code, 0, "{selector}: {}", csv.stderr);
        for (command, output) in [("plot", "x.svg"), ("report", "x.html")] {
            let run = call(&room, &[command, selector, "--force", "-o", &room.file(output)]);
            assert_eq!(run.code, 0, "{command} {selector}: {}", run.stderr);
        }
        assert_eq!(call(&room, &["check", selector, "--max-time", "1h"]).code, 0, "{selector}");
        assert_eq!(call(&room, &["compare", selector, "last"]).code, 0, "{selector}");
    }
    for selector in ["last~3", "nobody", "name:nobody", "2", "", "../store/last", "last~-1"] {
        let run = call(&room, &["show", selector]);
        assert_eq!((run.code, run.stderr.lines().count()), (125, 1), "{selector}: {}", run.stderr);
    }
    let sets = json(&room, &["compare", "train:*", "test:*", "-f", "json"]);
    let runs = |group: usize| sets["groups"][group]["run_ids"].as_array().expect("ids").len();
    assert_eq!((runs(0), runs(1)), (2, 1));
    let markdown = call(&room, &["compare", "train:*", "test:*", "-f", "markdown"]);
    let markdown = String::from_utf8_lossy(&markdown.stdout).into_owned();
    assert!(markdown.contains("Too few runs") && markdown.contains("| Wall time |"), "{markdown}");
    let junit = call(&room, &["check", "train:*", "--max-time", "1h", "-f", "junit"]);
    let junit = String::from_utf8(junit.stdout).expect("UTF-8");
    let document = roxmltree::Document::parse(&junit).expect("well-formed XML");
    let suites = document.descendants().filter(|node| node.has_tag_name("testsuite"));
    let names: Vec<&str> = suites.filter_map(|suite| suite.attribute("name")).collect();
    assert_eq!(names, [format!("train {}", ids[1]), format!("train {}", ids[0])]);
}

#[test]
fn listings_are_newest_first_and_every_filter_holds() {
    let (room, ids) = filled("ls");
    let host = json(&room, &["show", "last", "--json"])["run"]["host"].as_str().expect("a host").to_owned();
    let listed = |arguments: &[&str]| -> Vec<usize> {
        let rows = json(&room, &[&["ls", "--json"], arguments].concat());
        let ids = rows.as_array().expect("a list").iter().map(|row| {
            let id = row["id"].as_str().expect("an id");
            ids.iter().position(|known| known == id).expect("one of ours")
        });
        ids.collect()
    };
    for (arguments, expected) in [
        (&[][..], &[2, 1, 0][..]),
        (&["-n", "2"], &[2, 1]),
        (&["--name", "train"], &[1, 0]),
        (&["--name", "t?s*"], &[2]),
        (&["--command", "exit 3"], &[1]),
        (&["--tag", "lr=2"], &[2, 1]),
        (&["--tag", "lr", "--name", "train"], &[1, 0]),
        (&["--exit", "3"], &[1]),
        (&["--exit", "failed"], &[1]),
        (&["--exit", "0"], &[2, 0]),
        (&["--exit", "running"], &[]),
        (&["--since", "1h"], &[2, 1, 0]),
        (&["--since", "2200-01-01"], &[]),
        (&["--until", "2020-01-01"], &[]),
        (&["--host", &host], &[2, 1, 0]),
        (&["--host", "elsewhere"], &[]),
    ] {
        assert_eq!(listed(arguments), expected, "{arguments:?}");
    }
    let text = call(&room, &["ls"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert_eq!(ids.iter().filter(|id| text.contains(id.as_str())).count(), 3, "{text}");
    for wrong in [&["--exit", "maybe"][..], &["--since", "yesterday-ish"]] {
        assert_eq!(call(&room, &[&["ls"], wrong].concat()).code, 125, "{wrong:?}");
    }
}

#[test]
fn rm_and_prune_never_leave_the_store() {
    let (room, ids) = filled("rm");
    let store = room.path("store");
    let outside = room.path(&format!("{}.jobmeter", ids[0]));
    fs::copy(store.join(format!("{}.jobmeter", ids[0])), &outside).expect("a copy outside");
    let precious = fs::read(&outside).expect("the copy");
    let link = store.join("20200101T000000-00000000.jobmeter");
    symlink(&outside, &link).expect("a link out of the store");
    symlink(&room.dir, store.join("trap")).expect("a linked folder");
    let dotted = format!("{}/../{}.jobmeter", store.display(), ids[0]);
    let trapped = format!("{}/trap/{}.jobmeter", store.display(), ids[0]);
    let (outside_word, link_word) = (outside.display().to_string(), link.display().to_string());
    for path in [&outside_word, &link_word, &dotted, &trapped, &"/dev/null".to_owned()] {
        let run = call(&room, &["rm", path]);
        assert_eq!((run.code, run.stderr.lines().count()), (125, 1), "{path}: {}", run.stderr);
    }
    // One bad word among good ones: nothing goes.
    assert_eq!(call(&room, &["rm", "last", &outside_word]).code, 125);
    assert_eq!(json(&room, &["ls", "--json"]).as_array().map(Vec::len), Some(3));

    assert_eq!(call(&room, &["rm", "last~1", &ids[0][..]]).code, 0);
    assert_eq!(shown_id(&room, "last"), ids[2]);
    assert_eq!(call(&room, &["prune"]).code, 125, "a rule is needed");
    let dry = call(&room, &["prune", "--keep", "0", "--dry-run"]);
    assert!(String::from_utf8_lossy(&dry.stdout).contains("1 run would be removed"), "{}", dry.stderr);
    assert_eq!(call(&room, &["prune", "--older-than", "30d"]).code, 0);
    assert_eq!(shown_id(&room, "last"), ids[2], "a young run stays");
    assert_eq!(call(&room, &["prune", "--keep", "0"]).code, 0);
    assert_eq!(call(&room, &["show", "last"]).code, 125);
    assert_eq!(fs::read(&outside).expect("still there"), precious);
    assert!(link.symlink_metadata().is_ok(), "the link is not ours to remove");
}

#[test]
fn a_spreadsheet_finds_no_formula_in_what_came_from_the_job() {
    let room = Room::new("formulas");
    let names = ["=1+2", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "plain"];
    let mut script = String::new();
    for name in names {
        script +=
            &format!("'{JOBMETER}' mark --begin \"$(printf '{}')\" || exit 9\n", name.replace('\'', "'\\''"));
    }
    let run = room.run(&["-i", "10ms"], &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut cells = 0;
    for table in ["phases", "spans", "marks", "processes", "warnings"] {
        let csv = call(&room, &["export", "last", "-t", table]);
        assert_eq!(csv.code, 0, "{}", csv.stderr);
        let text = String::from_utf8(csv.stdout).expect("UTF-8");
        for start in ['=', '+', '@', '\t', '\r'] {
            for bad in
                [format!("\n{start}"), format!(",{start}"), format!("\n\"{start}"), format!(",\"{start}")]
            {
                assert!(!text.contains(&bad), "{table}: {bad:?} in {text:?}");
            }
        }
        assert!(!text.contains("\n-2") && !text.contains(",\"-2"), "{text:?}");
        cells += text.matches("SUM(1)").count();
    }
    assert_eq!(cells, 3, "phases, spans and marks each name it");
    let lines = call(&room, &["export", "last", "-t", "phases", "-f", "jsonl"]);
    let text = String::from_utf8_lossy(&lines.stdout).into_owned();
    assert!(text.contains("\"@SUM(1)\""), "JSON has no formulas and keeps the name as it is: {text}");
}

/// `report` and `plot` take all runs of a set, `show` and `export` the newest, and each says so.
#[test]
fn a_set_is_taken_whole_or_its_newest_run_is_named() {
    let room = Room::new("sets-taken");
    for _ in 0..3 {
        room.run(&["--name", "base"], &["true"]);
    }
    let said = |words: &[&str]| {
        let run = room.finish(room.jobmeter(words));
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        run.stderr
    };
    let page = said(&["report", "base:*", "-o", &room.file("page.html")]);
    assert!(
        page.starts_with("jobmeter: wrote a page about 3 runs to ") && page.contains("page.html"),
        "{page}"
    );
    let plot = said(&["plot", "base:*", "-o", &room.file("plot.svg")]);
    assert!(plot.starts_with("jobmeter: wrote charts of 3 runs to "), "{plot}");
    let newest = room.finish(room.jobmeter(&["show", "last", "--json"]));
    let newest: serde_json::Value = serde_json::from_slice(&newest.stdout).expect("JSON");
    let id = newest["run"]["id"].as_str().expect("an id");
    let sentence = format!("jobmeter: base:* names 3 runs; this is the newest, {id}\n");
    assert_eq!(said(&["show", "base:*"]), sentence);
    assert_eq!(said(&["export", "base:*", "-f", "csv"]), sentence);
    assert_eq!(said(&["show", "name:base"]), "", "the newest of a name is one run");
    let folder = said(&["export", "last", "-t", "all", "-f", "csv", "-o", &room.file("tables")]);
    assert!(folder.starts_with("jobmeter: wrote ") && folder.contains(" tables to "), "{folder}");
    assert_eq!(folder.lines().count(), 1, "{folder}");
}
