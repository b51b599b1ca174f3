//! Catalogues as CSV: a header names the columns, `# source KEY = text` comments name the sources.
//!
//! Columns: `vendor,type,vcpus` and one of `memory_mib|memory_gib|memory`; one of `prices` (`region=0.1 …`)
//! or `price_per_hour` with an optional `region`; optionally `family,category,arch,gpu_model,gpu_count,
//! vram_mib|vram_gib|vram,currency,as_of,source`.

use super::{Gpu, Price, Server, limits};
use crate::units::{GIB, MIB};
use crate::{Error, error::clean};
use jobmeter_model::units::parse_bytes;
use std::collections::HashMap;
use std::io::Read;

const KNOWN: [&str; 20] = [
    "vendor",
    "type",
    "family",
    "category",
    "arch",
    "vcpus",
    "memory_mib",
    "memory_gib",
    "memory",
    "gpu_model",
    "gpu_count",
    "vram_mib",
    "vram_gib",
    "vram",
    "prices",
    "price_per_hour",
    "region",
    "currency",
    "as_of",
    "source",
];

pub(super) fn parse(text: &str, path: &str) -> Result<Vec<Server>, Error> {
    let text = text.trim_start_matches('\u{feff}');
    let sources = sources_of(text);
    let mut header: Option<Vec<String>> = None;
    let mut servers = Vec::new();
    let mut prices = 0;
    // A quote that is not closed takes in all the rest, with the two newlines that are added here.
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(text.as_bytes().chain(&b"\n\n"[..]));
    let mut fields = csv::StringRecord::new();
    loop {
        let is_there = reader.read_record(&mut fields);
        let newlines = fields.iter().flat_map(str::bytes).filter(|byte| *byte == b'\n').count();
        // The reader stands on the line after the record, where the record has come to an end.
        let is_closed = reader.position().byte() < text.len() as u64 + 2;
        let line = (reader.position().line() as usize).saturating_sub(newlines + usize::from(is_closed));
        let fail = |message: String| Error::Catalogue { path: path.to_owned(), line, message };
        if !is_there.map_err(|error| fail(error.to_string()))? {
            break;
        }
        if newlines > 0 {
            return Err(fail("a quoted field is not closed".to_owned()));
        }
        if fields.len() == 1 && fields[0].trim().is_empty() {
            continue;
        }
        match &header {
            None => header = Some(read_header(&fields).map_err(fail)?),
            Some(names) => {
                if fields.len() != names.len() {
                    return Err(fail(format!("{} fields, the header has {}", fields.len(), names.len())));
                }
                let cells = names.iter().map(String::as_str).zip(fields.iter()).collect();
                let server = Record { cells, sources: &sources }.server().map_err(fail)?;
                prices += server.prices.len();
                limits::check(servers.len() + 1, prices).map_err(fail)?;
                servers.push(server);
            }
        }
    }
    if header.is_none() {
        return Err(Error::Catalogue {
            path: path.to_owned(),
            line: 1,
            message: "no header line; begin with vendor,type,vcpus,memory_gib,price_per_hour".to_owned(),
        });
    }
    Ok(servers)
}

/// What the comments `# source KEY = text` say.
fn sources_of(text: &str) -> HashMap<&str, &str> {
    text.lines()
        .filter_map(|line| line.strip_prefix('#')?.trim().strip_prefix("source ")?.split_once('='))
        .map(|(key, source)| (key.trim(), source.trim()))
        .collect()
}

fn read_header(names: &csv::StringRecord) -> Result<Vec<String>, String> {
    let names: Vec<String> = names.iter().map(|n| n.trim().to_ascii_lowercase()).collect();
    for (index, name) in names.iter().enumerate() {
        if !KNOWN.contains(&name.as_str()) {
            return Err(format!("unknown column `{}`; known: {}", clean(name), KNOWN.join(", ")));
        }
        if names[..index].contains(name) {
            return Err(format!("column `{name}` appears twice"));
        }
    }
    let has = |wanted: &[&str]| wanted.iter().any(|w| names.iter().any(|n| n == w));
    let needed: [&[&str]; 5] = [
        &["vendor"],
        &["type"],
        &["vcpus"],
        &["memory_gib", "memory_mib", "memory"],
        &["price_per_hour", "prices"],
    ];
    match needed.iter().find(|wanted| !has(wanted)) {
        Some(missing) => Err(format!("column `{}` is missing", missing[0])),
        None => Ok(names),
    }
}

struct Record<'a> {
    cells: HashMap<&'a str, &'a str>,
    sources: &'a HashMap<&'a str, &'a str>,
}

impl Record<'_> {
    fn text(&self, column: &str) -> Option<&str> {
        self.cells.get(column).map(|cell| cell.trim()).filter(|cell| !cell.is_empty())
    }

    fn required(&self, column: &str) -> Result<&str, String> {
        self.text(column).ok_or_else(|| format!("{column} is empty"))
    }

    fn number(&self, column: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
            _ => Err(format!("{column} is `{}`, a number is needed", clean(text))),
        }
    }

    fn count(&self, column: &str) -> Result<Option<u32>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| format!("{column} is `{}`, a whole number is needed", clean(text)))
    }

    fn bytes(&self, stem: &str) -> Result<Option<u64>, String> {
        if let Some(mib) = self.number(&format!("{stem}_mib"))? {
            return Ok(Some((mib * MIB as f64).round() as u64));
        }
        if let Some(gib) = self.number(&format!("{stem}_gib"))? {
            return Ok(Some((gib * GIB as f64).round() as u64));
        }
        self.text(stem).map(|text| parse_bytes(text).map_err(|e| format!("{stem}: {e}"))).transpose()
    }

    fn prices(&self) -> Result<Vec<Price>, String> {
        if let Some(per_hour) = self.number("price_per_hour")? {
            let region = self.text("region").unwrap_or("any").to_owned();
            return check_prices(vec![Price { region, per_hour }]);
        }
        let mut prices = Vec::new();
        for part in self.required("prices")?.split_whitespace() {
            let wrong = || format!("prices has `{}`, write region=0.25", clean(part));
            let (region, price) = part.split_once('=').ok_or_else(wrong)?;
            prices.push(Price { region: region.to_owned(), per_hour: price.parse().map_err(|_| wrong())? });
        }
        check_prices(prices)
    }

    fn server(&self) -> Result<Server, String> {
        let type_name = self.required("type")?.to_owned();
        let vcpus = self.count("vcpus")?.filter(|v| *v > 0).ok_or("vcpus is empty or 0")?;
        let memory_bytes = self.bytes("memory")?.filter(|b| *b > 0).ok_or("memory is empty or 0")?;
        let gpu = match self.count("gpu_count")?.filter(|count| *count > 0) {
            None => None,
            Some(count) => Some(Gpu {
                model: self.text("gpu_model").unwrap_or("unnamed").to_owned(),
                count,
                vram_bytes: self.bytes("vram")?,
            }),
        };
        let source = self.text("source").unwrap_or("your catalogue");
        let category = self.text("category").unwrap_or(if gpu.is_some() { "gpu" } else { "general" });
        Ok(Server {
            vendor: self.required("vendor")?.to_ascii_lowercase(),
            family: self.text("family").unwrap_or(&type_name).to_owned(),
            category: category.to_ascii_lowercase(),
            arch: super::query::plain_arch(self.text("arch").unwrap_or("x86_64")),
            vcpus,
            memory_bytes,
            gpu,
            prices: self.prices()?,
            currency: self.text("currency").unwrap_or("USD").to_ascii_uppercase(),
            as_of: self.text("as_of").unwrap_or("undated").to_owned(),
            source: self.sources.get(source).copied().unwrap_or(source).to_owned(),
            type_name,
        })
    }
}

/// A price of 0 means "unknown" in every list seen so far, so it is refused rather than ranked first.
pub(super) fn check_prices(prices: Vec<Price>) -> Result<Vec<Price>, String> {
    match prices.iter().find(|p| !(p.per_hour.is_finite() && p.per_hour > 0.0)) {
        Some(bad) => Err(format!("the price {} is not above 0", bad.per_hour)),
        None if prices.is_empty() => Err("no price".to_owned()),
        None => Ok(prices),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, "mine.csv").unwrap_err().to_string()
    }

    #[test]
    fn a_users_file_with_quotes_and_units() {
        let text = "vendor,type,vcpus,memory,gpu_count,vram,price_per_hour,region,as_of\r\n\
                    Lab,\"big, \"\"old\"\" box\",64,512GiB,,,0.40,cellar,2026-01\r\n\
                    Lab,gpu-box,16,64GB,2,24GiB,1.10,,\r\n";
        let servers = parse(text, "mine.csv").unwrap();
        assert_eq!(servers.len(), 2);
        assert_eq!(servers[0].type_name, "big, \"old\" box");
        assert_eq!((servers[0].vendor.as_str(), servers[0].memory_bytes), ("lab", 512 * GIB));
        assert_eq!(servers[1].memory_bytes, 64_000_000_000);
        assert_eq!(servers[1].gpu.as_ref().unwrap().vram_bytes, Some(24 * GIB));
        assert_eq!((servers[1].category.as_str(), servers[1].prices[0].region.as_str()), ("gpu", "any"));
    }

    #[test]
    fn mistakes_name_their_line() {
        let head = "vendor,type,vcpus,memory_gib,price_per_hour\n";
        for (text, wanted) in [
            ("", "mine.csv line 1: no header line"),
            ("vendor,type,vcpus,memory_gib\n", "line 1: column `price_per_hour` is missing"),
            ("vendor,color\n", "line 1: unknown column `color`"),
            ("vendor,vendor\n", "line 1: column `vendor` appears twice"),
            (&format!("{head}a,b,four,8,1\n"), "line 2: vcpus is `four`, a whole number is needed"),
            (&format!("{head}\n# note\na,b,4,8,0\n"), "line 4: the price 0 is not above 0"),
            (&format!("{head}a,b,4,8\n"), "line 2: 4 fields, the header has 5"),
            (&format!("{head}a,\"b,4,8,1\n"), "line 2: a quoted field is not closed"),
            (&format!("{head}a,b,4,8,\"1"), "line 2: a quoted field is not closed"),
            (&format!("{head}a,b,4,NaN,1\n"), "line 2: memory_gib is `NaN`"),
            (&format!("{head}a,b,4,8,1\r\n \r\n\r\na,b,0,8,1\r\n"), "line 5: vcpus is empty or 0"),
            (&format!("{head}a,\"b\nc\",4,8,1\na,b,4,8,1\n"), "line 2: a quoted field is not closed"),
        ] {
            let message = error(text);
            assert!(message.contains(wanted), "{message} does not say {wanted}");
        }
    }
}
