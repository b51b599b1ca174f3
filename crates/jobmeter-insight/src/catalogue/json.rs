//! Catalogues as JSON: an array of objects with the column names of the CSV form.

use super::{Gpu, Price, Server, csv, limits, query};
use crate::Error;
use crate::units::{GIB, MIB};
use jobmeter_model::units::parse_bytes;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    vendor: String,
    #[serde(rename = "type")]
    type_name: String,
    family: Option<String>,
    category: Option<String>,
    arch: Option<String>,
    vcpus: u32,
    memory: Option<String>,
    memory_gib: Option<f64>,
    memory_mib: Option<f64>,
    gpu_model: Option<String>,
    gpu_count: Option<u32>,
    vram: Option<String>,
    vram_gib: Option<f64>,
    vram_mib: Option<f64>,
    prices: Option<BTreeMap<String, f64>>,
    price_per_hour: Option<f64>,
    region: Option<String>,
    currency: Option<String>,
    as_of: Option<String>,
    source: Option<String>,
}

pub(super) fn parse(text: &str, path: &str) -> Result<Vec<Server>, Error> {
    let rows: Vec<Row> = serde_json::from_str(text).map_err(|e| Error::Catalogue {
        path: path.to_owned(),
        line: e.line(),
        message: e.to_string(),
    })?;
    let prices = rows.iter().map(|row| row.prices.as_ref().map_or(1, BTreeMap::len)).sum();
    limits::check(rows.len(), prices).map_err(|message| Error::Catalogue {
        path: path.to_owned(),
        line: 1,
        message,
    })?;
    let lines = first_lines(text);
    rows.into_iter()
        .enumerate()
        .map(|(index, row)| {
            row.server().map_err(|message| Error::Catalogue {
                path: path.to_owned(),
                line: lines.get(index).copied().unwrap_or(1),
                message,
            })
        })
        .collect()
}

/// The line on which each object of the outer array begins, so that a bad value names its place.
fn first_lines(text: &str) -> Vec<usize> {
    let (mut lines, mut depth, mut quoted, mut escaped, mut line) = (Vec::new(), 0, false, false, 1);
    for c in text.chars() {
        match c {
            '\n' => line += 1,
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => {
                if depth == 0 {
                    lines.push(line);
                }
                depth += 1;
            }
            '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    lines
}

fn bytes(text: Option<&str>, gib: Option<f64>, mib: Option<f64>, name: &str) -> Result<Option<u64>, String> {
    let factor = |value: f64, unit: u64| match value.is_finite() && value > 0.0 {
        true => Ok(Some((value * unit as f64).round() as u64)),
        false => Err(format!("{name} is {value}, it must be above 0")),
    };
    match (text, gib, mib) {
        (Some(text), _, _) => parse_bytes(text).map(Some).map_err(|e| format!("{name}: {e}")),
        (_, Some(gib), _) => factor(gib, GIB),
        (_, _, Some(mib)) => factor(mib, MIB),
        _ => Ok(None),
    }
}

impl Row {
    fn server(self) -> Result<Server, String> {
        let memory_bytes = bytes(self.memory.as_deref(), self.memory_gib, self.memory_mib, "memory")?
            .filter(|b| *b > 0)
            .ok_or("memory, memory_gib or memory_mib is missing")?;
        let vram_bytes = bytes(self.vram.as_deref(), self.vram_gib, self.vram_mib, "vram")?;
        if self.vcpus == 0 {
            return Err("vcpus is 0".to_owned());
        }
        let gpu = self.gpu_count.filter(|count| *count > 0).map(|count| Gpu {
            model: self.gpu_model.unwrap_or_else(|| "unnamed".to_owned()),
            count,
            vram_bytes,
        });
        let prices = match (self.price_per_hour, self.prices) {
            (Some(per_hour), _) => {
                vec![Price { region: self.region.unwrap_or_else(|| "any".to_owned()), per_hour }]
            }
            (None, Some(map)) => {
                map.into_iter().map(|(region, per_hour)| Price { region, per_hour }).collect()
            }
            (None, None) => return Err("price_per_hour or prices is missing".to_owned()),
        };
        let category =
            self.category.unwrap_or_else(|| if gpu.is_some() { "gpu" } else { "general" }.to_owned());
        Ok(Server {
            vendor: self.vendor.to_ascii_lowercase(),
            family: self.family.unwrap_or_else(|| self.type_name.clone()),
            category: category.to_ascii_lowercase(),
            arch: query::plain_arch(self.arch.as_deref().unwrap_or("x86_64")),
            vcpus: self.vcpus,
            memory_bytes,
            gpu,
            prices: csv::check_prices(prices)?,
            currency: self.currency.unwrap_or_else(|| "USD".to_owned()).to_ascii_uppercase(),
            as_of: self.as_of.unwrap_or_else(|| "undated".to_owned()),
            source: self.source.unwrap_or_else(|| "your catalogue".to_owned()),
            type_name: self.type_name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_objects_and_names_the_line_of_a_mistake() {
        let good = r#"[{"vendor":"Lab","type":"box","vcpus":8,"memory_gib":32,"prices":{"cellar":0.2,"attic":0.3}}]"#;
        let servers = parse(good, "mine.json").unwrap();
        assert_eq!((servers[0].vcpus, servers[0].memory_bytes, servers[0].prices.len()), (8, 32 * GIB, 2));

        let missing = "[\n {\"vendor\":\"a\",\"type\":\"{\\\"\",\"vcpus\":1,\"memory\":\"1GiB\",\"price_per_hour\":1},\n \
                       {\"vendor\":\"a\",\"type\":\"c\",\"vcpus\":1,\"memory\":\"1GiB\"}\n]";
        let message = parse(missing, "mine.json").unwrap_err().to_string();
        assert!(message.starts_with("mine.json line 3: price_per_hour"), "{message}");
        let message = parse("[\n{\"vendor\": 3}]", "mine.json").unwrap_err().to_string();
        assert!(message.starts_with("mine.json line 2: invalid type"), "{message}");
    }
}
