//! Writes a scene as SVG without scripts, styles or references: it may be inlined into a page under a strict
//! content-security policy.

use super::font;
use super::scene::{Anchor, Color, Scene, Shape};
use jobmeter_model::text::xml;
use std::fmt::Write;

pub(super) fn write(scene: &Scene) -> String {
    let mut out = String::with_capacity(1 << 16);
    let (width, height) = (number(scene.width), number(scene.height));
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"'Noto Sans', 'Segoe UI', \
         'Helvetica Neue', Arial, sans-serif\"><title>{}</title><desc>{}</desc>",
        xml(&scene.title),
        xml(&scene.description)
    );
    let _ = write!(out, "<rect width=\"{width}\" height=\"{height}\"{}/>", paint("fill", scene.background));
    for shape in &scene.shapes {
        draw(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, shape: &Shape) {
    // Writing to a String cannot fail.
    let _ = match shape {
        Shape::Rect { x, y, width, height, fill } => write!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>",
            number(*x),
            number(*y),
            number(*width),
            number(*height),
            paint("fill", *fill)
        ),
        Shape::Lines { stretches, stroke, width, dashed } => write!(
            out,
            "<path d=\"{}\" fill=\"none\"{} stroke-width=\"{}\" stroke-linejoin=\"round\"{}/>",
            path(stretches, false),
            paint("stroke", *stroke),
            number(*width),
            if *dashed { " stroke-dasharray=\"5 4\"" } else { "" }
        ),
        Shape::Areas { outlines, fill } => {
            write!(out, "<path d=\"{}\"{}/>", path(outlines, true), paint("fill", *fill))
        }
        Shape::Text { x, y, size, bold, anchor, fill, text } => write!(
            out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{}{}{}{}>{}</text>",
            number(*x),
            number(*y),
            number(*size),
            length(text, *size, *bold),
            if *bold { " font-weight=\"700\"" } else { "" },
            match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            },
            paint("fill", *fill),
            xml(text)
        ),
    };
}

/// The viewer's font may be wider than the one the layout was made for: text keeps the length that it was given. Other
/// scripts may not be in our font, so their lengths are the viewer's.
fn length(text: &str, size: f32, bold: bool) -> String {
    // Signs that we write ourselves are in our font.
    let is_ours = |letter: char| letter.is_ascii() || "°µ–…×".contains(letter);
    if text.len() < 2 || !text.chars().all(is_ours) {
        return String::new();
    }
    format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", number(font::width(text, size, bold)))
}

fn path(stretches: &[Vec<(f32, f32)>], closed: bool) -> String {
    let mut out = String::new();
    for stretch in stretches {
        for (index, (x, y)) in stretch.iter().enumerate() {
            let _ = write!(out, "{}{} {}", if index == 0 { "M" } else { "L" }, number(*x), number(*y));
        }
        if closed {
            out.push('Z');
        }
    }
    out
}

fn paint(attribute: &str, color: Color) -> String {
    let Color { r, g, b, a } = color;
    let opacity = if a == 255 {
        String::new()
    } else {
        format!(" {attribute}-opacity=\"{:.2}\"", f32::from(a) / 255.0)
    };
    format!(" {attribute}=\"#{r:02x}{g:02x}{b:02x}\"{opacity}")
}

/// A tenth of a pixel is enough.
fn number(value: f32) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
