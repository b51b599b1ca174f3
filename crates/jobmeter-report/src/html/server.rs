//! Which server the next run wants, what a run costs there and here, and whether this one was shared.

use crate::data::{RunData, ServerBlock};
use crate::format::visible;
use maud::{Markup, html};

/// Longest name of a server that is shown; a user's catalogue may hold any text.
const NAME_LIMIT: usize = 200;

pub(super) fn section(index: usize, run: &RunData) -> Markup {
    let Some(server) = run.advice.as_ref().and_then(|advice| advice.server.as_ref()) else {
        return html! {};
    };
    if *server == ServerBlock::default() {
        return html! {};
    }
    let title_id = format!("run-{index}-server");
    html! {
        section.block.server aria-labelledby=(title_id) {
            details.fold {
            summary { h2 id=(title_id) { "Server and cost" } }
            dl {
                @if let Some(allocation) = &server.allocation {
                    dt { "This machine was" }
                    dd { b { (allocation_words(allocation)) }
                        @if !server.evidence.is_empty() {
                            ul.evidence { @for line in &server.evidence { li { (visible(line, 500)) } } }
                        } }
                }
                @if let Some(recommended) = &server.recommended {
                    dt { "Cheapest that fits" } dd { bdi { (visible(recommended, 1_000)) } }
                }
            }
            (costs(server))
            @for note in &server.notes { p.note { (visible(note, 1_000)) } }
            }
        }
    }
}

fn allocation_words(allocation: &str) -> String {
    match allocation {
        "dedicated" => "dedicated to the job".to_owned(),
        "shared" => "shared with others".to_owned(),
        "unknown" => "not known to be shared or not".to_owned(),
        other => visible(other, NAME_LIMIT),
    }
}

fn costs(server: &ServerBlock) -> Markup {
    if server.costs.is_empty() {
        return html! {};
    }
    html! {
        div.scroll tabindex="0" { table.costs {
            caption.hidden { "What a run costs, on demand" }
            thead { tr {
                th scope="col" { "Server" } th.num scope="col" { "Per hour" } th.num scope="col" { "Per run" }
                th.num scope="col" { "Per 1,000 runs" }
            } }
            tbody { @for cost in &server.costs { tr {
                // No price without its source and date beside it, however narrow the screen.
                th scope="row" { (visible(&cost.title, NAME_LIMIT))
                    @if !cost.server.is_empty() { " " span.faint { bdi { (visible(&cost.server, NAME_LIMIT)) } } }
                    span.facts { span { "Price: " bdi { (visible(&cost.source, NAME_LIMIT)) } ", as of " bdi { (visible(&cost.as_of, NAME_LIMIT)) } } } }
                td.num { (visible(&cost.per_hour, NAME_LIMIT)) }
                td.num { (visible(&cost.per_run, NAME_LIMIT)) }
                td.num { (visible(&cost.per_1000_runs, NAME_LIMIT)) }
            } } }
        } }
    }
}
