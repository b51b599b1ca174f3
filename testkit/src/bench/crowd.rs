//! What jobmeter costs at its default interval over ten thousand living processes, and in a fork storm.

use crate::metered::{Metered, Place};
use crate::table::{Table, held};
use std::io;

const SHARE_LIMIT: f64 = 0.20;

pub(crate) fn print(place: &Place) -> io::Result<()> {
    let workloads: [(&str, &[&str]); 3] = [
        ("one sleeping process, 10 s", &["sleep", "10000"]),
        ("10,000 living processes, 20 s", &["many", "10000", "20000"]),
        ("3,000 forks per second, 10 s", &["storm", "3000", "10"]),
    ];
    let mut table = Table::new(&["workload", "CPU s", "wall s", "share of a core", "at most", "held"]);
    for (name, workload) in workloads {
        let mut command = place.command(&place.jobmeter);
        command.args(["run", "-q", "--"]).arg(&place.testkit).args(workload).arg(place.path("crowd"));
        let (cpu_ns, wall_ns) = Metered::start(command)?.finish()?;
        let share = cpu_ns / wall_ns;
        table.row(vec![
            name.to_owned(),
            format!("{:.3}", cpu_ns / 1e9),
            format!("{:.1}", wall_ns / 1e9),
            format!("{:.2} %", 100.0 * share),
            format!("{:.0} %", 100.0 * SHARE_LIMIT),
            held(share < SHARE_LIMIT),
        ]);
    }
    table.print("Crowds and storms at the default interval")
}
