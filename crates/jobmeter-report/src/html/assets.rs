//! Script and styles of the page, embedded as they stand in `script/` and beside it.

/// The look of the text, of both kinds of pages.
pub(super) const STYLE: &str = include_str!("page.css");

/// The look of what the script builds.
pub(super) const CHART_STYLE: &str = concat!(include_str!("charts.css"), include_str!("ranks.css"));

/// The scripts one after the other in a function of their own: their names are theirs, and no library or page around
/// them can meet them. Classes and constants stand before what uses them while the page loads.
pub(super) const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("script/dom.js"),
    include_str!("script/format.js"),
    include_str!("script/theme.js"),
    include_str!("script/view.js"),
    include_str!("script/pack.js"),
    include_str!("script/data.js"),
    include_str!("script/phases.js"),
    include_str!("script/scale.js"),
    include_str!("script/draw.js"),
    include_str!("script/legend.js"),
    include_str!("script/cursor.js"),
    include_str!("script/drag.js"),
    include_str!("script/svg.js"),
    include_str!("script/save.js"),
    include_str!("script/chart.js"),
    include_str!("script/compare.js"),
    include_str!("script/heat.js"),
    include_str!("script/lanes.js"),
    include_str!("script/gantt.js"),
    include_str!("script/ranks.js"),
    include_str!("script/ranks_draw.js"),
    include_str!("script/copy.js"),
    include_str!("script/tabs.js"),
    include_str!("script/main.js"),
    "})();\n",
);
