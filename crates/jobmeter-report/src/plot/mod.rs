//! Plots of runs for papers, pull requests and terminals without a browser: one scene, written as SVG or
//! PDF or painted as PNG. The same input gives the same bytes.

mod axis;
mod chart;
#[cfg_attr(not(feature = "png"), allow(dead_code, unused_imports, reason = "only PNG paints outlines"))]
mod font;
mod layout;
mod overlay;
mod pdf;
#[cfg(feature = "png")]
mod png;
mod scene;
mod svg;
mod theme;

use crate::data::RunData;
use crate::error::Error;
pub use scene::Scene;
pub use theme::Theme;

/// How a plot is drawn.
#[derive(Debug, Clone)]
pub struct PlotOptions {
    /// Light or dark.
    pub theme: Theme,
    /// In pixels.
    pub width: u32,
    /// Ids of the panels to draw, in this order; `None` for the usual ones.
    pub panels: Option<Vec<String>>,
    /// A line above the charts that says what was run and how it ended.
    pub heading: bool,
    /// The heading in the user's words, in place of that line; an empty one leaves it out.
    pub title: Option<String>,
    /// Words of the names of the lines to draw (`main`, `gpu 1`); `None` for those that are usually shown.
    pub series: Option<Vec<String>>,
    /// Whether the names of phases and marks stand above the charts.
    pub names: bool,
    /// Whether limits, and bands from the lowest to the highest value, are drawn.
    pub bounds: bool,
}

impl Default for PlotOptions {
    fn default() -> PlotOptions {
        PlotOptions {
            theme: Theme::Light,
            width: 1000,
            panels: None,
            heading: true,
            title: None,
            series: None,
            names: true,
            bounds: true,
        }
    }
}

/// Arranges the runs as a drawing; one run with its own lines and phases, several overlaid.
pub fn scene(runs: &[RunData], options: &PlotOptions) -> Result<Scene, Error> {
    layout::scene(runs, options)
}

/// The drawing as SVG.
pub fn to_svg(scene: &Scene) -> String {
    svg::write(scene)
}

/// One page, as large as the scene at 96 pixels an inch.
pub fn to_pdf(scene: &Scene) -> Vec<u8> {
    pdf::write(scene)
}

/// `scale` 2 gives twice the pixels, for sharp print and dense screens.
#[cfg(feature = "png")]
pub fn to_png(scene: &Scene, scale: f32) -> Result<Vec<u8>, Error> {
    png::paint(scene, scale)
}

/// A build without PNG says so.
#[cfg(not(feature = "png"))]
pub fn to_png(_scene: &Scene, _scale: f32) -> Result<Vec<u8>, Error> {
    Err(Error::Png("this jobmeter was built without it; write .svg".to_owned()))
}
