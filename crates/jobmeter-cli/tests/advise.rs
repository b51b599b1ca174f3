//! `jobmeter advise` and `jobmeter servers` as a user meets them: real runs in a store of their own.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A store in a directory of its own, removed at the end.
struct Store(PathBuf);

impl Store {
    fn new(name: &str) -> Store {
        let path = std::env::temp_dir().join(format!("jobmeter-advise-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Store(path)
    }

    fn jobmeter(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_jobmeter"))
            .args(arguments)
            .env("XDG_DATA_HOME", &self.0)
            .env("XDG_STATE_HOME", &self.0)
            .env("HOME", &self.0)
            .env_remove("JOBMETER_STORE")
            .env_remove("JOBMETER_LIVE_ENDPOINT")
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.jobmeter(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // A left-over directory is no reason to fail a test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_named_run_brings_its_family_and_failures_are_left_out() {
    let store = Store::new("family");
    for _ in 0..3 {
        assert!(
            store
                .jobmeter(&["run", "-q", "--name", "demo", "--", "sh", "-c", "echo x > out"])
                .status
                .success()
        );
    }
    assert!(store.jobmeter(&["run", "-q", "--name", "other", "--", "true"]).status.success());
    assert_eq!(store.jobmeter(&["run", "-q", "--name", "demo", "--", "false"]).status.code(), Some(1));

    let answer = store.json(&["advise", "last", "--json", "--price-per-hour", "1EUR"]);
    let advice = &answer["advice"];
    assert_eq!((&advice["runs"], &advice["runs_used"]), (&4.into(), &3.into()), "{advice}");
    assert_eq!((&advice["name"], &advice["cores"]["value"]), (&"demo".into(), &1.into()));
    assert!(advice["memory_bytes"]["value"].as_u64().unwrap() >= 128 << 20);
    assert!(advice["memory_bytes"]["need"].as_f64().unwrap() > 0.0);
    assert!(answer["server"]["price_per_hour"].as_f64().unwrap() > 0.0);
    assert_eq!(answer["cost"]["present"]["rate"]["currency"], "EUR");

    let one = store.json(&["advise", "name:demo", "--only", "--json"]);
    assert_eq!(one["advice"]["runs"], 1);
    let set = store.json(&["advise", "name:demo*", "--json", "--policy", "simple"]);
    assert_eq!((&set["advice"]["runs"], &set["advice"]["policy"]), (&4.into(), &"simple".into()));

    let slurm = store.jobmeter(&["advise", "last", "--for", "slurm"]);
    let slurm = String::from_utf8(slurm.stdout).unwrap();
    assert!(
        slurm.contains("#SBATCH --mem=128M\n") && slurm.contains("#SBATCH --cpus-per-task=1\n"),
        "{slurm}"
    );
}

#[test]
fn a_catalogue_of_ones_own() {
    let store = Store::new("catalogue");
    std::fs::write(
        store.0.join("mine.csv"),
        "vendor,type,vcpus,memory_gib,price_per_hour,as_of\nlab,node,64,512,0.01,2026-01\naws,m5.large,2,8,9,2026-01\n",
    )
    .unwrap();
    let beside = store.json(&["servers", "--cpu", "64", "--catalogue", "mine.csv", "--json", "--limit", "2"]);
    assert_eq!(beside["servers"][0]["type"], "node");
    assert_eq!(beside["servers"].as_array().unwrap().len(), 2);
    let only = store.json(&["servers", "--catalogue", "mine.csv", "--catalogue-only", "--json"]);
    assert_eq!(only["servers"].as_array().unwrap().len(), 2);
    assert_eq!(only["servers"][1]["price_per_hour"], 9.0);
    assert_eq!(only["origin"]["file"]["only"], true);

    std::fs::write(
        store.0.join("bad.csv"),
        "vendor,type,vcpus,memory_gib,price_per_hour\nlab,node,64,512,free\n",
    )
    .unwrap();
    let bad = store.jobmeter(&["servers", "--catalogue", "bad.csv"]);
    assert_eq!(bad.status.code(), Some(125));
    let message = String::from_utf8(bad.stderr).unwrap();
    assert_eq!(message, "jobmeter: bad.csv line 2: price_per_hour is `free`, a number is needed\n");
}

#[test]
fn mistakes_are_one_sentence_and_exit_125() {
    let store = Store::new("mistakes");
    for (arguments, wanted) in [
        (&["advise", "last"][..], "no stored run fits"),
        (&["advise", "x.json"], "cannot read run `x.json`"),
        (&["advise", "last", "--risk", "200%"], "`200%` is not a chance"),
        (&["advise", "last", "--policy", "simple", "--risk", "1%"], "--risk belongs to --policy risk"),
        (&["advise", "last", "--for", "pbs"], "unknown format `pbs`; known: slurm, kubernetes"),
        (&["servers", "--vendor", "contoso"], "unknown vendor `contoso`; known: alibaba, aws"),
        (&["servers", "--cpu", "100000"], "--cpu is in the way"),
        (&["servers", "--live", "--endpoint", "https://127.0.0.1:1", "--vendor", "x"], "unknown vendor `x`"),
    ] {
        let output = store.jobmeter(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125), "{arguments:?}: {message}");
        assert!(message.contains(wanted) && message.lines().count() == 1, "{arguments:?}: {message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_page_tells_server_cost_and_allocation() {
    let store = Store::new("page");
    assert!(store.jobmeter(&["run", "-q", "--name", "demo", "--", "true"]).status.success());
    let hostile = "<script>alert(1)</script>";
    std::fs::write(
        store.0.join("own.csv"),
        format!("vendor,type,vcpus,memory,price_per_hour,currency,region,as_of\nlab,{hostile},64,1TiB,0.0001,EUR,cellar,2026-01\n"),
    )
    .unwrap();
    let page = |options: &[&str]| {
        let arguments = [&["report", "last", "-o", "page.html", "--force"], options].concat();
        let output = store.jobmeter(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let page = std::fs::read_to_string(store.0.join("page.html")).unwrap();
        let start = page.find("Server and cost").expect("the section");
        page[start..start + page[start..].find("</section>").unwrap()].to_owned()
    };
    let plain = page(&[]);
    assert!(plain.contains("What this server costs is not known") && plain.contains("as of"), "{plain}");
    assert!(
        ["dedicated to", "shared with", "not known to"].iter().any(|word| plain.contains(word)),
        "{plain}"
    );
    let priced = page(&["--price-per-hour", "3.6EUR", "--catalogue", "own.csv"]);
    for wanted in [
        "3.60 EUR",
        "your price",
        "lab/&lt;script&gt;alert(1)&lt;/script&gt;",
        "your catalogue",
        "2026-01",
        "saves",
    ] {
        assert!(priced.contains(wanted), "{wanted} is missing in {priced}");
    }
    assert!(!priced.contains("<script"));
    assert!(
        page(&["--instance", "aws/m5.4xlarge", "--vendor", "gcp"]).contains("aws/m5.4xlarge in us-east-1")
    );
    for wrong in [["--instance", "aws/none"], ["--price-per-hour", "free"], ["--vendor", "contoso"]] {
        let output =
            store.jobmeter(&[&["report", "last", "-o", "page.html", "--force"], &wrong[..]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(125), 1), "{error}");
    }
}

#[test]
fn tagged_input_sizes_are_fitted_and_the_fit_is_told() {
    let store = Store::new("input");
    for size in 1..=4 {
        // Writes as many bytes as its tag says, so that the scratch disk follows the input.
        let (tag, job) = (format!("input={size}MB"), format!("head -c {size}000000 /dev/zero > out"));
        let run = store.jobmeter(&["run", "-q", "--name", "grow", "--tag", &tag, "--", "sh", "-c", &job]);
        assert!(run.status.success());
    }
    let answer = store.json(&["advise", "last", "--json", "--input", "8MB"]);
    assert_eq!(answer["advice"]["runs_used"], 4);
    let disk = &answer["advice"]["disk_bytes"];
    assert!(disk["fit"]["r_squared"].as_f64().is_some_and(|fit| fit > 0.99), "{disk}");
    assert!(disk["need"].as_f64().is_some_and(|bytes| bytes >= 8e6), "{disk}");
    assert!(disk["why"].as_str().unwrap().contains("R²"), "{disk}");
}
