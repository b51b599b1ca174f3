//! One panel: grid, phases, marks, limits, bands from minimum to maximum, lines of means, legend.

use super::axis::{time_marks, value_axis};
use super::font;
use super::overlay::{Overlay, Stroke};
use super::scene::{Anchor, Color, Scene, Shape};
use super::theme::Palette;
use crate::data::{PhaseSpan, Point, RunData};
use crate::format;
use crate::panels::Limit;
use jobmeter_model::Unit;

/// Where a panel sits and how much time it spans.
pub(super) struct Frame {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) width: f32,
    pub(super) height: f32,
    pub(super) end_ns: u64,
}

impl Frame {
    pub(super) fn at(&self, t_ns: u64) -> f32 {
        self.x + (t_ns as f64 / self.end_ns as f64).min(1.0) as f32 * self.width
    }
}

pub(super) fn draw(
    scene: &mut Scene,
    panel: &Overlay<'_>,
    run: Option<&RunData>,
    frame: &Frame,
    palette: &Palette,
) {
    let highest =
        panel.lines.iter().filter_map(|line| line.series.peak).map(|peak| peak.value).fold(0.0, f64::max);
    // A limit far above the data would flatten it; it is named in the legend instead.
    let (near, far): (Vec<&Limit>, Vec<&Limit>) =
        panel.limits.iter().partition(|limit| limit.value <= highest * 1.35);
    let top_value = near.iter().map(|limit| limit.value).fold(highest, f64::max);
    let (top_value, marks) = value_axis(panel.measure, top_value, 4);
    let y_of = |value: f64| frame.y + frame.height * (1.0 - (value / top_value).clamp(0.0, 1.0)) as f32;

    if let Some(run) = run {
        bands(scene, run, frame, palette);
    }
    for (value, label) in &marks {
        let y = y_of(*value);
        scene.segment((frame.x, y), (frame.x + frame.width, y), palette.grid, 1.0, false);
        scene.text((frame.x - 8.0, y + 4.0), 11.0, Anchor::End, palette.faint, label.clone());
    }
    for (t_ns, _) in time_marks(frame.end_ns, (frame.width / 90.0).max(2.0) as usize) {
        let x = frame.at(t_ns);
        scene.segment((x, frame.y), (x, frame.y + frame.height), palette.grid, 1.0, false);
    }
    // Context first, the job on top.
    for line in panel.lines.iter().rev() {
        curve(scene, line, panel, frame, &y_of, palette);
    }
    limit_lines(scene, panel.measure, near, frame, &y_of, palette);
    for mark in run.map_or(&[][..], |run| &run.marks) {
        let x = frame.at(mark.t_ns);
        scene.segment((x, frame.y), (x, frame.y + frame.height), palette.faint, 1.0, true);
    }
    legend(scene, panel, &far, frame, palette);
}

fn limit_lines(
    scene: &mut Scene,
    measure: Unit,
    mut limits: Vec<&Limit>,
    frame: &Frame,
    y_of: &dyn Fn(f64) -> f32,
    palette: &Palette,
) {
    limits.sort_by(|a, b| b.value.total_cmp(&a.value));
    let mut last = f32::NEG_INFINITY;
    for limit in limits {
        let y = y_of(limit.value);
        scene.segment((frame.x, y), (frame.x + frame.width, y), palette.faint, 1.0, true);
        let text = format!("{} {}", limit.label, format::format(limit.value, measure, format::Style::Short));
        // Above the line where there is room; labels of neighbouring lines stand below each other.
        let above = y - 4.0;
        let baseline =
            if above - 10.0 > frame.y && above - last > 13.0 { above } else { (y + 13.0).max(last + 13.0) };
        last = baseline;
        scene.text((frame.x + frame.width - 4.0, baseline), 11.0, Anchor::End, palette.faint, text);
    }
}

fn bands(scene: &mut Scene, run: &RunData, frame: &Frame, palette: &Palette) {
    for span in run.spans.iter().filter(|span| span.lane == 0) {
        let (from, to) = (frame.at(span.begin_ns), frame.at(span.end_ns));
        let color = phase_color(palette, &run.spans, &span.name);
        scene.rect(from, frame.y, (to - from).max(0.5), frame.height, color.alpha(20));
    }
}

/// The same name has the same colour; neighbours differ.
pub(super) fn phase_color(palette: &Palette, spans: &[PhaseSpan], name: &str) -> Color {
    let mut names: Vec<&str> = Vec::new();
    for span in spans {
        if !names.contains(&span.name.as_str()) {
            names.push(&span.name);
        }
        if span.name == name || names.len() > 24 {
            break;
        }
    }
    palette.series[names.len().saturating_sub(1) % palette.series.len()]
}

/// Pixels from which on a step can be seen as one.
const LEAST_STEP: f32 = 4.0;
/// Bands of more runs would cover each other.
const MOST_BANDS: usize = 3;

/// Rates speak of the time before them: their lines are steps.
fn is_stepped(measure: Unit) -> bool {
    matches!(measure, Unit::Cores | Unit::BytesPerSecond | Unit::PerSecond | Unit::Ratio)
}

fn curve(
    scene: &mut Scene,
    line: &Stroke<'_>,
    panel: &Overlay<'_>,
    frame: &Frame,
    y_of: &dyn Fn(f64) -> f32,
    palette: &Palette,
) {
    let color = line.ink.color(palette);
    let mut stretches: Vec<Vec<(f32, Point)>> = vec![Vec::new()];
    let points = line.series.thinned((frame.width / 1.5) as usize);
    // Steps of a few pixels would only make the picture larger.
    let has_steps = is_stepped(panel.measure) && (points.len() as f32) < frame.width / LEAST_STEP;
    let mut before: Option<f32> = None;
    for (t_ns, point) in points {
        let x = frame.at(t_ns);
        match (point, stretches.last_mut()) {
            (Some(point), Some(stretch)) => {
                let begin = before.filter(|_| has_steps);
                stretch.extend(begin.map(|begin| (begin, point)));
                stretch.push((x, point));
            }
            (None, Some(stretch)) if !stretch.is_empty() => stretches.push(Vec::new()),
            _ => {}
        }
        before = Some(x);
    }
    stretches.retain(|stretch| !stretch.is_empty());
    let spread = stretches.iter().filter(|stretch| stretch.iter().any(|(_, point)| point.max > point.min));
    let outlines: Vec<Vec<(f32, f32)>> = spread
        .map(|stretch| {
            let upper = stretch.iter().map(|(x, point)| (*x, y_of(point.max)));
            let lower = stretch.iter().rev().map(|(x, point)| (*x, y_of(point.min)));
            upper.chain(lower).collect()
        })
        .collect();
    let is_dashed = line.ink.is_dashed(palette);
    if !outlines.is_empty()
        && panel.has_bands
        && !is_dashed
        && (panel.names_lines || panel.lines.len() <= MOST_BANDS)
    {
        scene.shapes.push(Shape::Areas { outlines, fill: color.alpha(56) });
    }
    let lines = stretches
        .into_iter()
        .map(|stretch| {
            let mut line: Vec<(f32, f32)> =
                stretch.into_iter().map(|(x, point)| (x, y_of(point.mean))).collect();
            // A single tick is still something to see.
            if let [(x, y)] = line[..] {
                line.push((x + 2.0, y));
            }
            line
        })
        .collect();
    let width = if line.ink.is_thin() { 1.2 } else { 1.8 };
    scene.shapes.push(Shape::Lines { stretches: lines, stroke: color, width, dashed: is_dashed });
}

fn legend(scene: &mut Scene, panel: &Overlay<'_>, far: &[&Limit], frame: &Frame, palette: &Palette) {
    let y = frame.y - 13.0;
    let left = 16.0;
    let right = frame.x + frame.width;
    scene.heading((left, y), 12.5, palette.text, panel.title);
    let mut x = left + font::width(panel.title, 12.5, true) + 18.0;
    for line in panel.lines.iter().filter(|_| panel.names_lines) {
        let peak =
            line.series.peak.map(|peak| format!(", peak {}", format::measure(panel.measure, peak.value)));
        let text = format!("{}{}", format::visible(&line.label, 40), peak.unwrap_or_default());
        let text = font::fit(&text, 11.0, false, right - x - 16.0);
        if text.is_empty() {
            return;
        }
        scene.rect(x, y - 5.0, 11.0, 3.0, line.ink.color(palette));
        scene.text((x + 15.0, y), 11.0, Anchor::Start, palette.faint, text.clone());
        x += 15.0 + font::width(&text, 11.0, false) + 14.0;
    }
    if panel.lines.is_empty() {
        scene.text((x, y), 11.0, Anchor::Start, palette.faint, "zero throughout");
        return;
    }
    for limit in far {
        let amount = format::format(limit.value, panel.measure, format::Style::Short);
        let text = format!("{}: {amount}", limit.label);
        let width = font::width(&text, 11.0, false);
        if x + width > right {
            return;
        }
        scene.text((x, y), 11.0, Anchor::Start, palette.faint, text);
        x += width + 14.0;
    }
}
