//! Colours of the plots: few, told apart by people with colour-blindness, with text at contrast AA or better.

use super::scene::Color;
use crate::panels::Role;

/// The colours of a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// For white paper.
    Light,
    /// For dark screens.
    Dark,
}

pub(crate) struct Palette {
    pub(crate) background: Color,
    pub(crate) text: Color,
    pub(crate) faint: Color,
    pub(crate) grid: Color,
    pub(crate) series: [Color; 6],
    pub(crate) system: Color,
}

const LIGHT: Palette = Palette {
    background: Color::rgb(0xffffff),
    text: Color::rgb(0x1b2430),
    faint: Color::rgb(0x5b6675),
    grid: Color::rgb(0xe4e8ee),
    series: [
        Color::rgb(0x2563c9),
        Color::rgb(0xc2610c),
        Color::rgb(0x0f8a6d),
        Color::rgb(0x8b46c4),
        Color::rgb(0xb83268),
        Color::rgb(0x7a6a10),
    ],
    system: Color::rgb(0x8d97a5),
};

const DARK: Palette = Palette {
    background: Color::rgb(0x11161d),
    text: Color::rgb(0xe6ebf2),
    faint: Color::rgb(0x9aa7b8),
    grid: Color::rgb(0x252e3a),
    series: [
        Color::rgb(0x6ea8fe),
        Color::rgb(0xf2a65a),
        Color::rgb(0x4fd1ac),
        Color::rgb(0xc79bf2),
        Color::rgb(0xf285b0),
        Color::rgb(0xd6c25a),
    ],
    system: Color::rgb(0x7c8899),
};

impl Theme {
    pub(crate) fn palette(self) -> &'static Palette {
        match self {
            Theme::Light => &LIGHT,
            Theme::Dark => &DARK,
        }
    }
}

impl Palette {
    pub(crate) fn of(&self, role: Role) -> Color {
        match role {
            Role::Job => self.series[0],
            Role::Main => self.series[2],
            Role::Descendants => self.series[3],
            Role::System | Role::Bound => self.system,
            // The first colour is the job's own.
            Role::Other(index) => self.series[1 + index % (self.series.len() - 1)],
        }
    }
}
