//! Which crate may stand on which: the arrows of docs/architecture.md, asked of cargo itself.

use std::process::Command;

/// Names of all packages that `package` is built with, itself included.
fn tree(package: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--package",
            package,
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("start cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn no_crate_knows_more_than_it_should() {
    const FORBIDDEN: [(&str, &[&str]); 9] = [
        ("jobmeter-model", &["libc", "jobmeter-engine", "jobmeter-record"]),
        ("jobmeter-engine", &["jobmeter-record", "jobmeter-report", "jobmeter-gpu", "clap"]),
        ("jobmeter-insight", &["jobmeter-report", "jobmeter-gpu", "clap"]),
        ("jobmeter-report", &["rusqlite", "libsqlite3-sys", "parquet", "jobmeter-gpu", "clap", "pyo3"]),
        ("jobmeter-record", &["jobmeter-report", "jobmeter-insight", "jobmeter-gpu", "clap", "tiny-skia"]),
        ("jobmeter-gpu", &["jobmeter-record", "jobmeter-report", "clap"]),
        ("jobmeter-host", &["jobmeter-record", "jobmeter-report", "clap"]),
        ("jobmeter-http", &["jobmeter-model", "jobmeter-engine", "clap"]),
        ("jobmeter-compat", &["jobmeter-report", "clap", "pyo3"]),
    ];
    for (package, forbidden) in FORBIDDEN {
        let built_with = tree(package);
        assert!(built_with.iter().any(|name| name == package), "{built_with:?}");
        for name in forbidden {
            assert!(!built_with.iter().any(|built| built == name), "{package} is built with {name}");
        }
    }
}
