//! Paints a scene into pixels with the embedded font and encodes them as PNG.

use super::font;
use super::scene::{Anchor, Color, Scene, Shape};
use crate::error::Error;
use skrifa::outline::OutlinePen;
use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};

/// Larger pictures are a mistake rather than a wish.
const MAX_SIDE: u32 = 16_000;

pub(super) fn paint(scene: &Scene, scale: f32) -> Result<Vec<u8>, Error> {
    let (width, height) = ((scene.width * scale).ceil() as u32, (scene.height * scale).ceil() as u32);
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(Error::Size { width, height });
    }
    let mut pixels = Pixmap::new(width, height).ok_or(Error::Size { width, height })?;
    let background = scene.background;
    pixels.fill(tiny_skia::Color::from_rgba8(background.r, background.g, background.b, background.a));
    let transform = Transform::from_scale(scale, scale);
    for shape in &scene.shapes {
        draw(&mut pixels, shape, transform);
    }
    pixels.encode_png().map_err(|cause| Error::Png(cause.to_string()))
}

fn draw(pixels: &mut Pixmap, shape: &Shape, transform: Transform) {
    match shape {
        Shape::Rect { x, y, width, height, fill } => {
            if let Some(rect) = Rect::from_xywh(*x, *y, *width, *height) {
                pixels.fill_rect(rect, &colour(*fill), transform, None);
            }
        }
        Shape::Lines { stretches, stroke, width, dashed } => {
            let dash = if *dashed { StrokeDash::new(vec![5.0, 4.0], 0.0) } else { None };
            let style =
                Stroke { width: *width, dash, line_join: tiny_skia::LineJoin::Round, ..Stroke::default() };
            if let Some(path) = polygons(stretches, false) {
                pixels.stroke_path(&path, &colour(*stroke), &style, transform, None);
            }
        }
        Shape::Areas { outlines, fill } => {
            if let Some(path) = polygons(outlines, true) {
                pixels.fill_path(&path, &colour(*fill), FillRule::Winding, transform, None);
            }
        }
        Shape::Text { x, y, size, bold, anchor, fill, text } => {
            let width = font::width(text, *size, *bold);
            let start = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            let mut pen = Pen { path: PathBuilder::new(), x: 0.0, y: *y, scale: 1.0 };
            font::outline(text, *size, *bold, &mut pen, |pen, offset, scale| {
                pen.x = start + offset;
                pen.scale = scale;
            });
            if let Some(path) = pen.path.finish() {
                pixels.fill_path(&path, &colour(*fill), FillRule::Winding, transform, None);
            }
        }
    }
}

fn colour(color: Color) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(color.r, color.g, color.b, color.a);
    paint
}

fn polygons(stretches: &[Vec<(f32, f32)>], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for stretch in stretches {
        for (index, (x, y)) in stretch.iter().enumerate() {
            if index == 0 { path.move_to(*x, *y) } else { path.line_to(*x, *y) }
        }
        if closed {
            path.close();
        }
    }
    path.finish()
}

/// Turns font units, which grow upwards, into pixels, which grow downwards.
struct Pen {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
