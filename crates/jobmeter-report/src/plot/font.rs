//! The embedded font: widths for the layout, outlines for the painter. Machines without fonts draw the same.

use std::sync::OnceLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

fn face(bold: bool) -> Option<&'static Face<'static>> {
    static FACES: OnceLock<[Option<Face<'static>>; 2]> = OnceLock::new();
    let faces = FACES.get_or_init(|| {
        [Face::parse(notosans::REGULAR_TTF, 0).ok(), Face::parse(notosans::BOLD_TTF, 0).ok()]
    });
    faces[usize::from(bold)].as_ref()
}

/// Width of the text in pixels; half an em per letter should the font ever be unreadable.
pub(crate) fn width(text: &str, size: f32, bold: bool) -> f32 {
    let Some(face) = face(bold) else { return text.chars().count() as f32 * size * 0.5 };
    let units: u32 = text.chars().map(|letter| u32::from(advance(face, letter))).sum();
    units as f32 * size / f32::from(face.units_per_em())
}

/// The text, cut with an ellipsis to fit the width.
pub(crate) fn fit(text: &str, size: f32, bold: bool, room: f32) -> String {
    if width(text, size, bold) <= room {
        return text.to_owned();
    }
    let mut used = width("…", size, bold);
    let mut kept = String::new();
    for letter in text.chars() {
        used += width(letter.encode_utf8(&mut [0; 4]), size, bold);
        if used > room {
            break;
        }
        kept.push(letter);
    }
    if kept.is_empty() { kept } else { kept + "…" }
}

/// Walks the outlines of the text with the pen at the base line; `glyph` is called with the place of each.
pub(crate) fn outline(
    text: &str,
    size: f32,
    bold: bool,
    mut glyph: impl FnMut(f32, f32, &dyn Fn(&mut dyn OutlineBuilder)),
) {
    let Some(face) = face(bold) else { return };
    let scale = size / f32::from(face.units_per_em());
    let mut pen = 0.0;
    for letter in text.chars() {
        let id = face.glyph_index(letter).unwrap_or(GlyphId(0));
        glyph(pen, scale, &|builder| {
            face.outline_glyph(id, builder);
        });
        pen += f32::from(advance(face, letter)) * scale;
    }
}

fn advance(face: &Face<'_>, letter: char) -> u16 {
    face.glyph_hor_advance(face.glyph_index(letter).unwrap_or(GlyphId(0))).unwrap_or(0)
}
