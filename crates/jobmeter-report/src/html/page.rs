//! The frame of the page: head, policy, header, runs, data and script.

use super::bundle::{Bundle, STYLE};
use super::{compare, csp, payload, run};
use crate::data::RunData;
use crate::error::Error;
use crate::format::visible;
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(super) fn render(runs: &[RunData], bundle: Option<&Bundle>) -> Result<String, Error> {
    let Some(first) = runs.first() else { return Err(Error::NoRuns) };
    let mut styles = vec![STYLE];
    let mut scripts = Vec::new();
    if let Some(bundle) = bundle {
        styles.push(bundle.style);
        scripts.push(bundle.script);
    }
    let title = match runs.len() {
        1 => format!("{} · jobmeter", visible(&first.label, 80)),
        count => format!("{count} runs compared · jobmeter"),
    };
    let sections = sections(runs, bundle.is_some())?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(csp::policy(&scripts, &styles));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("jobmeter ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                @for style in &styles { style { (PreEscaped(*style)) } }
            }
            body {
                a.skip href="#content" { "Skip to the figures" }
                (header(bundle.is_some()))
                main #content tabindex="-1" {
                    @if bundle.is_none() { (not_built_in()) }
                    @if runs.len() > 1 { (compare::section(runs, bundle.is_some())) }
                    @for section in &sections { (section) }
                }
                footer {
                    p { "Made by jobmeter " (first.summary.run.jobmeter_version.as_str())
                        ". This page is complete in itself and contacts no network." }
                }
                @if let Some(bundle) = bundle {
                    div #live .hidden role="status" aria-live="polite" {}
                    script #data type="application/json" { (PreEscaped(payload::json(runs))) }
                    script { (PreEscaped(bundle.script)) }
                }
            }
        }
    };
    Ok(page.into_string())
}

fn sections(runs: &[RunData], interactive: bool) -> Result<Vec<Markup>, Error> {
    let several = runs.len() > 1;
    runs.iter().enumerate().map(|(index, data)| run::section(index, data, several, interactive)).collect()
}

fn header(interactive: bool) -> Markup {
    html! {
        header.bar {
            span.brand { "jobmeter" }
            span.brand-sub { "report" }
            span.grow {}
            @if interactive {
                button #theme .quiet type="button" aria-label="Switch between light and dark" { "Theme" }
            }
        }
    }
}

fn not_built_in() -> Markup {
    html! {
        p.notice { "Interactive charts were not built into this jobmeter; the charts below are drawn. Build with "
            code { "make web" } " to have zoom, hover and the process timeline." }
    }
}
