//! The drawing as a list of shapes, in pixels from the upper left corner. Writers know nothing of runs.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color {
    pub r: u8,
    pub g: u8,
    pub b: u8,
    /// 255 is opaque.
    pub a: u8,
}

impl Color {
    pub(crate) const fn rgb(value: u32) -> Color {
        Color { r: (value >> 16) as u8, g: (value >> 8) as u8, b: value as u8, a: 255 }
    }

    pub(crate) const fn alpha(self, a: u8) -> Color {
        Color { a, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Rect {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        fill: Color,
    },
    /// Open lines, one per unbroken stretch of data.
    Lines {
        stretches: Vec<Vec<(f32, f32)>>,
        stroke: Color,
        width: f32,
        dashed: bool,
    },
    /// Closed shapes.
    Areas {
        outlines: Vec<Vec<(f32, f32)>>,
        fill: Color,
    },
    Text {
        x: f32,
        y: f32,
        size: f32,
        bold: bool,
        anchor: Anchor,
        fill: Color,
        text: String,
    },
}

/// A drawing without a format.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// In pixels.
    pub width: f32,
    /// In pixels.
    pub height: f32,
    /// Behind everything.
    pub background: Color,
    /// Said to those who cannot see it.
    pub title: String,
    /// For those who cannot see it.
    pub description: String,
    /// From back to front.
    pub shapes: Vec<Shape>,
}

impl Scene {
    pub(crate) fn rect(&mut self, x: f32, y: f32, width: f32, height: f32, fill: Color) {
        self.shapes.push(Shape::Rect { x, y, width, height, fill });
    }

    pub(crate) fn segment(
        &mut self,
        from: (f32, f32),
        to: (f32, f32),
        stroke: Color,
        width: f32,
        dashed: bool,
    ) {
        self.shapes.push(Shape::Lines { stretches: vec![vec![from, to]], stroke, width, dashed });
    }

    pub(crate) fn text(
        &mut self,
        at: (f32, f32),
        size: f32,
        anchor: Anchor,
        fill: Color,
        text: impl Into<String>,
    ) {
        let (x, y) = at;
        self.shapes.push(Shape::Text { x, y, size, bold: false, anchor, fill, text: text.into() });
    }

    pub(crate) fn heading(&mut self, at: (f32, f32), size: f32, fill: Color, text: impl Into<String>) {
        let (x, y) = at;
        self.shapes.push(Shape::Text {
            x,
            y,
            size,
            bold: true,
            anchor: Anchor::Start,
            fill,
            text: text.into(),
        });
    }
}
