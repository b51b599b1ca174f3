//! `jobmeter attach`: every call of it fails in turn; the process that it watches is not ours and notices nothing.

use crate::bench::{Bench, JOBMETER, Seen, testkit};
use crate::namespace::inside;
use crate::sweep::sweep;
use crate::verdict::unharmed;
use jobmeter_testkit::fault::Fault;
use jobmeter_testkit::fault::plan::Depth;
use std::io::Read;
use std::process::Stdio;

/// How long the watched process lives; the meter starts within a fifth of it.
const LIFE_MS: u64 = 60;

#[test]
fn to_a_process_that_lives_a_moment() {
    inside("attach::to_a_process_that_lives_a_moment", || {
        let bench = Bench::new("attach");
        let case = |fault: Option<&Fault>| {
            let mut target = bench.command(&testkit());
            let mut target = target
                .args(&bench.job(3, LIFE_MS)[1..])
                .stderr(Stdio::inherit())
                .spawn()
                .expect("the process to watch");
            let mut command = bench.traced(fault);
            command.args([JOBMETER, "attach", "-i", "10ms", &target.id().to_string()]);
            let mut seen = bench.finish(command, Some(&mut target));
            let mut said = String::new();
            let _ = target.stdout.take().map(|mut pipe| pipe.read_to_string(&mut said));
            seen.stdout.push_str(&said);
            seen
        };
        let verdict = |seen: &Seen, _: Option<&Fault>| judge(seen);
        let depth = Depth { whole_up_to: 2, errors_each: 1, stride: 2, lasting_places: 2 };
        sweep(&bench, depth, case, verdict).close("attach", 150);
    });
}

/// Whether it was watched, or what is wrong.
fn judge(seen: &Seen) -> Result<bool, String> {
    unharmed(seen)?;
    if (seen.ran, seen.target_code, seen.stdout.as_str()) != (1, Some(3), "out\n") {
        let (ran, code, out) = (seen.ran, seen.target_code, &seen.stdout);
        return Err(format!("the watched process ran {ran} times, ended with {code:?} and said {out:?}"));
    }
    match seen.code {
        Some(0) => Ok(true),
        // 127: the dynamic loader.
        Some(125 | 127) if !seen.stderr.is_empty() => Ok(false),
        code => Err(format!("exit status {code:?}: {}", seen.stderr)),
    }
}
