//! Writes a scene as a PDF of one page. Text is drawn as outlines of the embedded font, as in the PNG: the page looks
//! the same everywhere and embeds nothing. The same input gives the same bytes.

use super::font;
use super::scene::{Anchor, Color, Scene, Shape};
use skrifa::outline::OutlinePen;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Points of a page in a pixel of a scene: 72 to 96 in an inch.
const POINTS: f32 = 0.75;

pub(super) fn write(scene: &Scene) -> Vec<u8> {
    let (width, height) = (scene.width * POINTS, scene.height * POINTS);
    // Pixels grow downwards, points upwards.
    let mut content = format!("{POINTS} 0 0 -{POINTS} 0 {height:.2} cm 1 j\n");
    let whole =
        Shape::Rect { x: 0.0, y: 0.0, width: scene.width, height: scene.height, fill: scene.background };
    let mut alphas = BTreeSet::new();
    for shape in std::iter::once(&whole).chain(&scene.shapes) {
        draw(&mut content, shape, &mut alphas);
    }
    // Each opacity that is used has an entry of that name.
    let states: Vec<String> = alphas
        .iter()
        .map(|alpha| format!("/A{alpha} << /ca {0:.3} /CA {0:.3} >>", f32::from(*alpha) / 255.0))
        .collect();
    file(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2} {height:.2}] /Contents 4 0 R \
             /Resources << /ExtGState << {} >> >> >>",
            states.join(" ")
        ),
        format!("<< /Length {} >>\nstream\n{content}endstream", content.len()),
        format!("<< /Title {} /Producer (jobmeter) >>", hexadecimal(&scene.title)),
    ])
}

/// The objects, numbered from 1, with the table of their places. The first is the catalog, the last the information.
fn file(objects: &[String]) -> Vec<u8> {
    // Writing to a String cannot fail.
    let mut out = String::from("%PDF-1.4\n");
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(out.len());
        let _ = write!(out, "{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let table = out.len();
    let size = objects.len() + 1;
    let _ = write!(out, "xref\n0 {size}\n0000000000 65535 f \n");
    for place in places {
        let _ = writeln!(out, "{place:010} 00000 n ");
    }
    let _ = write!(
        out,
        "trailer\n<< /Size {size} /Root 1 0 R /Info {} 0 R >>\nstartxref\n{table}\n%%EOF\n",
        size - 1
    );
    out.into_bytes()
}

/// Any text as a string of the format: UTF-16 in hexadecimal digits, so that nothing in it is syntax.
fn hexadecimal(text: &str) -> String {
    let digits: String = text.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
    format!("<FEFF{digits}>")
}

fn draw(out: &mut String, shape: &Shape, alphas: &mut BTreeSet<u8>) {
    let _ = match shape {
        Shape::Rect { x, y, width, height, fill } => {
            paint(out, *fill, "rg", alphas);
            writeln!(out, "{x:.2} {y:.2} {width:.2} {height:.2} re f")
        }
        Shape::Lines { stretches, stroke, width, dashed } => {
            paint(out, *stroke, "RG", alphas);
            path(out, stretches, "");
            let dash = if *dashed { "[5 4]" } else { "[]" };
            writeln!(out, "{width:.2} w {dash} 0 d S")
        }
        Shape::Areas { outlines, fill } => {
            paint(out, *fill, "rg", alphas);
            path(out, outlines, "h ");
            writeln!(out, "f")
        }
        Shape::Text { x, y, size, bold, anchor, fill, text } => {
            let width = font::width(text, *size, *bold);
            let start = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            paint(out, *fill, "rg", alphas);
            let mut pen = Pen { out, x: start, y: *y, scale: 1.0, at: (0.0, 0.0) };
            font::outline(text, *size, *bold, &mut pen, |pen, offset, scale| {
                pen.x = start + offset;
                pen.scale = scale;
            });
            writeln!(out, "f")
        }
    };
}

/// Colour and opacity of what follows.
fn paint(out: &mut String, Color { r, g, b, a }: Color, operator: &str, alphas: &mut BTreeSet<u8>) {
    alphas.insert(a);
    let share = |part: u8| f32::from(part) / 255.0;
    let _ = write!(out, "/A{a} gs {:.3} {:.3} {:.3} {operator} ", share(r), share(g), share(b));
}

fn path(out: &mut String, stretches: &[Vec<(f32, f32)>], end: &str) {
    for stretch in stretches {
        for (index, (x, y)) in stretch.iter().enumerate() {
            let _ = write!(out, "{x:.2} {y:.2} {} ", if index == 0 { "m" } else { "l" });
        }
        out.push_str(end);
    }
}

/// Turns font units, which grow upwards, into pixels, which grow downwards.
struct Pen<'a> {
    out: &'a mut String,
    x: f32,
    y: f32,
    scale: f32,
    /// Where the last piece ended.
    at: (f32, f32),
}

impl Pen<'_> {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }

    fn piece(&mut self, points: &[(f32, f32)], operator: &str) {
        for (x, y) in points {
            let _ = write!(self.out, "{x:.2} {y:.2} ");
            self.at = (*x, *y);
        }
        self.out.push_str(operator);
    }
}

impl OutlinePen for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.piece(&[self.place(x, y)], "m ");
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.piece(&[self.place(x, y)], "l ");
    }

    /// The format has cubic curves only.
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (start, bend, end) = (self.at, self.place(x1, y1), self.place(x, y));
        let towards = |from: (f32, f32)| {
            (from.0 + (bend.0 - from.0) * 2.0 / 3.0, from.1 + (bend.1 - from.1) * 2.0 / 3.0)
        };
        self.piece(&[towards(start), towards(end), end], "c ");
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.piece(&[self.place(x1, y1), self.place(x2, y2), self.place(x, y)], "c ");
    }

    fn close(&mut self) {
        self.out.push_str("h ");
    }
}
