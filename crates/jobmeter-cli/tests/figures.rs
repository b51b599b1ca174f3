//! The contract between those who make figures and those who ask for them: every key in the stored summaries is one that
//! the metric table knows, and nobody asks for a statistic that no run yields.

use jobmeter_model::metric::TABLE;
use jobmeter_model::{Entity, EntityKind, FigureId, Metric, Scope, Stat};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(below: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

fn hold(scope: Scope, entity: Option<&Entity>, figures: &Value, count: &mut usize) {
    for key in figures.as_object().expect("figures").keys() {
        let id = FigureId::parse(scope, entity, key).unwrap_or_else(|| panic!("nobody knows {key}"));
        assert_eq!(id.key(), key.as_str());
        *count += 1;
    }
}

#[test]
fn every_key_of_the_stored_summaries_is_read_back() {
    let mut summaries = Vec::new();
    files(&root().join("fixtures/golden"), "show.json", &mut summaries);
    assert!(summaries.len() >= 4);
    let mut count = 0;
    for path in summaries {
        let text = std::fs::read_to_string(&path).expect("a golden file");
        let summary: Value = serde_json::from_str(text.split("--- ").next().expect("JSON")).expect("JSON");
        // None of them had a container.
        for scope in Scope::MEASURED {
            hold(scope, None, &summary[scope.key()], &mut count);
        }
        for kind in EntityKind::ALL {
            for device in summary[format!("{}s", kind.key())].as_array().into_iter().flatten() {
                let entity = Entity { kind, name: device["name"].as_str().expect("a name").to_owned() };
                hold(Scope::System, Some(&entity), &device["figures"], &mut count);
            }
        }
    }
    assert!(count > 400, "{count}");
}

/// `Metric::X, Stat::Y` side by side, in any source file: a question or an answer.
fn pairs(text: &str) -> Vec<(String, String)> {
    let word = |text: &str| text.chars().take_while(|letter| letter.is_alphanumeric()).collect::<String>();
    let mut pairs = Vec::new();
    for (place, begin) in text.match_indices("Metric::") {
        let metric = word(&text[place + begin.len()..]);
        let rest = text[place + begin.len() + metric.len()..].trim_start_matches([',', ' ', '\n']);
        if let Some(stat) = rest.strip_prefix("Stat::") {
            pairs.push((metric, word(stat)));
        }
    }
    pairs
}

#[test]
fn nobody_asks_for_a_figure_that_no_run_yields() {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates").flatten() {
        files(&entry.path().join("src"), ".rs", &mut sources);
    }
    let mut asked = 0;
    for path in sources.iter().filter(|path| !path.to_string_lossy().contains("figure_id/tests.rs")) {
        for (metric, stat) in pairs(&std::fs::read_to_string(path).expect("a source")) {
            let named = |known: &Metric| format!("{known:?}") == metric;
            let known = TABLE.iter().map(|row| row.metric).find(named);
            let known_stat = Stat::ALL.into_iter().find(|known| format!("{known:?}") == stat);
            let (Some(known), Some(known_stat)) = (known, known_stat) else { continue };
            asked += 1;
            assert!(
                known.key_of(known_stat).is_some(),
                "{} asks for {stat} of {metric}, which no run yields",
                path.display()
            );
        }
    }
    assert!(asked > 100, "only {asked} were found: does the test still read the sources?");
}
