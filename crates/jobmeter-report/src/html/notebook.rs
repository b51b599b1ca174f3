//! A run inside of a notebook: the lines of the first screen, with the course of CPU, memory and GPU drawn beside them.
//! A fragment without scripts and classes of its own: notebooks clean both away.

use crate::data::RunData;
use crate::text::{FirstScreen, Units, course};
use jobmeter_model::Summary;
use maud::{Markup, html};

/// Columns of a drawing; each is the highest value of its share of the time.
const COLUMNS: usize = 80;
const HEIGHT: f64 = 20.0;

/// The headline and the rows of the first screen; the drawings need `data`. All text is escaped.
pub fn fragment(summary: &Summary, data: Option<&RunData>) -> String {
    let screen = FirstScreen::of(summary, Units::default());
    let left = "text-align:left;white-space:nowrap";
    let page = html! {
        p { b { (screen.headline) } @if !screen.command.is_empty() { " " code { (cut(&screen.command)) } } }
        table { tbody {
            @for row in &screen.rows {
                tr {
                    th scope="row" style=(left) { (row.label) }
                    td style=(left) { (row.value) }
                    td style=(left) { (row.detail) }
                    td { @if let Some((metric, data)) = row.course.zip(data) { (drawing(&course(data, metric, COLUMNS))) } }
                }
            }
        } }
    };
    page.into_string()
}

/// Longer commands would widen the notebook.
fn cut(command: &str) -> String {
    const LONGEST: usize = 100;
    let mut short: String = command.chars().take(LONGEST).collect();
    if short.len() < command.len() {
        short.push('…');
    }
    short
}

fn drawing(values: &[Option<f64>]) -> Markup {
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    if highest <= 0.0 {
        return html! {};
    }
    let bar = |(at, value): (usize, &Option<f64>)| {
        let height = (value.unwrap_or(0.0) / highest * HEIGHT).clamp(0.0, HEIGHT);
        format!("M{at} {HEIGHT}v-{height:.1}h1V{HEIGHT}z")
    };
    let path: String = values.iter().enumerate().map(bar).collect();
    html! {
        svg width="160" height=(HEIGHT) viewBox=(format!("0 0 {COLUMNS} {HEIGHT}")) preserveAspectRatio="none" role="img"
            aria-label="Course over the run" { path d=(path) fill="#2563c9" {} }
    }
}
