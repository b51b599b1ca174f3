//! Which lines of which runs share a panel.

use super::PlotOptions;
use super::scene::Color;
use super::theme::Palette;
use crate::data::{RunData, Series};
use crate::error::Error;
use crate::panels::{self, Limit, Panel, Role};
use jobmeter_model::Unit;

/// A panel of one run, or the same panel of several.
pub(super) struct Overlay<'a> {
    pub(super) title: &'static str,
    pub(super) measure: Unit,
    pub(super) lines: Vec<Stroke<'a>>,
    pub(super) limits: Vec<Limit>,
    pub(super) has_bands: bool,
    /// Whether the legend names the lines; those of several runs are named once, above all panels.
    pub(super) names_lines: bool,
}

pub(super) struct Stroke<'a> {
    pub(super) label: String,
    pub(super) series: &'a Series,
    pub(super) ink: Ink,
}

/// What decides how a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Role(Role),
    /// The place of one of several runs.
    Run(usize),
}

impl Ink {
    pub(super) fn color(self, palette: &Palette) -> Color {
        match self {
            Ink::Role(role) => palette.of(role),
            Ink::Run(place) => palette.series[place % palette.series.len()],
        }
    }

    /// Where the colours begin again, lines are dashed.
    pub(super) fn is_dashed(self, palette: &Palette) -> bool {
        match self {
            Ink::Role(role) => role == Role::Bound,
            Ink::Run(place) => place / palette.series.len() % 2 == 1,
        }
    }

    /// Context is drawn in thin lines.
    pub(super) fn is_thin(self) -> bool {
        matches!(self, Ink::Role(Role::System | Role::Bound))
    }
}

/// The panels of one run with its lines, or of several runs with one line each.
pub(super) fn chosen<'a>(runs: &'a [RunData], options: &PlotOptions) -> Result<Vec<Overlay<'a>>, Error> {
    let wanted: Vec<&str> = match &options.panels {
        Some(ids) => ids.iter().map(String::as_str).collect(),
        None => panels::DEFAULT_PLOT.to_vec(),
    };
    if let Some(asked) = wanted.iter().find(|id| !panels::known_ids().any(|known| known == **id)) {
        let known = panels::known_ids().collect::<Vec<_>>().join(", ");
        return Err(Error::UnknownPanel { asked: (*asked).to_owned(), known });
    }
    // Who asks for a panel gets it, also when nothing happened in it.
    let of = if options.panels.is_some() { panels::measured } else { panels::panels };
    let mut all: Vec<Vec<Panel<'a>>> = runs.iter().map(of).collect();
    let mut found = Vec::new();
    for id in wanted {
        let of_runs = all.iter_mut().enumerate().filter_map(|(run, panels)| {
            let at = panels.iter().position(|panel| panel.id == id)?;
            Some((run, panels.remove(at)))
        });
        let of_runs: Vec<(usize, Panel<'a>)> = of_runs.collect();
        if !of_runs.is_empty() {
            found.push(of_runs);
        }
    }
    check_series(&found, options)?;
    let mut chosen: Vec<Overlay<'a>> =
        found.into_iter().map(|panels| overlay(runs, panels, options)).collect();
    // A chart without any of the lines that were asked for says nothing.
    chosen.retain(|overlay| options.series.is_none() || !overlay.lines.is_empty());
    Ok(chosen)
}

/// Every name that was asked for is that of a line.
fn check_series(panels: &[Vec<(usize, Panel<'_>)>], options: &PlotOptions) -> Result<(), Error> {
    let lines =
        || panels.iter().flatten().flat_map(|(_, panel)| &panel.lines).map(|line| line.label.as_str());
    let zero = || panels.iter().flatten().flat_map(|(_, panel)| &panel.zero).map(String::as_str);
    for asked in options.series.iter().flatten() {
        if !lines().chain(zero()).any(|label| is_called(label, asked)) {
            let mut known: Vec<String> = Vec::new();
            for label in lines().map(|label| crate::format::visible(label, 60)) {
                if !known.contains(&label) && known.len() < 24 {
                    known.push(label);
                }
            }
            return Err(Error::UnknownSeries { asked: asked.clone(), known: known.join("; ") });
        }
    }
    Ok(())
}

fn is_called(label: &str, asked: &str) -> bool {
    !asked.trim().is_empty() && label.to_lowercase().contains(&asked.trim().to_lowercase())
}

/// Of several runs one line each is drawn: the first that was asked for, else the leading one.
fn overlay<'a>(runs: &[RunData], panels: Vec<(usize, Panel<'a>)>, options: &PlotOptions) -> Overlay<'a> {
    let (title, measure) =
        panels.first().map_or(("", Unit::Plain), |(_, panel)| (panel.title, panel.measure));
    let several = runs.len() > 1;
    let mut overlay = Overlay {
        title,
        measure,
        lines: Vec::new(),
        limits: Vec::new(),
        has_bands: options.bounds,
        names_lines: !several,
    };
    let is_asked =
        |label: &str| options.series.as_ref().map(|asked| asked.iter().any(|name| is_called(label, name)));
    for (run, panel) in panels {
        if several {
            let asked = panel.lines.iter().find(|line| is_asked(&line.label) == Some(true));
            let line = if options.series.is_some() { asked } else { panel.lead() };
            let label = String::new();
            overlay.lines.extend(line.map(|line| Stroke { label, series: line.series, ink: Ink::Run(run) }));
        } else {
            let shown = panel.lines.into_iter().filter(|line| is_asked(&line.label).unwrap_or(line.shown));
            overlay.lines = shown
                .map(|line| Stroke { label: line.label, series: line.series, ink: Ink::Role(line.role) })
                .collect();
            overlay.limits = if options.bounds { panel.limits } else { Vec::new() };
        }
    }
    overlay
}
