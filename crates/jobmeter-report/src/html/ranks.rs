//! The ranks of a job: how even they were, the map of them over time, nodes and ranks as tables.

use crate::data::RunData;
use crate::format::{self, visible};
use jobmeter_insight::job::{Job, Node, Rank, balance, end};
use maud::{Markup, html};

/// Rows of the table of ranks; the map shows all.
const RANK_ROWS: usize = 100;
const NODE_ROWS: usize = 256;

pub(super) fn section(index: usize, run: &RunData, interactive: bool) -> Markup {
    let Some(job) = run.job.as_deref() else { return html! {} };
    let title_id = format!("run-{index}-ranks");
    let balance = balance(job).join("; ");
    html! {
        section.block aria-labelledby=(title_id) {
            div.block-head {
                h2 id=(title_id) { "Ranks over time" }
                span.count { (counted(job.ranks.len(), "rank")) " on " (counted(job.nodes.len(), "node")) }
            }
            @if !balance.is_empty() { p.remark.balance { (format::sentence(&balance)) "." } }
            @if !job.missing_ranks.is_empty() {
                p.remark { (counted(job.missing_ranks.len(), "rank")) " left no record: " (few(&job.missing_ranks)) "." }
            }
            @if interactive && job.map.is_some() { div.ranks data-run=(index) {} }
            (nodes(job))
            (ranks(job))
        }
    }
}

fn counted(count: usize, word: &str) -> String {
    format!("{} {word}{}", format::count(count as u64), if count == 1 { "" } else { "s" })
}

fn few(ranks: &[u32]) -> String {
    const SHOWN: usize = 12;
    let list: Vec<String> = ranks.iter().take(SHOWN).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(SHOWN);
    if more > 0 {
        format!("{} and {} more", list.join(", "), format::count(more as u64))
    } else {
        list.join(", ")
    }
}

fn known(value: Option<u64>, show: fn(u64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

fn nodes(job: &Job) -> Markup {
    let row = |node: &Node| {
        html! { tr {
            th scope="row" { bdi.name { (visible(&node.name, 200)) } }
            td.num { (format::count(node.ranks as u64)) }
            td.num { (node.system_cores) }
            td.num { (known(node.cpu_ns, format::duration)) }
            td.num { (known(node.peak_rss_sum_bytes, format::bytes)) }
        } }
    };
    html! {
        details.alt {
            summary { "Table of the nodes" @if job.nodes.len() > NODE_ROWS { (format!(", the first {NODE_ROWS}")) } }
            div.scroll tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Node" } th.num scope="col" { "Ranks" } th.num scope="col" { "Cores" }
                    th.num scope="col" { "CPU" } th.num scope="col" { "Ranks' peaks of RAM" }
                } }
                tbody { @for node in job.nodes.iter().take(NODE_ROWS) { (row(node)) } }
            } }
        }
    }
}

/// Those that did not succeed first, then the busiest.
fn ranks(job: &Job) -> Markup {
    let mut rows: Vec<&Rank> = job.ranks.iter().collect();
    let all = rows.len();
    if all > RANK_ROWS {
        rows.sort_by_key(|rank| (rank.is_fine(), std::cmp::Reverse(rank.cpu_ns), rank.rank));
        rows.truncate(RANK_ROWS);
    }
    let title = match all > RANK_ROWS {
        true => format!("Table of {RANK_ROWS} ranks: those that did not succeed, then the busiest"),
        false => "Table of the ranks".to_owned(),
    };
    html! {
        details.alt {
            summary { (title) }
            div.scroll tabindex="0" { table.rank-table {
                thead { tr {
                    th scope="col" { "Rank" } th scope="col" { "Node" } th.num scope="col" { "Time" }
                    th.num scope="col" { "CPU" } th.num scope="col" { "Peak RAM" } th scope="col" { "End" }
                } }
                tbody { @for rank in rows { tr {
                    th scope="row" { bdi { (rank.rank.map_or_else(|| visible(&rank.run_id, 40), |rank| rank.to_string())) } }
                    td { bdi.name { (visible(&rank.node, 200)) } }
                    td.num { (known(rank.wall_ns, format::duration)) }
                    td.num { (known(rank.cpu_ns, format::duration)) }
                    td.num { (known(rank.peak_rss_bytes, format::bytes)) }
                    td { (visible(&end(rank), 200)) }
                } } }
            } }
        }
    }
}
