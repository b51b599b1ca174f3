//! Results of an analysis and of a comparison, in their three forms.

use super::fixed::{indented, statistics, values};
use crate::output::Presentable;
use crate::pickle;
use crate::tree::Node;
use jobmeter_model::text::printable;

/// By measurement: `min`, `max`, `mean` and `std`.
pub(super) type Statistics = Node;
pub(super) const STATISTICS: [&str; 4] = ["min", "max", "mean", "std"];
pub(super) const ANALYSIS: &str = "SubTrackingResults";
const COMPARISON: &str = "ComparisonResults";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CodeBlock {
    pub(super) name: String,
    pub(super) num_timepoints: i64,
    pub(super) num_calls: i64,
    pub(super) num_non_empty_calls: i64,
    pub(super) compute_time: Node,
    pub(super) resource_usage: Statistics,
}

impl CodeBlock {
    fn tree(&self) -> Node {
        Node::map([
            ("name", Node::text(&self.name)),
            ("num_timepoints", Node::Int(self.num_timepoints)),
            ("num_calls", Node::Int(self.num_calls)),
            ("num_non_empty_calls", Node::Int(self.num_non_empty_calls)),
            ("compute_time", self.compute_time.clone()),
            ("resource_usage", self.resource_usage.clone()),
        ])
    }

    pub(super) fn from_tree(tree: &Node) -> Option<CodeBlock> {
        let count = |key| match tree.get(key) {
            Some(Node::Int(count)) => Some(*count),
            _ => None,
        };
        let Some(Node::Text(name)) = tree.get("name") else { return None };
        Some(CodeBlock {
            name: name.clone(),
            num_timepoints: count("num_timepoints")?,
            num_calls: count("num_calls")?,
            num_non_empty_calls: count("num_non_empty_calls")?,
            compute_time: tree.get("compute_time")?.clone(),
            resource_usage: tree.get("resource_usage")?.clone(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("Name:                {}", printable(&self.name)),
            format!("Num Timepoints:      {}", self.num_timepoints),
            format!("Num Calls:           {}", self.num_calls),
            format!("Num Non Empty Calls: {}", self.num_non_empty_calls),
            "Compute Time:".to_owned(),
        ];
        lines.extend(indented(values(&self.compute_time, false), 1));
        lines.push("Resource Usage:".to_owned());
        lines.extend(indented(statistics(&self.resource_usage, &STATISTICS), 1));
        lines
    }
}

/// Statistics over all timepoints and per code block.
#[derive(Debug, Clone, PartialEq)]
pub struct SubTrackingResults {
    pub(super) overall: Statistics,
    pub(super) static_data: Node,
    pub(super) blocks: Vec<CodeBlock>,
}

impl SubTrackingResults {
    /// Its JSON form.
    pub fn tree(&self) -> Node {
        Node::map([
            ("overall", self.overall.clone()),
            ("static_data", self.static_data.clone()),
            ("code_block_results", Node::List(self.blocks.iter().map(CodeBlock::tree).collect())),
        ])
    }

    /// `None` where the tree has another shape.
    pub fn from_tree(tree: &Node) -> Option<SubTrackingResults> {
        let Some(Node::List(blocks)) = tree.get("code_block_results") else { return None };
        Some(SubTrackingResults {
            overall: tree.get("overall")?.clone(),
            static_data: tree.get("static_data")?.clone(),
            blocks: blocks.iter().map(CodeBlock::from_tree).collect::<Option<_>>()?,
        })
    }
}

impl Presentable for SubTrackingResults {
    fn text(&self) -> String {
        let mut lines = vec!["Overall:".to_owned()];
        lines.extend(indented(statistics(&self.overall, &STATISTICS), 1));
        lines.push("Static Data:".to_owned());
        lines.extend(indented(values(&self.static_data, true), 1));
        lines.push("Code Block Results:".to_owned());
        for block in &self.blocks {
            lines.extend(indented(block.lines(), 1));
            lines.push(String::new());
        }
        lines.join("\n") + "\n"
    }

    fn json(&self) -> String {
        self.tree().to_json()
    }

    fn pickle(&self) -> Vec<u8> {
        pickle::write_results(ANALYSIS, &self.tree())
    }
}

/// One statistic of several sessions side by side, the smallest first.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonResults {
    /// By measurement, by session.
    pub(super) overall: Node,
    /// By measurement, by code block, by session.
    pub(super) blocks: Node,
    /// By code block, by session.
    pub(super) times: Node,
}

impl ComparisonResults {
    /// `None` where the tree has another shape.
    pub fn from_tree(tree: &Node) -> Option<ComparisonResults> {
        Some(ComparisonResults {
            overall: tree.get("overall_resource_usage")?.clone(),
            blocks: tree.get("code_block_resource_usage")?.clone(),
            times: tree.get("code_block_compute_time")?.clone(),
        })
    }

    /// Its JSON form.
    pub fn tree(&self) -> Node {
        Node::map([
            ("overall_resource_usage", self.overall.clone()),
            ("code_block_resource_usage", self.blocks.clone()),
            ("code_block_compute_time", self.times.clone()),
        ])
    }
}

impl Presentable for ComparisonResults {
    fn text(&self) -> String {
        let mut lines = vec!["Overall Resource Usage:".to_owned()];
        for (measurement, sessions) in self.overall.entries() {
            lines.push(format!("\t{}:", title(measurement)));
            lines.extend(indented(values(sessions, false), 2));
        }
        lines.push("Code Block Resource Usage:".to_owned());
        for (measurement, blocks) in self.blocks.entries() {
            lines.push(format!("\t{}:", title(measurement)));
            put_named(&mut lines, blocks, 2);
        }
        lines.push("Code Block Compute Time:".to_owned());
        put_named(&mut lines, &self.times, 1);
        lines.join("\n") + "\n"
    }

    fn json(&self) -> String {
        self.tree().to_json()
    }

    fn pickle(&self) -> Vec<u8> {
        pickle::write_results(COMPARISON, &self.tree())
    }
}

/// The text of a result of either kind, from its JSON form.
pub fn text_of(kind: &str, tree: &Node) -> Option<String> {
    match kind {
        ANALYSIS => SubTrackingResults::from_tree(tree).map(|results| results.text()),
        COMPARISON => ComparisonResults::from_tree(tree).map(|results| results.text()),
        _ => None,
    }
}

fn put_named(lines: &mut Vec<String>, rows: &Node, depth: usize) {
    for (name, sessions) in rows.entries() {
        lines.push(format!("{}{}:", "\t".repeat(depth), printable(name)));
        lines.extend(indented(values(sessions, false), depth + 1));
    }
}

fn title(key: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    key.split('_').map(word).collect::<Vec<_>>().join(" ")
}
