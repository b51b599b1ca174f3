//! What can go wrong when drawing.

use std::fmt;

/// Why a plot or a page could not be made.
#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// There is nothing to draw.
    NoRuns,
    /// A metric was asked for that no panel shows.
    UnknownPanel {
        /// What was written.
        asked: String,
        /// What can be written instead.
        known: String,
    },
    /// A line was asked for that no chart has.
    UnknownSeries {
        /// What was written.
        asked: String,
        /// What can be written instead.
        known: String,
    },
    /// A picture of this size cannot be made.
    Size {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// The picture could not be encoded.
    Png(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoRuns => write!(f, "no run to draw: name at least one"),
            Error::UnknownPanel { asked, known } => {
                write!(f, "no chart is called {asked:?}: choose from {known}")
            }
            Error::UnknownSeries { asked, known } => {
                write!(f, "no line of these charts is called {asked:?}: choose from {known}")
            }
            Error::Size { width, height } => {
                write!(
                    f,
                    "cannot make a picture of {width} × {height} pixels: choose a width from 320 to 8000"
                )
            }
            Error::Png(cause) => write!(f, "cannot encode the picture as PNG: {cause}"),
        }
    }
}

impl std::error::Error for Error {}
