//! Markdown tables, and the verdict column that each of them ends with.

use std::io::{self, Write};

pub(crate) struct Table {
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Table {
        let mut table = Table { widths: vec![0; titles.len()], rows: Vec::new() };
        table.row(titles.iter().map(|title| (*title).to_owned()).collect());
        table
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        self.rows.push(cells);
    }

    pub(crate) fn print(&self, heading: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "\n### {heading}\n")?;
        for (index, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&self.widths).map(|(cell, width)| format!(" {cell:<width$} |"));
            writeln!(out, "|{}", cells.collect::<String>())?;
            if index == 0 {
                let line = self.widths.iter().map(|width| format!("{}|", "-".repeat(width + 2)));
                writeln!(out, "|{}", line.collect::<String>())?;
            }
        }
        out.flush()
    }
}

pub(crate) fn held(holds: bool) -> String {
    if holds { "yes" } else { "NO" }.to_owned()
}

/// The middle of the sorted values; the benches take an odd number of them.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
