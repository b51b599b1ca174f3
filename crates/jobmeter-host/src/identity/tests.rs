use super::*;
use std::path::Path;

/// Each file of `fixtures/environments` is the environment of one rank, with the identity that it must give in its first
/// lines, as `#= FIELD VALUE`.
#[test]
fn the_environment_of_each_system_gives_its_identity() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/environments");
    let mut systems = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of environments") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("an environment");
        let lines = || text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let pairs = lines().map(|line| line.split_once('=').expect("NAME=VALUE"));
        let job = JobEnvironment::read(pairs).job(&|| "parent".to_owned());
        let said = job.as_ref().map_or_else(String::new, |job| {
            let json = serde_json::to_value(job).expect("JSON");
            let fields = json.as_object().expect("an object").iter();
            let plain = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_owned);
            fields.map(|(name, value)| format!("#= {name} {}\n", plain(value))).collect()
        });
        let mut wanted: Vec<&str> = text.lines().filter(|line| line.starts_with("#=")).collect();
        wanted.sort_unstable();
        let mut got: Vec<&str> = said.lines().collect();
        got.sort_unstable();
        assert_eq!(got, wanted, "{}", path.display());
        systems.extend(job.map(|job| job.scheduler));
    }
    systems.sort_unstable();
    systems.dedup();
    assert!(systems.len() >= 10, "{systems:?}");
}

#[test]
fn no_variable_is_a_secret_and_all_are_found_by_their_initial() {
    for variable in tables::variables() {
        for word in ["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "_KEY", "AUTH"] {
            assert!(!variable.contains(word), "{variable}");
        }
        assert!(tables::INITIALS.contains(&variable.as_bytes()[0]), "{variable}");
    }
}

#[test]
fn an_ordinary_environment_has_no_job() {
    let pairs = [("HOME", "/root"), ("RANK", "3"), ("WORLD_SIZE", "8"), ("JOB_ID", "7"), ("HOSTNAME", "a-1")];
    assert_eq!(JobEnvironment::read(pairs).job(&|| unreachable!()), None);
    let broken = [("OMPI_COMM_WORLD_RANK", "many"), ("SLURM_JOB_ID", "")];
    assert_eq!(JobEnvironment::read(broken).job(&|| unreachable!()), None);
}

#[test]
fn the_index_of_a_pod_is_no_part_of_its_job() {
    let read = |pod| {
        let pairs =
            [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("HOSTNAME", pod), ("JOB_COMPLETION_INDEX", "3")];
        JobEnvironment::read(pairs).job(&|| unreachable!()).expect("a job").id
    };
    assert_eq!(read("train-3"), "train");
    assert_eq!(read("train-3-x7k2p"), "train");
    assert_eq!(read("web"), "web");
}
