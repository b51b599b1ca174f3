//! Output paths of every kind: what cannot be written is said before the job, and no summary is lost after it.

use crate::help::{JOBMETER, Room, Run, as_nobody, is_root, not_here, room_for_everybody, wait_until};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// `jobmeter run -o PATH OPTIONS -- touch FILE`, and whether the job ran.
fn run(room: &Room, path: &str, options: &[&str]) -> (Run, bool) {
    let ran = room.path("ran");
    let _ = fs::remove_file(&ran);
    let mut words = vec!["run", "--no-record", "--no-gpu", "-f", "json", "-o", path];
    words.extend(options);
    let touched = room.file("ran");
    words.extend(["--", "touch", &touched]);
    let run = room.finish(room.jobmeter(&words));
    assert_eq!(ran.exists(), run.code == 0, "{path} {options:?}: {}", run.stderr);
    (run, ran.exists())
}

fn is_summary(bytes: &[u8]) -> bool {
    serde_json::from_slice::<jobmeter_model::Summary>(bytes).is_ok()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("list").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_cannot_be_written_is_said_before_the_job() {
    let room = Room::new("places-refused");
    fs::create_dir(room.path("folder")).expect("a folder");
    fs::write(room.path("file"), "precious").expect("a file");
    symlink("file", room.path("to-file")).expect("a link");
    symlink("missing/target", room.path("to-nowhere")).expect("a link");
    symlink("loop", room.path("loop")).expect("a link");
    symlink("folder", room.path("to-folder")).expect("a link");
    let long = "n".repeat(256);
    let _socket = std::os::unix::net::UnixListener::bind(room.path("socket")).expect("a socket");
    let cases: [(&str, &[&str], &str); 14] = [
        ("file", &[], "--force"),
        ("to-file", &[], "--force"),
        ("to-nowhere", &[], "folder does not exist"),
        ("to-nowhere", &["--force"], "folder does not exist"),
        ("loop", &[], "symbolic link"),
        ("loop", &["--force"], "symbolic link"),
        ("folder", &["--force"], "it is a folder"),
        ("to-folder", &["--force"], "it is a folder"),
        ("new/", &[], "names a folder"),
        ("folder/..", &["--force"], "names a folder"),
        ("missing/out", &[], "folder does not exist"),
        ("file/out", &["--force"], "is a file"),
        (&long, &[], "too long"),
        ("socket", &["--force"], "not a regular file"),
    ];
    for (name, options, words) in cases {
        let (run, ran) = run(&room, &room.file(name), options);
        assert_eq!((run.code, ran), (125, false), "{name} {options:?}: {}", run.stderr);
        assert!(run.stderr.contains(words) && run.stderr.lines().count() == 1, "{name}: {}", run.stderr);
    }
    // The summary over the record of its own run.
    let (one, other) = (room.file("run"), room.file("./run"));
    let both = ["run", "-o", &one, "--record", &other, "--", "touch", &room.file("ran")];
    let both = room.finish(room.jobmeter(&both));
    assert!(both.code == 125 && both.stderr.contains("both name"), "{}", both.stderr);
    assert!(!room.path("ran").exists());
    let (run, _) = run(&room, "/dev/fd/77", &[]);
    assert_eq!(run.code, 125, "{}", run.stderr);
    assert_eq!(room.text("file"), "precious");
    assert!(names(&room.dir).iter().all(|name| !name.contains(".part")), "{:?}", names(&room.dir));
}

#[test]
fn a_link_stays_a_link_and_a_file_keeps_its_mode() {
    let room = Room::new("places-links");
    fs::create_dir_all(room.path("deep/er")).expect("folders");
    fs::write(room.path("deep/file"), "old").expect("a file");
    fs::set_permissions(room.path("deep/file"), fs::Permissions::from_mode(0o640)).expect("chmod");
    symlink("../file", room.path("deep/er/two")).expect("a link");
    symlink("deep/er/two", room.path("one")).expect("a link");
    symlink("deep/fresh", room.path("dangling")).expect("a link");
    if is_root() {
        std::os::unix::fs::chown(room.path("deep/file"), Some(12345), Some(23456)).expect("chown");
    }
    let before = fs::metadata(room.path("one")).expect("there");
    let (forced, _) = run(&room, &room.file("one"), &["--force"]);
    assert_eq!((forced.code, forced.stderr.as_str()), (0, ""));
    for link in ["one", "deep/er/two"] {
        assert!(
            room.path(link).symlink_metadata().expect("there").is_symlink(),
            "{link} is no link any more"
        );
    }
    assert!(is_summary(room.text("deep/file").as_bytes()));
    let after = fs::metadata(room.path("one")).expect("there");
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    let (made, _) = run(&room, &room.file("dangling"), &[]);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    assert!(room.path("dangling").symlink_metadata().expect("there").is_symlink());
    assert!(is_summary(room.text("deep/fresh").as_bytes()));
    assert_eq!(fs::metadata(room.path("deep/fresh")).expect("there").mode() & 0o777, 0o600);
    assert_eq!(names(&room.path("deep")), ["er", "file", "fresh"]);
    let long = room.file(&"n".repeat(255));
    assert_eq!(run(&room, &long, &[]).0.code, 0, "a name as long as the file system allows");
}

#[test]
fn what_appears_while_the_job_runs_is_not_overwritten_and_the_summary_is_said() {
    let room = Room::new("places-meanwhile");
    let out = room.file("out");
    for (job, expected) in [
        ("echo mine > \"$1\"", "exists already"),
        ("ln -s nowhere/at/all \"$1\"", "folder does not exist"),
        ("mkdir \"$1\"", "it is a folder"),
    ] {
        let words = ["run", "-q", "--no-record", "-f", "json", "-o", &out, "--", "sh", "-c", job, "sh", &out];
        let run = room.finish(room.jobmeter(&words));
        assert_eq!(run.code, 0, "{job}: {}", run.stderr);
        let (sentence, summary) = run.stderr.split_once('\n').expect("a sentence, then the summary");
        assert!(sentence.starts_with("jobmeter: ") && sentence.contains(expected), "{sentence}");
        assert!(is_summary(summary.as_bytes()), "{job}: {}", run.stderr);
        let meta = room.path("out").symlink_metadata().expect("what the job made is there");
        assert!(!meta.is_file() || room.text("out") == "mine\n", "{job}");
        let _ = fs::remove_file(&out).or_else(|_| fs::remove_dir(&out));
    }
    assert!(names(&room.dir).iter().all(|name| !name.contains(".part")), "{:?}", names(&room.dir));
}

#[test]
fn pipes_and_devices_are_written_into_and_hold_nobody_up() {
    let room = Room::new("places-streams");
    // Redirected to a file that the job writes to as well: added at the end, not over it.
    let both = room.path("both");
    for path in ["-", "/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"] {
        let words = ["run", "--no-record", "-f", "json", "-o", path, "--", "echo", "of the job"];
        let mut command = room.jobmeter(&words);
        command.stdout(fs::File::create(&both).expect("a file"));
        assert_eq!(room.finish(command).code, 0);
        let text = room.text("both");
        let summary = text.strip_prefix("of the job\n").unwrap_or_else(|| panic!("{path}: {text}"));
        assert!(is_summary(summary.as_bytes()), "{path}: {text}");
        let piped = room.finish(room.jobmeter(&words));
        assert!(piped.stdout.starts_with(b"of the job\n") && is_summary(&piped.stdout[11..]), "{path}");
    }
    let (null, _) = run(&room, "/dev/null", &[]);
    assert_eq!((null.code, null.stderr.as_str()), (0, ""));
    let (full, _) = run(&room, "/dev/full", &[]);
    let (sentence, summary) = full.stderr.split_once('\n').expect("a sentence, then the summary");
    assert!(sentence.contains("no space") && is_summary(summary.as_bytes()), "{}", full.stderr);

    let fifo = room.file("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let reader = Command::new("cat").arg(&fifo).stdout(Stdio::piped()).spawn().expect("a reader");
    let (read, _) = run(&room, &fifo, &[]);
    assert_eq!((read.code, read.stderr.as_str()), (0, ""));
    assert!(is_summary(&reader.wait_with_output().expect("read to the end").stdout));
    let (unread, _) = run(&room, &fifo, &[]);
    let (sentence, summary) = unread.stderr.split_once('\n').expect("a sentence, then the summary");
    assert!(sentence.contains("nobody reads") && is_summary(summary.as_bytes()), "{}", unread.stderr);
    assert!(fs::symlink_metadata(&fifo).expect("still there").mode() & libc::S_IFMT == libc::S_IFIFO);
}

/// A reader that has the pipe open and reads nothing: the pipe fills up.
#[test]
fn a_full_pipe_is_given_up() {
    let room = Room::new("places-full-pipe");
    let (_end, full) = std::io::pipe().expect("a pipe");
    // SAFETY: shrinks a pipe of our own to one page.
    unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&full), libc::F_SETPIPE_SZ, 4096) };
    let mut command = room.jobmeter(&["run", "--no-record", "-f", "json", "-o", "-", "--", "true"]);
    command.stdout(full).stderr(Stdio::piped());
    let output = command.spawn().expect("starts").wait_with_output().expect("ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && stderr.contains("nobody reads"), "{stderr}");
}

/// Neither `renameat2` nor links: as on FAT and some network file systems.
#[test]
fn without_hard_links_the_summary_arrives_all_the_same() {
    let room = Room::new("places-no-links");
    let strace = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    if !strace.is_ok_and(|status| status.success()) {
        return not_here("there is no strace to make system calls fail with");
    }
    let under_strace = |name: &str, job: &[&str]| {
        let out = room.file(name);
        let mut command = Command::new("strace");
        command.args(["-o", "/dev/null", "-e", "trace=renameat2,link,linkat"]);
        command.args(["-e", "inject=renameat2:error=EINVAL", "-e", "inject=link,linkat:error=EPERM"]);
        command.args([JOBMETER, "run", "--no-record", "--no-perf", "-f", "json", "-o", &out, "--"]);
        let output = command.args(job).stdin(Stdio::null()).output().expect("start strace");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = under_strace("out", &["true"]);
    if stderr.contains("strace: ") {
        return not_here(&format!("strace does not work: {stderr}"));
    }
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(is_summary(room.text("out").as_bytes()));
    assert_eq!(fs::metadata(room.path("out")).expect("there").mode() & 0o777, 0o600);
    let taken = room.file("taken");
    let (code, stderr) = under_strace("taken", &["sh", "-c", "echo mine > \"$1\"", "sh", &taken]);
    assert!(code == Some(0) && stderr.contains("exists already"), "{stderr}");
    assert_eq!(room.text("taken"), "mine\n");
    assert_eq!(names(&room.dir), ["out", "taken"]);
}

/// A closed folder and an open file; a full disk; a read-only one. In a mount namespace of our own.
#[test]
fn folders_and_disks_of_every_kind() {
    let room = Room::new("places-disks");
    let script = r#"
set -eu
cd "$1"; jobmeter="$2"; export JOBMETER_STORE="$1/store"
run() { "$jobmeter" run --no-record --no-gpu --no-perf -f json "$@" 2> err; }
mkdir full ro; mount -t tmpfs -o size=64k,mode=700 none full; mount -t tmpfs none ro; : > ro/file
dd if=/dev/zero of=full/filler bs=4k 2> /dev/null || true
code=0; run -o full/out -- true || code=$?
echo "full: $code $(head -n 1 err | grep -c 'full/out: no space')$(sed 1d err | grep -c schema_version) $(ls -A full)"
rm full/filler; run -o full/out -- true; echo "room again: $(grep -c schema_version full/out)"
: > bound; : > bind; mount --bind bind bound
run --force -o bound -- true; echo "mount point: $(grep -c schema_version bind)"
mount -o remount,ro none ro
for options in '-o ro/new' '--force -o ro/file'; do
  code=0; run $options -- touch ran || code=$?
  echo "read-only: $code $(wc -l < err) $(grep -ci 'read-only' err) $(ls ran 2> /dev/null)"
done
"#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(&room.dir).arg(JOBMETER).stdin(Stdio::null());
    let output = command.output().expect("start unshare");
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if wrong.contains("unshare") || wrong.contains("mount:") {
        return not_here(&format!("no mount namespace may be made: {wrong}"));
    }
    let expected =
        "full: 0 11 filler\nroom again: 1\nmount point: 1\nread-only: 125 1 1 \nread-only: 125 1 1 \n";
    assert_eq!(said, expected, "{wrong}{}", fs::read_to_string(room.path("err")).unwrap_or_default());
}

/// Rights count only for those who are not root: as the user `nobody`.
#[test]
fn closed_folders_and_links_of_others() {
    let Some((_place, room)) = room_for_everybody() else { return };
    let as_nobody = |options: &[&str]| {
        let mut command = as_nobody(&room, &["run", "--no-record", "--no-gpu", "-f", "json"]);
        command.args(options).args(["--", "touch", &room.file("shared/ran")]);
        let run = room.finish(command);
        let ran = fs::remove_file(room.path("shared/ran")).is_ok();
        assert_eq!(ran, run.code == 0, "{options:?}: {}", run.stderr);
        (run.code, run.stderr)
    };
    let folder = |name: &str, mode: u32| {
        fs::create_dir(room.path(name)).expect("a folder");
        fs::set_permissions(room.path(name), fs::Permissions::from_mode(mode)).expect("chmod");
    };
    folder("closed", 0o755);
    folder("shared", 0o1777);
    for (name, mode) in
        [("closed/open", 0o666), ("closed/shut", 0o644), ("shared/open", 0o666), ("shared/shut", 0o644)]
    {
        fs::write(room.path(name), "a text that is longer than nothing").expect("a file");
        fs::set_permissions(room.path(name), fs::Permissions::from_mode(mode)).expect("chmod");
    }
    // Written in place: the folder, or its sticky bit, lets nobody else replace the file.
    for name in ["closed/open", "shared/open"] {
        assert_eq!(as_nobody(&["--force", "-o", name]), (0, String::new()), "{name}");
        assert!(is_summary(room.text(name).as_bytes()), "{name}");
        assert_eq!(fs::metadata(room.path(name)).expect("there").uid(), 0);
    }
    for name in ["closed/new", "closed/shut", "shared/shut"] {
        let (code, stderr) = as_nobody(&["--force", "-o", name]);
        assert!(code == 125 && stderr.contains("permission denied"), "{name}: {stderr}");
    }
    // A trap: somebody's link in a folder that all may write leads to a file of ours.
    folder("ours", 0o777);
    fs::write(room.path("ours/file"), "precious").expect("a file");
    std::os::unix::fs::chown(room.path("ours/file"), Some(65534), Some(65534)).expect("chown");
    fs::set_permissions(room.path("shared"), fs::Permissions::from_mode(0o1777)).expect("chmod");
    symlink("../ours/file", room.path("shared/trap")).expect("a link");
    std::os::unix::fs::lchown(room.path("shared/trap"), Some(12345), None).expect("chown");
    let (code, stderr) = as_nobody(&["--force", "-o", "shared/trap"]);
    assert!(code == 125 && stderr.contains("another user's link"), "{stderr}");
    assert_eq!(room.text("ours/file"), "precious");
    assert_eq!(names(&room.path("shared")), ["open", "shut", "trap"]);
}

/// The old names of files aside were predictable: whoever planted one had it followed, or had the output fail.
#[test]
fn planted_names_aside_do_not_matter() {
    let room = Room::new("places-planted");
    let out = room.file("out");
    let script = "ln -s victim \"$1.$$.part\"; ln -s victim \"$1.part\"; exec \"$2\" run --no-record -o \"$1\" -- true";
    let output = Command::new("sh").args(["-c", script, "sh", &out, JOBMETER]).output().expect("start");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty() && room.path("out").is_file() && !room.path("victim").exists());
}

#[test]
fn exports_pages_and_pictures_go_the_same_way() {
    let room = Room::new("places-exports");
    let record = room.file("run.jobmeter");
    let recorded = room.finish(room.jobmeter(&["run", "-q", "--record", &record, "--", "true"]));
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let commands: [(&str, &[&str]); 6] = [
        ("csv", &["export", &record, "-f", "csv"]),
        ("parquet", &["export", &record, "-f", "parquet"]),
        ("sqlite", &["export", &record, "-f", "sqlite"]),
        ("txt", &["export", &record, "--layout", "gpu-tracker"]),
        ("html", &["report", "--static", &record]),
        ("svg", &["plot", &record]),
    ];
    for (ending, words) in commands {
        let (file, link) = (room.file(&format!("file.{ending}")), room.file(&format!("link.{ending}")));
        fs::write(&file, "old").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("chmod");
        symlink(&file, &link).expect("a link");
        let write = |options: &[&str], path: &str| {
            let words = [words, &["-o", path], options].concat();
            let run = room.finish(room.jobmeter(&words));
            (run.code, run.stderr)
        };
        let (code, stderr) = write(&[], &link);
        assert!(code == 125 && stderr.contains("exists already"), "{ending}: {stderr}");
        assert_eq!(fs::read_to_string(&file).expect("untouched"), "old");
        let (code, stderr) = write(&["--force"], &link);
        assert!(code == 0 && stderr.starts_with("jobmeter: wrote "), "{ending}: {stderr}");
        assert!(stderr.contains(&link) && stderr.lines().count() == 1, "{ending}: {stderr}");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink(), "{ending}");
        assert_eq!(fs::metadata(&file).expect("there").mode() & 0o777, 0o644, "{ending}");
        assert_ne!(fs::read(&file).expect("there"), b"old", "{ending}");
        let dangling = room.file(&format!("dangling.{ending}"));
        symlink(room.path("no/where"), &dangling).expect("a link");
        let (code, stderr) = write(&["--force"], &dangling);
        assert!(code == 125 && stderr.contains("folder does not exist"), "{ending}: {stderr}");
    }
    for words in [&["export", &record, "-o", "/dev/stdout"][..], &["report", "--static", &record, "-o", "-"]]
    {
        let run = room.finish(room.jobmeter(words));
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        assert!(!run.stdout.is_empty(), "{words:?}");
    }
    assert!(names(&room.dir).iter().all(|name| !name.contains(".part")), "{:?}", names(&room.dir));
}

/// A file of the run itself: replaced where it is asked for, with its link and its mode.
#[test]
fn records_follow_the_same_rules() {
    let room = Room::new("places-records");
    let (record, link) = (room.file("a.jobmeter"), room.file("link"));
    fs::write(&record, "old").expect("a file");
    fs::set_permissions(&record, fs::Permissions::from_mode(0o640)).expect("chmod");
    symlink("a.jobmeter", &link).expect("a link");
    symlink("nothing", room.path("dangling")).expect("a link");
    let run = |path: &str, options: &[&str]| {
        let ran = room.file("ran");
        let words = [&["run", "-q", "--record", path], options, &["--", "touch", &ran]].concat();
        let run = room.finish(room.jobmeter(&words));
        (run.code, run.stderr, fs::remove_file(&ran).is_ok())
    };
    for path in [&record, &link, &room.file("dangling")] {
        let (code, stderr, ran) = run(path, &[]);
        assert!(code == 125 && !ran && stderr.contains("exists already"), "{path}: {stderr}");
    }
    let (code, stderr, ran) = run("/dev/null", &["--force"]);
    assert!(code == 125 && !ran && stderr.contains("not a regular file"), "{stderr}");
    assert_eq!(run(&link, &["--force"]), (0, String::new(), true));
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(fs::metadata(&record).expect("there").mode() & 0o777, 0o640);
    wait_until("the record is whole", || fs::metadata(&record).is_ok_and(|meta| meta.len() > 100));
    assert_eq!(room.finish(room.jobmeter(&["show", &link])).code, 0);
}
