//! The wall time that is added to a command that does nothing, against what GNU time adds.

use crate::metered::Place;
use crate::table::{Table, held, median};
use jobmeter_testkit::sys;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 401;
const RATIO_LIMIT: f64 = 2.5;
const PAUSE_MS: u64 = 5;

pub(crate) fn print(place: &Place) -> io::Result<()> {
    let gnu_time = Path::new("/usr/bin/time");
    if !gnu_time.exists() {
        return Err(io::Error::other("GNU time is missing; install the package `time`"));
    }
    let with = |program: &Path, arguments: &[&str]| {
        let mut command = place.command(program);
        command.args(arguments);
        command
    };
    let mut commands: [(&str, Command); 4] = [
        ("bare", with(Path::new("/bin/true"), &[])),
        ("GNU time", with(gnu_time, &["/bin/true"])),
        ("jobmeter run", with(&place.jobmeter, &["run", "--", "/bin/true"])),
        (
            "jobmeter run -q --no-record",
            with(&place.jobmeter, &["run", "-q", "--no-record", "--", "/bin/true"]),
        ),
    ];
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); commands.len()];
    for _ in 0..ROUNDS {
        for ((_, command), times) in commands.iter_mut().zip(&mut times) {
            // The kernel tidies up behind each command for a while; none should pay for the one before.
            sys::sleep_ms(PAUSE_MS);
            let start = Instant::now();
            let status = command.status()?;
            times.push(start.elapsed().as_nanos() as f64);
            if !status.success() {
                return Err(io::Error::other(format!("{command:?} failed: {status}")));
            }
        }
    }
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    let (bare, gnu) = (medians[0], medians[1] - medians[0]);
    let mut table =
        Table::new(&["around `true`", "median ms", "added ms", "of what GNU time adds", "at most", "held"]);
    for (index, (name, _)) in commands.iter().enumerate() {
        let added = medians[index] - bare;
        let ratio = added / gnu;
        let (limit, holds) = match index {
            0 | 1 => ("–".to_owned(), "–".to_owned()),
            _ => (format!("{RATIO_LIMIT:.1}"), held(ratio <= RATIO_LIMIT)),
        };
        let ratio = if index == 0 { "–".to_owned() } else { format!("{ratio:.2}") };
        table.row(vec![
            (*name).to_owned(),
            format!("{:.3}", medians[index] / 1e6),
            format!("{:.3}", added / 1e6),
            ratio,
            limit,
            holds,
        ]);
    }
    table.print(&format!("Added wall time (median of {ROUNDS}, interleaved)"))
}
