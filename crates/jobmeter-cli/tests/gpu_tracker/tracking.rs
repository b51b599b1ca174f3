//! The tracking files while they grow.

use crate::place::Place;
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_csv_grows_while_the_command_runs() {
    let place = Place::new();
    // The command itself waits for two rows behind the three lines at the top.
    let job = "bash -c 'while [ \"$(wc -l < t.csv 2>/dev/null || echo 0)\" -lt 5 ]; do sleep 0.02; done'";
    place.out(&["-e", job, "--st=0.1", "--tf=t.csv", "--disable-logs", "--ru=bytes"]);
    let text = place.read("t.csv");
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(
        lines[0],
        "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,\
         n_expected_cores,system_gpu_count,n_expected_gpus"
    );
    assert!(lines[1].starts_with("bytes,gigabytes,hours,"));
    assert!(lines[2].starts_with("main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,"));
    assert!(lines[2].ends_with(",cpu_combined_hardware_utilization_percent,timestamp"));
    assert!(lines.len() >= 5);
    let mut before = 0.0;
    for line in &lines[3..] {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("number")).collect();
        assert_eq!(cells.len(), 22);
        assert!(cells[0] > 1e5, "main lives in every row: {line}");
        assert!(cells[21] > before + 0.01, "time goes on: {line}");
        before = cells[21];
    }
    let mode = std::fs::metadata(place.path("t.csv")).expect("file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Overwriting starts anew.
    place.out(&["-e", "true", "--tf=t.csv", "--overwrite"]);
    assert!(place.read("t.csv").lines().count() < lines.len());
}

#[test]
fn the_database_grows_while_the_command_runs() {
    let place = Place::new();
    place.write(
        "job.py",
        "import sqlite3, time\n\
         def rows():\n    \
             try: return sqlite3.connect('file:t.sqlite?mode=ro', uri=True).execute('select count(*) from data').fetchone()[0]\n    \
             except sqlite3.OperationalError: return 0\n\
         while rows() < 2: time.sleep(0.02)\n",
    );
    place.out(&["-e", "python3 job.py", "--st=0.1", "--tf=t.sqlite", "--disable-logs"]);
    let shown = place.python(
        "import sqlite3; c = sqlite3.connect('t.sqlite')\n\
         print([r[0] for r in c.execute('select name from sqlite_master order by name')])\n\
         print(c.execute('select count(*) from static_data').fetchone()[0])\n\
         print(c.execute('select count(*) >= 2, min(main_ram) > 0, min(combined_n_threads) > 0 from data').fetchone())",
    );
    assert_eq!(shown, "['data', 'static_data']\n1\n(1, 1, 1)\n");
}
