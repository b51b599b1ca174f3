//! The embedded font: widths for the layout, outlines for the painter. Machines without fonts draw the same.

use once_cell::race::OnceBox;
use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::outline::{DrawSettings, OutlineGlyphCollection, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider};

/// The tables of one font, found once. Widths and outlines are in font units.
struct Face {
    letters: Charmap<'static>,
    metrics: GlyphMetrics<'static>,
    outlines: OutlineGlyphCollection<'static>,
    units_per_em: f32,
}

impl Face {
    fn parse(file: &'static [u8]) -> Option<Face> {
        let font = FontRef::new(file).ok()?;
        let here = LocationRef::default();
        Some(Face {
            letters: font.charmap(),
            metrics: font.glyph_metrics(Size::unscaled(), here),
            outlines: font.outline_glyphs(),
            units_per_em: f32::from(font.metrics(Size::unscaled(), here).units_per_em),
        })
    }

    /// The glyph of a letter, or the font's box for a letter that it does not have.
    fn glyph(&self, letter: char) -> GlyphId {
        self.letters.map(letter).unwrap_or(GlyphId::NOTDEF)
    }

    fn advance(&self, glyph: GlyphId) -> f32 {
        self.metrics.advance_width(glyph).unwrap_or(0.0)
    }
}

fn face(bold: bool) -> Option<&'static Face> {
    static FACES: OnceBox<[Option<Face>; 2]> = OnceBox::new();
    let faces = FACES.get_or_init(|| Box::new([notosans::REGULAR_TTF, notosans::BOLD_TTF].map(Face::parse)));
    faces[usize::from(bold)].as_ref()
}

/// Width of the text in pixels; half an em per letter should the font ever be unreadable.
pub(crate) fn width(text: &str, size: f32, bold: bool) -> f32 {
    let Some(face) = face(bold) else { return text.chars().count() as f32 * size * 0.5 };
    let units: f32 = text.chars().map(|letter| face.advance(face.glyph(letter))).sum();
    units * size / face.units_per_em
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

/// Draws the outlines of the text in font units; `place` is called before each letter with its offset from the
/// start of the text in pixels and the pixels of one unit.
pub(crate) fn outline<P: OutlinePen>(
    text: &str,
    size: f32,
    bold: bool,
    pen: &mut P,
    mut place: impl FnMut(&mut P, f32, f32),
) {
    let Some(face) = face(bold) else { return };
    let scale = size / face.units_per_em;
    let mut offset = 0.0;
    for letter in text.chars() {
        let id = face.glyph(letter);
        place(pen, offset, scale);
        if let Some(outline) = face.outlines.get(id) {
            // Only a damaged font fails here, and the font is part of the program: a letter would be missing.
            let _ = outline.draw(DrawSettings::unhinted(Size::unscaled(), LocationRef::default()), pen);
        }
        offset += face.advance(id) * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what is drawn, and where its edges are in font units.
    #[derive(Default)]
    struct Extent {
        strokes: usize,
        highest: f32,
    }

    impl OutlinePen for Extent {
        fn move_to(&mut self, _: f32, y: f32) {
            self.highest = self.highest.max(y);
        }
        fn line_to(&mut self, _: f32, y: f32) {
            self.strokes += 1;
            self.highest = self.highest.max(y);
        }
        fn quad_to(&mut self, _: f32, _: f32, _: f32, y: f32) {
            self.strokes += 1;
            self.highest = self.highest.max(y);
        }
        fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, y: f32) {
            self.strokes += 1;
            self.highest = self.highest.max(y);
        }
        fn close(&mut self) {}
    }

    #[test]
    fn letters_have_the_widths_and_heights_that_the_font_states() {
        // Noto Sans: "H" is 0.741 em wide and 0.714 em high; a space has no outline.
        assert!((width("H", 1000.0, false) - 741.0).abs() < 0.5, "{}", width("H", 1000.0, false));
        assert!(width("H", 1000.0, true) > 741.0, "bold is wider");
        let mut places = Vec::new();
        let mut seen = Extent::default();
        outline("H H", 10.0, false, &mut seen, |_, x, scale| places.push((x, scale)));
        let expected = [0.0, 7.41, 7.41 + width(" ", 10.0, false)];
        assert!(places.iter().zip(expected).all(|((x, _), wanted)| (x - wanted).abs() < 0.01), "{places:?}");
        // The letter is twelve straight lines; whether the last one is drawn or closed is up to the font.
        assert!((22..=24).contains(&seen.strokes), "{}", seen.strokes);
        let height = seen.highest * places[0].1;
        assert!((height - 7.14).abs() < 0.01, "{height}");
    }

    #[test]
    fn letters_that_the_font_lacks_are_boxes_and_take_room() {
        assert!(width("\u{4e2d}", 10.0, false) > 0.0);
        assert!(fit("a long text that does not fit", 10.0, false, 50.0).ends_with('…'));
        assert_eq!(fit("short", 10.0, false, 50.0), "short");
    }
}
