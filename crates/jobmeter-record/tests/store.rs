//! The store: what is listed, what a selector finds, and that removal never leaves the store.

mod common;

use common::{info, summary};
use jobmeter_model::{RunInfo, Sink};
use jobmeter_record::{ExitFilter, Filter, PruneRule, State, Store};
use std::os::unix::fs::{PermissionsExt, symlink};

const HOUR_NS: u64 = 3_600_000_000_000;

fn add(store: &Store, id: &str, change: impl Fn(&mut RunInfo), exit_code: Option<i32>) {
    let mut info = info(id);
    change(&mut info);
    let mut writer = store.create(&info).unwrap();
    writer.tick(0, &[]);
    if let Some(exit_code) = exit_code {
        let mut summary = summary(&info);
        summary.verdict.exit_code = Some(exit_code);
        writer.finish(&summary).unwrap();
    }
}

/// Five runs, one per hour; `c` failed, `e` never ended.
fn filled(directory: &std::path::Path) -> Store {
    let store = Store::at(directory.join("runs/store"));
    for (hour, (id, name, exit)) in [
        ("20260101T000000-aaaaaa", "train", Some(0)),
        ("20260101T010000-bbbbbb", "eval", Some(0)),
        ("20260101T020000-cccccc", "train", Some(3)),
        ("20260101T030000-dddddd", "train-big", Some(0)),
        ("20260101T040000-eeeeee", "eval", None),
    ]
    .into_iter()
    .enumerate()
    {
        let change = |info: &mut RunInfo| {
            info.name = Some(name.to_owned());
            info.started_unix_ns = (1 + hour as u64) * HOUR_NS;
            info.pid = i32::MAX;
            info.host = format!("node{hour}");
            info.tags = [("hour".to_owned(), hour.to_string())].into();
        };
        add(&store, id, change, exit);
    }
    store
}

fn letters(runs: &[jobmeter_record::StoredRun]) -> String {
    runs.iter().map(|run| &run.digest.id[16..17]).collect()
}

#[test]
fn the_store_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    assert_eq!(store.directory().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn listings_are_newest_first_and_filtered() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let list = |filter: Filter| letters(&store.list(&filter, None).unwrap().runs);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(list(Filter::default()), "edcba");
    assert_eq!(list(Filter { name: text("train"), ..Filter::default() }), "ca");
    assert_eq!(list(Filter { name: text("train*"), ..Filter::default() }), "dca");
    assert_eq!(list(Filter { command: text("n train"), ..Filter::default() }), "edcba");
    assert_eq!(list(Filter { command: text("julia"), ..Filter::default() }), "");
    assert_eq!(list(Filter { tags: vec![("hour".to_owned(), text("1"))], ..Filter::default() }), "b");
    assert_eq!(list(Filter { tags: vec![("hour".to_owned(), None)], ..Filter::default() }), "edcba");
    assert_eq!(list(Filter { host: text("node3"), ..Filter::default() }), "d");
    assert_eq!(list(Filter { exit: Some(ExitFilter::Code(3)), ..Filter::default() }), "c");
    assert_eq!(list(Filter { exit: Some(ExitFilter::Failed), ..Filter::default() }), "ec");
    assert_eq!(list(Filter { exit: Some(ExitFilter::Running), ..Filter::default() }), "");
    let window =
        Filter { since_unix_ns: Some(2 * HOUR_NS), until_unix_ns: Some(3 * HOUR_NS), ..Filter::default() };
    assert_eq!(list(window), "cb");
    assert_eq!(letters(&store.list(&Filter::default(), Some(2)).unwrap().runs), "ed");
}

#[test]
fn an_absent_store_is_empty_and_a_broken_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Store::at(directory.path().join("no")).list(&Filter::default(), None).unwrap().runs.is_empty());
    let store = filled(directory.path());
    std::fs::write(store.directory().join("20250101T000000-000000.jobmeter"), "hello").unwrap();
    std::fs::write(store.directory().join("notes.txt"), "hello").unwrap();
    let listing = store.list(&Filter::default(), None).unwrap();
    assert_eq!((listing.runs.len(), listing.unreadable.len()), (5, 1));
}

#[test]
fn a_run_of_a_living_process_here_is_running() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::at(directory.path());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let alive = |info: &mut RunInfo| {
        info.pid = std::process::id() as i32;
        info.host = host.clone();
    };
    add(&store, "20260101T000000-aaaaaa", alive, None);
    let runs = store.list(&Filter::default(), None).unwrap().runs;
    assert_eq!(runs[0].state(), State::Running);
    assert!(store.removable("last", false).is_err());
    assert_eq!(store.removable("last", true).unwrap().len(), 1);
    assert!(store.prunable(PruneRule { keep: Some(0), ..PruneRule::default() }).unwrap().is_empty());
}

#[test]
fn selectors_find_their_runs() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let one = |selector: &str| {
        store.select(selector).map(|path| path.file_name().unwrap().to_str().unwrap()[16..17].to_owned())
    };
    for (selector, letter) in [
        ("last", "e"),
        ("last~0", "e"),
        ("last~2", "c"),
        ("last~", "d"),
        ("20260101T03", "d"),
        ("20260101T010000-bbbbbb", "b"),
        ("name:train", "c"),
        ("name:train*", "d"),
        ("train:*", "c"),
        ("tag:hour=0", "a"),
    ] {
        assert_eq!(one(selector).unwrap(), letter, "{selector}");
    }
    for (selector, reason) in [
        ("2026", "5 runs begin so: 20260101T040000-eeeeee, 20260101T030000-dddddd"),
        ("last~5", "not so many"),
        ("last~x", "no stored run fits"),
        ("", "no stored run fits"),
        ("name:nobody", "no stored run fits"),
        ("\u{1b}[2J", "`\\u{1b}[2J`"),
    ] {
        let error = one(selector).unwrap_err().to_string();
        assert!(error.contains(reason), "{selector}: {error}");
    }
    assert_eq!(store.select("./a/b.jobmeter").unwrap().to_str(), Some("./a/b.jobmeter"));
    assert_eq!(store.select_all("train:*").unwrap().len(), 2);
    assert_eq!(store.select_all("name:train*").unwrap().len(), 3);
    assert_eq!(store.select_all("name:train").unwrap().len(), 1);
    assert!(store.select_all("nobody:*").is_err());
}

#[test]
fn removal_stays_inside_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let outside = directory.path().join("20260101T000000-ffffff.jobmeter");
    std::fs::write(&outside, "precious").unwrap();
    let link = store.directory().join("20270101T000000-ffffff.jobmeter");
    symlink(&outside, &link).unwrap();
    let dotted = store.directory().join("../../20260101T000000-ffffff.jobmeter");
    let other = store.directory().join("notes.txt");
    std::fs::write(&other, "mine").unwrap();
    for path in [&outside, &link, &dotted, &other] {
        assert!(store.remove(path).is_err(), "{path:?}");
        assert!(store.removable(path.to_str().unwrap(), true).is_err(), "{path:?}");
    }
    // A linked directory inside the store leads out of it.
    let trap = store.directory().join("trap");
    symlink(directory.path(), &trap).unwrap();
    assert!(store.remove(&trap.join("20260101T000000-ffffff.jobmeter")).is_err());
    for run in store.prunable(PruneRule { keep: Some(0), ..PruneRule::default() }).unwrap() {
        store.remove(&run.path).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    assert!(link.symlink_metadata().is_ok() && other.exists());
    assert!(store.ids().unwrap().is_empty());
}

#[test]
fn a_run_of_the_store_may_be_removed_by_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let roundabout = store.directory().join("../store/20260101T000000-aaaaaa.jobmeter");
    assert_eq!(store.removable(roundabout.to_str().unwrap(), false).unwrap().len(), 1);
    store.remove(&roundabout).unwrap();
    assert_eq!(store.ids().unwrap().len(), 4);
}

#[test]
fn prune_by_number_by_age_and_by_both() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let prune = |keep, before: Option<u64>| {
        let rule = PruneRule { keep, started_before_unix_ns: before.map(|hours| hours * HOUR_NS) };
        letters(&store.prunable(rule).unwrap())
    };
    assert_eq!(prune(Some(2), None), "cba");
    assert_eq!(prune(Some(100), None), "");
    assert_eq!(prune(None, Some(3)), "ba");
    assert_eq!(prune(Some(4), Some(3)), "a");
}

/// A meter makes its file a moment before it writes; a disk that was full may have left one, too.
#[test]
fn an_empty_file_is_no_broken_run() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    std::fs::write(store.path_of("20260101T050000-ffffff").unwrap(), "").unwrap();
    let listing = store.list(&Filter::default(), None).unwrap();
    assert_eq!(letters(&listing.runs), "edcba");
    assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
}
