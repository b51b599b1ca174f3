//! The exit status is the job's, and the verdict says how it came about.

use crate::help::{Room, testkit};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

struct Case {
    name: &'static str,
    command: Vec<OsString>,
    code: i32,
    /// Verdict kind, and the exit code or signal in it; `None` where the job never began.
    verdict: Option<(&'static str, i32)>,
}

fn case(name: &'static str, command: &[&str], code: i32, verdict: Option<(&'static str, i32)>) -> Case {
    Case { name, command: command.iter().map(OsString::from).collect(), code, verdict }
}

fn cases(room: &Room) -> Vec<Case> {
    let sh = |name, script: &str, code, verdict| case(name, &["sh", "-c", script], code, verdict);
    let plain = room.file("plain.txt");
    std::fs::write(&plain, "not a program").expect("write");
    let script = room.file("script");
    std::fs::write(&script, "#!/bin/sh\nexit 9\n").expect("write");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("make it executable");
    let bare_script = room.file("bare-script");
    std::fs::write(&bare_script, "exit 8\n").expect("write");
    std::fs::set_permissions(&bare_script, PermissionsExt::from_mode(0o755)).expect("make it executable");
    let bad_interpreter = room.file("bad-interpreter");
    std::fs::write(&bad_interpreter, "#!/no/such/interpreter\n").expect("write");
    std::fs::set_permissions(&bad_interpreter, PermissionsExt::from_mode(0o755)).expect("make it executable");
    let testkit = testkit();
    let testkit = testkit.to_str().expect("a UTF-8 path");
    let mut cases = vec![
        case("success", &["true"], 0, Some(("exited", 0))),
        case("failure", &["false"], 1, Some(("exited", 1))),
        sh("code 7", "exit 7", 7, Some(("exited", 7))),
        sh("code 255", "exit 255", 255, Some(("exited", 255))),
        sh("the job's own 124 is no time limit", "exit 124", 124, Some(("exited", 124))),
        sh("the job's own 125 is no failure of ours", "exit 125", 125, Some(("exited", 125))),
        sh("the job's own 126", "exit 126", 126, Some(("exited", 126))),
        sh("the job's own 127", "no-such-command-here", 127, Some(("exited", 127))),
        sh("the job's own 139 is no signal", "exit 139", 139, Some(("exited", 139))),
        sh("segmentation fault", "kill -SEGV $$", 139, Some(("signaled", 11))),
        sh("killed", "kill -KILL $$", 137, Some(("signaled", 9))),
        sh("terminated by itself", "kill -TERM $$", 143, Some(("signaled", 15))),
        sh("interrupted by itself", "kill -INT $$", 130, Some(("signaled", 2))),
        sh("abort", "kill -ABRT $$", 134, Some(("signaled", 6))),
        sh("broken pipe", "kill -PIPE $$", 141, Some(("signaled", 13))),
        sh("hung up", "kill -HUP $$", 129, Some(("signaled", 1))),
        sh("real-time signal", "kill -40 $$", 168, Some(("signaled", 40))),
        sh("child killed, main fine", "sh -c 'kill -KILL $$'; exit 3", 3, Some(("exited", 3))),
        case("main thread gone first", &[testkit, "leader-exit", "100", "6"], 6, Some(("exited", 6))),
        case("missing command", &["no-such-command-here"], 127, None),
        case("missing path", &["./no/such/path"], 127, None),
        case("empty name", &[""], 127, None),
        case("directory", &["/"], 126, None),
        case("not executable", &[&plain], 126, None),
        case("component is no directory", &[&format!("{plain}/x")], 126, None),
        case("script", &[&script], 9, Some(("exited", 9))),
        case("script without interpreter line", &[&bare_script], 8, Some(("exited", 8))),
        case("script with a missing interpreter", &[&bad_interpreter], 127, None),
        case(
            "arguments that look like ours",
            &["sh", "-c", "exit $#", "--", "-i", "-o", "--", "-q"],
            4,
            Some(("exited", 4)),
        ),
    ];
    let odd = OsStr::from_bytes(b"\xff\xfe='%s' \n");
    cases.push(Case {
        name: "arguments that are not UTF-8",
        command: vec!["sh".into(), "-c".into(), "exit ${#1}".into(), "-".into(), odd.to_owned()],
        // dash counts bytes.
        code: odd.len() as i32,
        verdict: Some(("exited", odd.len() as i32)),
    });
    cases
}

#[test]
fn the_exit_status_is_the_jobs() {
    let room = Room::new("status");
    let cases = cases(&room);
    assert!(cases.len() >= 25);
    let mut wrong = Vec::new();
    for case in &cases {
        let file = room.file("summary.json");
        let options: [&OsStr; 7] = ["run", "-f", "json", "--force", "-o", &file, "--"].map(OsStr::new);
        let arguments: Vec<&OsStr> =
            options.into_iter().chain(case.command.iter().map(OsString::as_os_str)).collect();
        let run = room.finish(room.jobmeter(&arguments));
        let mut problems = Vec::new();
        if run.code != case.code {
            problems.push(format!("code {} instead of {}", run.code, case.code));
        }
        if !run.stdout.is_empty() {
            problems.push(format!("said {:?} on standard output", String::from_utf8_lossy(&run.stdout)));
        }
        match case.verdict {
            None => {
                if !run.stderr.starts_with("jobmeter: ") || run.stderr.trim_end().lines().count() != 1 {
                    problems.push("no one-sentence error".to_owned());
                }
            }
            Some((kind, number)) => match room.summary_file() {
                None => problems.push("no summary".to_owned()),
                Some(summary) => {
                    let verdict = &summary.verdict;
                    let found = if kind == "exited" { verdict.exit_code } else { verdict.signal };
                    if verdict.kind != kind || found != Some(number) {
                        problems.push(format!("verdict {verdict:?} instead of {kind} {number}"));
                    }
                }
            },
        }
        if !problems.is_empty() {
            wrong.push(format!("{}: {}; stderr: {}", case.name, problems.join(", "), run.stderr.trim_end()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn no_command_is_our_own_failure() {
    let room = Room::new("no-command");
    for arguments in [&["run"][..], &["run", "--"], &["run", "-e", ""], &["run", "-e", "  "]] {
        let run = room.finish(room.jobmeter(arguments));
        assert_eq!(run.code, 125, "{arguments:?}: {}", run.stderr);
        assert!(run.stdout.is_empty());
        assert!(!run.stderr.is_empty());
    }
    assert!(room.store_files().is_empty(), "a run that never began is recorded");
}

#[test]
fn wrong_options_never_start_the_job() {
    let room = Room::new("wrong-options");
    let touched = room.file("touched");
    for options in
        [&["-i", "0"][..], &["-i", "soon"], &["--timeout", "-1s"], &["--no-such-option"], &["-f", "xml"]]
    {
        let mut arguments = vec!["run"];
        arguments.extend(options);
        arguments.extend(["--", "touch", &touched]);
        let run = room.finish(room.jobmeter(&arguments));
        assert_eq!(run.code, 125, "{options:?}: {}", run.stderr);
        assert!(!room.path("touched").exists(), "{options:?} started the job");
    }
}

#[test]
fn a_command_line_is_split_as_a_shell_would() {
    let room = Room::new("split");
    let cases: &[(&str, &[&str])] = &[
        ("printf %s\\n one two", &["one", "two"]),
        ("printf '%s\\n' 'one two' \"three four\"", &["one two", "three four"]),
        ("printf %s\\\\n a\\ b ''", &["a b", ""]),
        ("printf %s\\\\n \"it's\" 'say \"x\"' a\"b\"'c'", &["it's", "say \"x\"", "abc"]),
        ("printf %s\\\\n $HOME '*' `x`", &["$HOME", "*", "`x`"]),
        ("printf %s\\\\n \"a \\\" \\\\ b\"", &["a \" \\ b"]),
    ];
    for (line, expected) in cases {
        // The first row shows that a backslash outside quotes escapes: printf is given `%sn`.
        let expected: String = if line.starts_with("printf %s\\n") {
            expected.iter().map(|word| format!("{word}n")).collect()
        } else {
            expected.iter().map(|word| format!("{word}\n")).collect()
        };
        let run = room.finish(room.jobmeter(&["run", "-q", "-e", line]));
        assert_eq!(run.code, 0, "{line}: {}", run.stderr);
        assert_eq!(String::from_utf8_lossy(&run.stdout), expected, "{line}");
    }
    let run = room.finish(room.jobmeter(&["run", "-q", "-e", "echo 'open"]));
    assert_eq!(run.code, 125, "an open quote is refused");
}
