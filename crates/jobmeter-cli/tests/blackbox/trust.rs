//! Files and variables of others: a `jobmeter.toml` that somebody planted, and a caller with fewer rights than ours.

use crate::help::fake_nvml::library;
use crate::help::{JOBMETER, Room, Run, is_root, not_here};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

struct Folder {
    room: Room,
    file: PathBuf,
}

impl Folder {
    fn new(name: &str) -> Folder {
        let room = Room::new(name);
        fs::create_dir(room.path("cwd")).expect("a folder");
        let file = room.path("cwd/jobmeter.toml");
        Folder { room, file }
    }

    /// The only file there, with this text and mode.
    fn plant(&self, text: &str, mode: u32) {
        let _ = fs::remove_file(&self.file).or_else(|_| fs::remove_dir(&self.file));
        fs::write(&self.file, text).expect("write");
        fs::set_permissions(&self.file, fs::Permissions::from_mode(mode)).expect("chmod");
    }

    fn run(&self, words: &[&str]) -> Run {
        let summary = self.room.file("summary.json");
        let words = [&["run", "-f", "json", "-o", &summary], words].concat();
        let mut command = self.room.jobmeter(&words);
        command.current_dir(self.room.path("cwd")).env("XDG_CONFIG_HOME", self.room.path("xdg"));
        self.room.finish(command)
    }

    /// The job ran, one warning was given, and the settings of the file had no effect.
    fn is_passed_over(&self, case: &str, reason: &str) {
        let run = self.run(&["--", "true"]);
        assert_eq!(run.code, 0, "{case}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{case}: {}", run.stderr);
        assert!(
            run.stderr.starts_with("jobmeter: warning: jobmeter.toml is not read: "),
            "{case}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(reason), "{case}: {}", run.stderr);
        assert_eq!(run.summary().run.interval_ns, None, "{case}");
    }
}

#[test]
fn a_planted_settings_file_is_passed_over_with_one_warning() {
    let folder = Folder::new("trust-planted");
    const TEXT: &str = "interval = \"300ms\"\n";
    folder.plant(TEXT, 0o644);
    assert_eq!(
        folder.run(&["--", "true"]).summary().run.interval_ns,
        Some(300_000_000),
        "our own file counts"
    );
    for mode in [0o664, 0o646, 0o666] {
        folder.plant(TEXT, mode);
        folder.is_passed_over("writable by others", "others may write it");
    }
    folder.plant("this is [ no TOML", 0o666);
    folder.is_passed_over("broken, and open to others", "others may write it");

    fs::remove_file(&folder.file).expect("remove");
    fs::create_dir(&folder.file).expect("a folder");
    folder.is_passed_over("a folder", "not a plain file");
    fs::remove_dir(&folder.file).expect("remove");
    assert!(Command::new("mkfifo").arg(&folder.file).status().expect("mkfifo").success());
    folder.is_passed_over("a pipe", "not a plain file");
    for device in ["/dev/zero", "/dev/tty"] {
        fs::remove_file(&folder.file).expect("remove");
        symlink(device, &folder.file).expect("a link");
        folder.is_passed_over(device, "not a plain file");
    }
    fs::remove_file(&folder.file).expect("remove");
    symlink("nowhere", &folder.file).expect("a link");
    let dangling = folder.run(&["--", "true"]);
    assert_eq!((dangling.code, dangling.stderr.as_str()), (0, ""), "a link to nothing is no file");

    fs::write(folder.room.path("real.toml"), TEXT).expect("write");
    fs::remove_file(&folder.file).expect("remove");
    symlink("../real.toml", &folder.file).expect("a link");
    assert_eq!(
        folder.run(&["--", "true"]).summary().run.interval_ns,
        Some(300_000_000),
        "our own link counts"
    );
    if !is_root() {
        return not_here("files of another user can only be made by root");
    }
    lchown(&folder.file, Some(12345), None).expect("chown");
    folder.is_passed_over("another user's link to our file", "the link belongs to user 12345");
    for text in [TEXT, "this is [ no TOML"] {
        folder.plant(text, 0o644);
        chown(&folder.file, Some(12345), None).expect("chown");
        folder.is_passed_over("another user's file", "belongs to user 12345");
    }
    // Looking for a run reads the settings twice, and warns once.
    let mut shown = folder.room.jobmeter(&["show", "last"]);
    let shown = folder.room.finish({
        shown.current_dir(folder.room.path("cwd"));
        shown
    });
    assert_eq!((shown.code, shown.stderr.lines().count()), (0, 1), "{}", shown.stderr);
}

#[test]
fn what_is_stored_and_where_is_not_said_by_a_working_directory() {
    let folder = Folder::new("trust-keys");
    folder.plant("redact = false\nstore = \"stolen\"\nrecord = false\ninterval = \"300ms\"\n", 0o644);
    let run = folder.run(&["--", "true", "--password", "hunter2-xyz"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for (key, variable) in
        [("redact", "JOBMETER_REDACT"), ("store", "JOBMETER_STORE"), ("record", "JOBMETER_RECORD")]
    {
        let told = |line: &&str| {
            line.contains(&format!("jobmeter.toml: {key} is not taken")) && line.contains(variable)
        };
        assert_eq!(run.stderr.lines().filter(told).count(), 1, "{key}: {}", run.stderr);
    }
    assert!(run.stderr.contains("xdg/jobmeter/config.toml"), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 3, "{}", run.stderr);
    assert!(!run.summary().run.command.concat().contains("hunter2-xyz"));
    assert_eq!(run.summary().run.interval_ns, Some(300_000_000), "the other settings count");
    assert_eq!(folder.room.store_files().len(), 1, "the record is kept where it belongs");
    assert!(!folder.room.path("cwd/stolen").exists());
}

/// Copies that the kernel starts with AT_SECURE: setuid, setgid and with a file capability, run by `nobody`.
#[test]
fn more_rights_than_the_caller_load_nothing_the_caller_names() {
    if !is_root() {
        return not_here("a program with more rights than its caller can only be made by root");
    }
    let place = tempfile::tempdir().expect("a folder that all may enter");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).expect("chmod");
    let path = |name: &str| place.path().join(name);
    let fake = path("libfake.so");
    fs::copy(library(), &fake).expect("copy");
    fs::write(path("state.json"), "{}").expect("write");
    let plain = |name: &str, mode: u32| {
        fs::copy(JOBMETER, path(name)).expect("copy");
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).expect("chmod");
    };
    plain("plain", 0o755);
    plain("setuid", 0o4755);
    plain("setgid", 0o2755);
    plain("capable", 0o755);
    let capable = Command::new("setcap").arg("cap_net_raw+ep").arg(path("capable")).status();
    // Whether the library was loaded is told by the kernel's list of mappings; the maps of a program with more rights are
    // closed to its job, and -v says what was looked for.
    let run = |program: &str, flag: bool| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(path(program));
        command.args(["run", "--no-record", "-v"]);
        command
            .env("FAKE_NVML_STATE", path("state.json"))
            .env_remove("XDG_CONFIG_HOME")
            .env("HOME", "/nonexistent");
        match flag {
            true => command.arg("--nvml").arg(&fake),
            false => command.env("JOBMETER_NVML_PATH", &fake),
        };
        // Drivers live in a process of their own, beside the job.
        let look = format!("sleep 0.5; cat /proc/[0-9]*/maps 2>/dev/null | grep -cF {}", fake.display());
        command.args(["--", "sh", "-c", &look]);
        let output = command.current_dir(place.path()).stdin(Stdio::null()).output().expect("start");
        let (stdout, stderr) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
        (String::from_utf8_lossy(&stdout).trim().to_owned(), stderr)
    };
    let (mapped, stderr) = run("plain", false);
    assert!(mapped.parse::<u32>().is_ok_and(|count| count > 0), "{mapped}: {stderr}");
    let mut programs = vec!["setuid", "setgid"];
    match capable.is_ok_and(|status| status.success()) {
        true => programs.push("capable"),
        false => not_here("setcap is missing or refused; setuid and setgid are tested"),
    }
    for program in programs {
        for (flag, name) in [(false, "JOBMETER_NVML_PATH"), (true, "--nvml")] {
            let (mapped, stderr) = run(program, flag);
            let warning = format!("jobmeter: warning: {name} is ignored: ");
            assert_eq!(stderr.matches(&warning).count(), 1, "{program}: {stderr}");
            assert!(["0", ""].contains(&mapped.as_str()), "{program} {name}: loaded; {stderr}");
            assert!(!stderr.contains("libfake.so"), "{program} {name}: looked for; {stderr}");
        }
    }
}
