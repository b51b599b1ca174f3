//! Arranges heading, phases, panels and the time axis from top to bottom.

use super::axis::time_marks;
use super::chart::{self, Frame};
use super::overlay::{self, Ink};
use super::scene::{Anchor, Scene};
use super::theme::Palette;
use super::{PlotOptions, font};
use crate::apart;
use crate::data::RunData;
use crate::error::Error;
use crate::format;

const MARGIN: f32 = 16.0;
const AXIS_WIDTH: f32 = 74.0;
const PANEL_HEIGHT: f32 = 132.0;
const PANEL_GAP: f32 = 46.0;
const MAX_LANES: u32 = 3;

pub(super) fn scene(runs: &[RunData], options: &PlotOptions) -> Result<Scene, Error> {
    let Some(first) = runs.first() else { return Err(Error::NoRuns) };
    if !(320..=8000).contains(&options.width) {
        return Err(Error::Size { width: options.width, height: 0 });
    }
    let palette = options.theme.palette();
    let width = options.width as f32;
    let mut scene = Scene {
        width,
        height: 0.0,
        background: palette.background,
        title: format::visible(&title(runs), 200),
        description: format::visible(&first.summary.verdict.text, 400),
        shapes: Vec::new(),
    };
    let panels = overlay::chosen(runs, options)?;
    let end_ns = runs.iter().map(RunData::end_ns).max().unwrap_or(0).max(1);
    let mut y = MARGIN;
    match options.title.as_deref() {
        Some("") => {}
        Some(title) => {
            let room = width - 2.0 * MARGIN;
            let title = font::fit(&format::visible(title, 300), 16.0, true, room);
            scene.title.clone_from(&title);
            scene.heading((MARGIN, y + 12.0), 16.0, palette.text, title);
            y += 18.0;
        }
        None if options.heading => y = heading(&mut scene, runs, palette, y),
        None => {}
    }
    let frame =
        |y: f32| Frame { x: AXIS_WIDTH, y, width: width - AXIS_WIDTH - MARGIN, height: PANEL_HEIGHT, end_ns };
    let single = (runs.len() == 1).then_some(first);
    if single.is_none() {
        y = run_names(&mut scene, runs, palette, y);
    }
    if let Some(run) = single.filter(|_| options.names) {
        y = phase_strip(&mut scene, run, &frame(y), palette);
        y = mark_names(&mut scene, run, &frame(y), palette);
    }
    for panel in &panels {
        y += PANEL_GAP;
        chart::draw(&mut scene, panel, single, &frame(y), palette);
        y += PANEL_HEIGHT;
    }
    if panels.is_empty() {
        y += 24.0;
        scene.text(
            (MARGIN, y),
            13.0,
            Anchor::Start,
            palette.faint,
            "No time series was recorded in this run.",
        );
    } else {
        time_axis(&mut scene, &frame(y), palette);
        y += 24.0;
    }
    scene.height = (y + MARGIN).ceil();
    Ok(scene)
}

/// What the picture is called.
fn title(runs: &[RunData]) -> String {
    let labels: Vec<String> = runs.iter().map(|run| format::visible(&run.label, 60)).collect();
    format!("jobmeter: {}", labels.join(", "))
}

/// Each run with its colour, on as many lines as they need.
fn run_names(scene: &mut Scene, runs: &[RunData], palette: &Palette, y: f32) -> f32 {
    let right = scene.width - MARGIN;
    let (mut x, mut y) = (MARGIN, y + 20.0);
    for (place, name) in apart::names(runs).iter().enumerate() {
        let name = font::fit(name, 11.0, false, right - MARGIN - 26.0);
        let width = 26.0 + font::width(&name, 11.0, false);
        if x > MARGIN && x + width > right {
            (x, y) = (MARGIN, y + 17.0);
        }
        let ink = Ink::Run(place);
        scene.segment((x, y - 3.5), (x + 20.0, y - 3.5), ink.color(palette), 3.0, ink.is_dashed(palette));
        scene.text((x + 26.0, y), 11.0, Anchor::Start, palette.text, name);
        x += width + 18.0;
    }
    y
}

fn heading(scene: &mut Scene, runs: &[RunData], palette: &Palette, y: f32) -> f32 {
    let room = scene.width - 2.0 * MARGIN;
    let mut y = y + 12.0;
    let [run] = runs else {
        scene.heading((MARGIN, y), 16.0, palette.text, format!("{} runs", runs.len()));
        return y + 6.0;
    };
    let label = font::fit(&format::visible(&run.label, 200), 16.0, true, room);
    scene.heading((MARGIN, y), 16.0, palette.text, label);
    y += 19.0;
    let wall =
        run.summary.run.wall_ns.map(|ns| format!(" after {}", format::duration(ns))).unwrap_or_default();
    let text = format!(
        "{}{wall}",
        format::sentence(&format::visible(run.summary.verdict.text.trim_end_matches('.'), 300))
    );
    scene.text((MARGIN, y), 12.0, Anchor::Start, palette.faint, font::fit(&text, 12.0, false, room));
    y + 8.0
}

/// Names of the phases above the charts, nested ones below their parents; the bands go down through them.
fn phase_strip(scene: &mut Scene, run: &RunData, frame: &Frame, palette: &Palette) -> f32 {
    if run.spans.is_empty() {
        return frame.y;
    }
    let lanes = run.spans.iter().map(|span| span.lane).max().unwrap_or(0).min(MAX_LANES - 1) + 1;
    let top = frame.y + 8.0;
    for span in run.spans.iter().filter(|span| span.lane < lanes) {
        let (from, to) = (frame.at(span.begin_ns), frame.at(span.end_ns));
        let y = top + span.lane as f32 * 19.0;
        let color = chart::phase_color(palette, &run.spans, &span.name);
        scene.rect(from, y, (to - from).max(1.0), 17.0, color.alpha(46));
        scene.rect(from, y, 2.0, 17.0, color);
        let name = font::fit(&format::visible(&span.name, 100), 11.0, false, to - from - 10.0);
        if !name.is_empty() {
            scene.text((from + 6.0, y + 12.5), 11.0, Anchor::Start, palette.text, name);
        }
    }
    top + lanes as f32 * 19.0
}

/// Marks are named once, above the charts; a name that would run into the one before is left out.
fn mark_names(scene: &mut Scene, run: &RunData, frame: &Frame, palette: &Palette) -> f32 {
    if run.marks.is_empty() {
        return frame.y;
    }
    let baseline = frame.y + 14.0;
    let mut free = frame.x;
    for mark in &run.marks {
        let x = frame.at(mark.t_ns);
        if x < free {
            continue;
        }
        let name = font::fit(&format::visible(&mark.name, 60), 11.0, false, 160.0);
        let length = font::width(&name, 11.0, false) + 5.0;
        let right = frame.x + frame.width - x;
        // Near the end of the run a name stands before its mark.
        if length > right && x - length >= free {
            scene.text((x - 5.0, baseline), 11.0, Anchor::End, palette.faint, name);
            free = x + 14.0;
        } else {
            let name = font::fit(&name, 11.0, false, right - 5.0);
            free = x + font::width(&name, 11.0, false) + 14.0;
            if name.is_empty() {
                continue;
            }
            scene.text((x + 5.0, baseline), 11.0, Anchor::Start, palette.faint, name);
        }
        scene.segment((x, frame.y + 5.0), (x, baseline + 2.0), palette.faint, 1.0, false);
    }
    baseline + 2.0
}

fn time_axis(scene: &mut Scene, frame: &Frame, palette: &Palette) {
    let steps = (frame.width / 90.0).max(2.0) as usize;
    for (t_ns, label) in time_marks(frame.end_ns, steps) {
        let x = frame.at(t_ns);
        let half = font::width(&label, 11.0, false) / 2.0;
        let x_text = x.clamp(half, (scene.width - half - 2.0).max(half));
        scene.text((x_text, frame.y + 16.0), 11.0, Anchor::Middle, palette.faint, label);
    }
}
