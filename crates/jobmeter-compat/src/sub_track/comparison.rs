//! Several analyses side by side. Code blocks are matched by name, or by order where names differ in the
//! line number only.

use super::results::{ANALYSIS, CodeBlock, ComparisonResults, STATISTICS, SubTrackingResults};
use crate::error::{CompatError, shown};
use crate::pickle;
use crate::tree::Node;
use jobmeter_model::text::printable;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::path::{Path, PathBuf};

/// What to compare: the configuration file with the options laid over it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompareOptions {
    file_path_map: Sessions,
    statistic: Option<String>,
}

/// Name and file of each session, in the order of the file.
#[derive(Debug, Default)]
struct Sessions(Vec<(String, PathBuf)>);

impl Sessions {
    fn set(&mut self, name: String, path: PathBuf) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = path,
            None => self.0.push((name, path)),
        }
    }
}

impl<'de> Deserialize<'de> for Sessions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sessions, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Sessions;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object of session names and file paths")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sessions, A::Error> {
                let mut sessions = Sessions::default();
                while let Some((name, path)) = map.next_entry()? {
                    sessions.set(name, path);
                }
                Ok(sessions)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl CompareOptions {
    /// `pairs` are `NAME=PATH` as written.
    pub fn new(
        config: Option<&Path>,
        pairs: &[String],
        statistic: Option<String>,
    ) -> Result<CompareOptions, CompatError> {
        let mut options = config.map_or(Ok(CompareOptions::default()), read_config)?;
        for pair in pairs {
            let (name, path) = pair
                .split_once('=')
                .filter(|(name, path)| !name.is_empty() && !path.is_empty())
                .ok_or_else(|| {
                    CompatError::Value(format!(
                        "\"{}\" is not a session; write <name>=<file-path>.",
                        printable(pair)
                    ))
                })?;
            options.file_path_map.set(name.to_owned(), path.into());
        }
        options.statistic = statistic.or(options.statistic);
        if options.file_path_map.0.is_empty() {
            return Err(CompatError::Value(
                "A mapping of tracking session name to file path must be provided either through the -m option \
                 or a config file."
                    .to_owned(),
            ));
        }
        Ok(options)
    }
}

fn read_config(path: &Path) -> Result<CompareOptions, CompatError> {
    let text = crate::limits::read_text(path)?;
    serde_json::from_str(&text).map_err(|error| {
        CompatError::Value(format!(
            "{} must be a JSON object with file_path_map and statistic: {}",
            shown(path),
            printable(&error.to_string())
        ))
    })
}

/// The sessions, loaded and matched.
pub struct Comparison {
    sessions: Vec<(String, SubTrackingResults)>,
    statistic: String,
    /// What was left out, in one sentence each.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Reads the files that the options name.
    pub fn load(options: CompareOptions) -> Result<Comparison, CompatError> {
        let loaded = options.file_path_map.0.into_iter().map(|(name, path)| Ok((name, read_results(&path)?)));
        let statistic = options.statistic.unwrap_or_else(|| "mean".to_owned());
        Comparison::of(loaded.collect::<Result<_, CompatError>>()?, statistic)
    }

    /// Sessions with their results; matches their code blocks.
    pub fn of(
        mut sessions: Vec<(String, SubTrackingResults)>,
        statistic: String,
    ) -> Result<Comparison, CompatError> {
        for (_, results) in &mut sessions {
            results.blocks.sort_by(|a, b| split(&a.name).cmp(&split(&b.name)));
        }
        let mut comparison = Comparison { sessions, statistic, warnings: Vec::new() };
        comparison.check()?;
        Ok(comparison)
    }

    fn check(&mut self) -> Result<(), CompatError> {
        if !STATISTICS.contains(&self.statistic.as_str()) {
            return Err(CompatError::Value(format!(
                "Invalid summary statistic '{}'. Valid values are {}.",
                printable(&self.statistic),
                STATISTICS.join(" ")
            )));
        }
        let Some(((first_name, first), rest)) = self.sessions.split_first() else { return Ok(()) };
        for (name, results) in rest {
            if results.blocks.len() != first.blocks.len() {
                return Err(CompatError::Value(format!(
                    "All sub-tracking results must have the same number of code blocks. The first has {} code \
                     blocks but tracking session \"{}\" has {} code blocks.",
                    first.blocks.len(),
                    printable(name),
                    results.blocks.len()
                )));
            }
            for (ours, theirs) in first.blocks.iter().zip(&results.blocks) {
                self.warnings.extend(matched((first_name, &ours.name), (name, &theirs.name))?);
            }
        }
        Ok(())
    }

    /// Compares them.
    pub fn results(&self) -> Result<ComparisonResults, CompatError> {
        let measurements: Vec<&str> = self.sessions.first().map_or_else(Vec::new, |(_, results)| {
            results.overall.entries().iter().map(|(name, _)| name.as_str()).collect()
        });
        let mut overall = Vec::new();
        let mut usage = Vec::new();
        for measurement in measurements {
            let own = |results: &SubTrackingResults| self.figure(results.overall.get(measurement));
            overall.push((measurement, self.side_by_side(|_, results| own(results))?));
            let of_block = |block: &CodeBlock| self.figure(block.resource_usage.get(measurement));
            usage.push((measurement, self.by_block(of_block)?));
        }
        let times = self.by_block(|block| self.figure(Some(&block.compute_time)))?;
        Ok(ComparisonResults { overall: Node::map(overall), blocks: Node::map(usage), times })
    }

    fn figure(&self, statistics: Option<&Node>) -> Option<f64> {
        statistics?.get(&self.statistic)?.as_f64()
    }

    fn by_block(&self, figure: impl Fn(&CodeBlock) -> Option<f64>) -> Result<Node, CompatError> {
        let count = self.sessions.first().map_or(0, |(_, results)| results.blocks.len());
        let mut rows = Vec::with_capacity(count);
        for index in 0..count {
            let mut names: Vec<&str> =
                self.sessions.iter().map(|(_, results)| results.blocks[index].name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            rows.push((names.join(" -> "), self.side_by_side(|_, results| figure(&results.blocks[index]))?));
        }
        Ok(Node::map(rows))
    }

    /// One value per session, the smallest first; equal ones stay in order.
    fn side_by_side(
        &self,
        figure: impl Fn(&str, &SubTrackingResults) -> Option<f64>,
    ) -> Result<Node, CompatError> {
        let mut values = Vec::new();
        for (name, results) in &self.sessions {
            let value = figure(name, results).ok_or_else(|| {
                CompatError::Value(format!(
                    "The results of tracking session \"{}\" lack a measurement; analyze it again.",
                    printable(name)
                ))
            })?;
            values.push((name.clone(), value));
        }
        values.sort_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        Ok(Node::map(values.into_iter().map(|(name, value)| (name, Node::Float(value)))))
    }
}

/// Results that were pickled; nothing that the file names is called.
pub fn read_results(path: &Path) -> Result<SubTrackingResults, CompatError> {
    let bytes = crate::limits::read_file(path)?;
    let wrong = |text: &str| {
        CompatError::Value(format!(
            "{} is not a results file of this program: {text}. Write it again with `sub-track analyze --format=pickle`.",
            shown(path)
        ))
    };
    let (kind, tree) = pickle::read_results(&bytes).map_err(|text| wrong(&text))?;
    if kind != ANALYSIS {
        return Err(wrong(&format!("it holds {}, not {ANALYSIS}", printable(&kind))));
    }
    SubTrackingResults::from_tree(&tree).ok_or_else(|| wrong("its results have a wrong shape"))
}

/// File and line of a default block name, or the name itself and no line.
fn split(name: &str) -> (&str, Option<u64>) {
    let parts = name.rsplit_once(':').filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
    let parts = parts.and_then(|(path, line)| Some((path, line.parse().ok()?)));
    parts.map_or((name, None), |(path, line)| (path, Some(line)))
}

/// A warning where two blocks differ in their line only.
fn matched(ours: (&str, &str), theirs: (&str, &str)) -> Result<Option<String>, CompatError> {
    let ((first, our_name), (other, their_name)) = (ours, theirs);
    if our_name == their_name {
        return Ok(None);
    }
    let ((our_path, our_line), (their_path, their_line)) = (split(our_name), split(their_name));
    let (our_name, their_name) = (printable(our_name), printable(their_name));
    let (first, other) = (printable(first), printable(other));
    if our_path != their_path || our_line.is_none() || their_line.is_none() {
        return Err(CompatError::Value(format!(
            "Code block name \"{our_name}\" of tracking session \"{first}\" does not match code block name \
             \"{their_name}\" of tracking session \"{other}\""
        )));
    }
    Ok(Some(format!(
        "Code block name \"{our_name}\" of tracking session \"{first}\" matched with code block name \
         \"{their_name}\" of tracking session \"{other}\" but they differ by line number. If these code blocks \
         were not meant to match, their comparison will not be valid and their names must be disambiguated."
    )))
}
