//! Offers as a table for people: every price with its source and date.

use super::live::Origin;
use super::{Offer, RATES_AS_OF};
use crate::error::clean;
use crate::units::show_capacity;
use jobmeter_model::layout::{fitting, wrap};
use std::collections::HashMap;
use std::fmt::Write;

/// Left out where a terminal is narrow: architecture, region, GPU.
const DISPENSABLE: [usize; 3] = [5, 6, 4];

/// The cheapest first. Lines fit into `width`, where given; columns that have no room are named below.
pub fn table(offers: &[Offer], origin: &Origin, width: Option<usize>) -> String {
    let header = ["vendor", "type", "vCPU", "memory", "GPU", "arch", "region", "per hour", "as of"];
    let mut rows: Vec<[String; 9]> = vec![header.map(str::to_owned)];
    let mut sources: Vec<String> = Vec::new();
    let mut notes: HashMap<String, usize> = HashMap::new();
    for offer in offers {
        let source = clean(&offer.source);
        let note = *notes.entry(source).or_insert_with_key(|source| {
            sources.push(source.clone());
            sources.len() - 1
        });
        rows.push([
            clean(&offer.vendor),
            clean(&offer.type_name),
            offer.vcpus.to_string(),
            show_capacity(offer.memory_bytes),
            gpu(offer),
            clean(&offer.arch),
            clean(&offer.region),
            price(offer),
            format!("{} [{}]", clean(&offer.as_of), note + 1),
        ]);
    }
    let mut out = String::new();
    let widths: Vec<usize> =
        (0..header.len()).map(|c| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0)).collect();
    let shown = fitting(&widths, 2, width, &DISPENSABLE);
    // Writing to a String cannot fail; the results are dropped for that reason alone.
    for row in &rows {
        let cells = row.iter().zip(&widths).zip(&shown).filter(|(_, shown)| **shown);
        let cells = cells.map(|((cell, width), _)| format!("{cell:<width$}"));
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    let hidden: Vec<&str> =
        (0..header.len()).filter(|column| !shown[*column]).map(|column| header[column]).collect();
    if !hidden.is_empty() {
        let _ = writeln!(out, "No room for: {} (--json has all).", hidden.join(", "));
    }
    for (index, source) in sources.iter().enumerate() {
        let _ = writeln!(out, "[{}] {source}", index + 1);
    }
    if offers.iter().any(|o| o.currency != "USD") {
        let _ = writeln!(out, "Ranked in USD at rates of {RATES_AS_OF}.");
    }
    let _ = writeln!(out, "On-demand Linux prices, {origin}.");
    wrap(&out, width)
}

fn gpu(offer: &Offer) -> String {
    match (&offer.gpu_model, offer.vram_bytes) {
        (None, _) => "-".to_owned(),
        (Some(model), None) => format!("{} x {}", offer.gpu_count, clean(model)),
        (Some(model), Some(vram)) => {
            format!("{} x {} {}", offer.gpu_count, clean(model), show_capacity(vram))
        }
    }
}

fn price(offer: &Offer) -> String {
    let digits = if offer.price_per_hour < 1.0 { 4 } else { 2 };
    format!("{:.digits$} {}", offer.price_per_hour, clean(&offer.currency))
}
