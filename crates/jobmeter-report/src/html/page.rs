//! The frame of the page: head, policy, header, runs, data and script.

use super::assets::{CHART_STYLE, SCRIPT, STYLE};
use super::groups::Groups;
use super::overview::Among;
use super::{compare, csp, payload, run};
use crate::data::RunData;
use crate::error::Error;
use crate::format::visible;
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(super) fn render(runs: &[RunData], interactive: bool) -> Result<String, Error> {
    let Some(first) = runs.first() else { return Err(Error::NoRuns) };
    let styles: &[&str] = if interactive { &[STYLE, CHART_STYLE] } else { &[STYLE] };
    let scripts: &[&str] = if interactive { &[SCRIPT] } else { &[] };
    let title = match runs.len() {
        1 => format!("{} · jobmeter", visible(&first.label, 80)),
        count => format!("{count} runs compared · jobmeter"),
    };
    let groups = Groups::new(runs);
    let sections = sections(runs, &groups, interactive)?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(csp::policy(scripts, styles));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("jobmeter ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                @for style in styles { style { (PreEscaped(*style)) } }
            }
            body {
                a.skip href="#content" { "Skip to the figures" }
                (header(interactive))
                main #content tabindex="-1" {
                    @if runs.len() > 1 { (compare::section(runs, &groups, interactive)) }
                    @for section in &sections { (section) }
                }
                footer {
                    p { "Made by jobmeter " (first.summary.run.jobmeter_version.as_str())
                        ". This page is complete in itself and contacts no network." }
                }
                @if interactive {
                    div #live .hidden role="status" aria-live="polite" {}
                    script #data type="application/json" { (PreEscaped(payload::json(runs, &groups))) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    };
    Ok(page.into_string())
}

fn sections(runs: &[RunData], groups: &Groups, interactive: bool) -> Result<Vec<Markup>, Error> {
    let sections = runs.iter().enumerate().map(|(index, data)| {
        let among =
            (runs.len() > 1).then(|| Among { color: groups.of[index] % 6, note: &groups.notes[index] });
        run::section(index, data, among, interactive)
    });
    sections.collect()
}

fn header(interactive: bool) -> Markup {
    html! {
        header.bar {
            span.brand { "jobmeter" }
            span.brand-sub { "report" }
            span.grow {}
            @if interactive {
                button #theme .quiet type="button" title="Switch between light and dark" { "Theme" }
            }
        }
    }
}
