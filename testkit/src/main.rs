//! One binary with every workload: `testkit NAME ARGUMENTS…`. Exit code 99 means that the workload itself failed,
//! so that a test never takes a broken workload for a broken meter.

#[cfg(target_arch = "x86_64")]
use jobmeter_testkit::fault;
use jobmeter_testkit::{
    cpu, floor, grab, inherit, invariants, memory, names, once, signals, sys, tree, witness,
};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

const USAGE: &str = "\
testkit burn MS                                  burn CPU in this process
testkit sleep MS                                 do nothing
testkit spawn-short COUNT MS                     children one after the other (fork)
testkit spawn-exec COUNT MS                      the same with posix_spawn
testkit clone-no-sigchld COUNT MS                the same with clone and no exit signal
testkit threads COUNT MS                         busy threads
testkit churn COUNT                              short threads, two at a time
testkit daemons COUNT MS                         double-forked daemons in sessions of their own
testkit autoreap ignore|nocldwait COUNT MS       children that the kernel reaps into nobody
testkit leader-exit MS CODE                      main thread gone, another one works
testkit zombies COUNT MS                         children that are not waited for
testkit many COUNT MS TRUTH                      living processes
testkit storm PER_SECOND SECONDS TRUTH           a fork storm
testkit leave-behind MS FILE                     a child outlives the main process
testkit stubborn FILE                            a tree that ignores TERM
testkit names MS HOLD_MS                         hostile process names
testkit hold BYTES HOLD_MS TOTAL_MS TRUTH        a burst of memory
testkit cow BLOCK CHILDREN PRIVATE MS TRUTH      copy-on-write children
testkit shared -|FILE BYTES CHILDREN MS TRUTH    a shared mapping, anonymous or of a file
testkit daemon-hold BYTES MS TRUTH               memory in a daemonised grandchild
testkit family BYTES CHILDREN EACH MS TRUTH      a large parent of small programs
testkit grab HOW BYTES MS FILE                   memory in an unusual way: touch populate advise huge file
                                                 file-populate shared orphan leader exec HOW-exec
testkit map-fault RESIDENT BLOCK SECONDS TRUTH   map, fault and unmap beside a large resident block
testkit inherited FILE ARGUMENTS…                what was inherited
testkit copy                                     standard input to standard output
testkit signals FILE [stop]                      signals received; TERM ends it with 42
testkit job-control FILE COMMAND…                a small interactive shell
testkit once FOLDER TEXT STATUS CHILD_MS         leave a file per run, print, exit with a status
testkit fault REPORT list|FAULT COMMAND…         list a program's system calls, or make one fail
testkit fault-marked REPORT list|FAULT COMMAND…  the same between marks that the program sets
testkit fault-plan REPORT WHOLE EACH STRIDE PLACES
                                                 the faults to try for a list of calls, with words
testkit witness TRUTH COMMAND…                   run a command, write its CPU time by cgroup or wait4
testkit check-summary FILE...                    whether summaries contradict themselves
testkit floor PROCESSES MS TICKS TRUTH [READ=EVERY…]
                                                 the bare kernel reads of a meter
";

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = run(&arguments).unwrap_or_else(|error| {
        eprintln!("testkit: {error}");
        99
    });
    std::process::exit(code);
}

fn run(arguments: &[OsString]) -> io::Result<i32> {
    let Some((name, rest)) = arguments.split_first() else { return Err(io::Error::other(USAGE)) };
    let given = Arguments(rest);
    let done = |result: io::Result<()>| result.map(|()| 0);
    match name.to_str().unwrap_or_default() {
        "burn" => {
            cpu::burn(given.number(0)?);
            Ok(0)
        }
        "sleep" => {
            sys::sleep_ms(given.number(0)?);
            Ok(0)
        }
        "spawn-short" => done(cpu::spawn_short(given.number(0)?, given.number(1)?)),
        "spawn-exec" => done(cpu::spawn_exec(given.number(0)?, given.number(1)?)),
        "clone-no-sigchld" => done(tree::clone_without_sigchld(given.number(0)?, given.number(1)?)),
        "threads" => {
            cpu::threads(given.number(0)?, given.number(1)?);
            Ok(0)
        }
        "churn" => done(cpu::churn(given.number(0)?)),
        "daemons" => done(cpu::daemons(given.number(0)?, given.number(1)?)),
        "autoreap" => done(cpu::autoreap(given.text(0)?, given.number(1)?, given.number(2)?)),
        "leader-exit" => tree::leader_exit(given.number(0)?, given.number(1)? as i32),
        "zombies" => done(tree::zombies(given.number(0)?, given.number(1)?)),
        "many" => done(tree::many(given.number(0)?, given.number(1)?, given.path(2)?)),
        "storm" => done(tree::storm(given.number(0)?, given.number(1)?, given.path(2)?)),
        "leave-behind" => done(tree::leave_behind(given.number(0)?, given.path(1)?)),
        "stubborn" => done(tree::stubborn(given.path(0)?)),
        "names" => done(names::hostile(given.number(0)?, given.number(1)?)),
        "hold" => done(memory::hold(given.bytes(0)?, given.number(1)?, given.number(2)?, given.path(3)?)),
        "cow" => done(memory::cow(
            given.bytes(0)?,
            given.number(1)?,
            given.bytes(2)?,
            given.number(3)?,
            given.path(4)?,
        )),
        "shared" => {
            let file = Some(given.path(0)?).filter(|path| *path != Path::new("-"));
            done(memory::shared(file, given.bytes(1)?, given.number(2)?, given.number(3)?, given.path(4)?))
        }
        "daemon-hold" => done(memory::daemon_hold(given.bytes(0)?, given.number(1)?, given.path(2)?)),
        "family" => done(memory::family(
            given.bytes(0)?,
            given.number(1)?,
            given.bytes(2)?,
            given.number(3)?,
            given.path(4)?,
        )),
        "grab" => done(grab::grab(given.text(0)?, given.bytes(1)?, given.number(2)?, given.path(3)?)),
        "map-fault" => {
            let seconds = given.number(2)? as f64;
            done(memory::map_fault(given.bytes(0)?, given.bytes(1)?, seconds, given.path(3)?))
        }
        "inherited" => done(inherit::report(given.path(0)?, &rest[1..])),
        "copy" => done(inherit::copy()),
        "signals" => signals::report(given.path(0)?, rest.get(1).is_some_and(|word| word == "stop")),
        "job-control" => signals::job_control(given.path(0)?, &rest[1..]),
        "check-summary" => {
            let mut is_sound = true;
            for file in rest {
                let summary = serde_json::from_slice(&std::fs::read(file)?)?;
                let found = invariants::violations(&summary);
                found.iter().for_each(|sentence| eprintln!("{}: {sentence}", file.to_string_lossy()));
                is_sound &= found.is_empty();
            }
            Ok(i32::from(!is_sound))
        }
        "once" => {
            once::once(given.path(0)?, given.text(1)?, given.number(3)?)?;
            Ok(given.number(2)? as i32)
        }
        #[cfg(target_arch = "x86_64")]
        "fault" | "fault-marked" if rest.len() > 2 => {
            fault::run(given.path(0)?, given.text(1)?, name == "fault-marked", &rest[2..])
        }
        #[cfg(target_arch = "x86_64")]
        "fault-plan" => {
            let depth = fault::plan::Depth {
                whole_up_to: given.number(1)?,
                errors_each: given.number(2)? as usize,
                stride: given.number(3)?,
                lasting_places: given.number(4)?,
            };
            for fault in fault::plan::faults(&std::fs::read_to_string(given.path(0)?)?, depth) {
                writeln!(io::stdout(), "{} {}", fault.text(), fault.words())?;
            }
            Ok(0)
        }
        "witness" => witness::run(given.path(0)?, &rest[1..]),
        "floor" => {
            let mut plan = floor::Plan::default();
            for setting in rest.iter().skip(4) {
                plan.set(&setting.to_string_lossy())?;
            }
            done(floor::run(given.number(0)?, given.number(1)?, given.number(2)?, plan, given.path(3)?))
        }
        _ => Err(io::Error::other(format!("no workload is called {name:?}\n{USAGE}"))),
    }
}

struct Arguments<'a>(&'a [OsString]);

impl<'a> Arguments<'a> {
    fn word(&self, index: usize) -> io::Result<&'a OsStr> {
        let missing = || io::Error::other(format!("argument {} is missing\n{USAGE}", index + 1));
        self.0.get(index).map(OsString::as_os_str).ok_or_else(missing)
    }

    fn text(&self, index: usize) -> io::Result<&'a str> {
        self.word(index)?.to_str().ok_or_else(|| io::Error::other("an argument is not UTF-8"))
    }

    fn path(&self, index: usize) -> io::Result<&'a Path> {
        self.word(index).map(Path::new)
    }

    fn number(&self, index: usize) -> io::Result<u64> {
        let text = self.text(index)?;
        text.parse().map_err(|_| io::Error::other(format!("'{text}' is not a number")))
    }

    /// A number with an optional `M` for 10^6 bytes.
    fn bytes(&self, index: usize) -> io::Result<usize> {
        let text = self.text(index)?;
        let (digits, factor) = text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000));
        let number: usize =
            digits.parse().map_err(|_| io::Error::other(format!("'{text}' is not a size")))?;
        Ok(number * factor)
    }
}
