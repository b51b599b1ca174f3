//! Live prices from a service that speaks the Spare Cores Keeper interface, asked only when the user says so.
//! Whatever goes wrong, the embedded table answers instead and the answer says so.

use super::{Catalogue, Filters, Gpu, Offer, Price, Server, http};
use crate::Error;
use crate::units::{GIB, MIB};
use jobmeter_model::calendar::utc_date;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Asked when the build can speak https and the user names no endpoint.
pub const DEFAULT_ENDPOINT: &str = "https://keeper.sparecores.net";

/// Where an answer came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// From a service, now.
    Live {
        /// The service that answered.
        endpoint: String,
    },
    /// From the table that is built in.
    Embedded,
    /// A user's own catalogue, alone or beside the embedded table.
    File {
        /// The file.
        path: String,
        /// Whether the file replaces the built-in table instead of adding to it.
        only: bool,
    },
    /// A live answer was asked for and not to be had.
    EmbeddedAfterFailure {
        /// What went wrong.
        reason: String,
    },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Live { endpoint } => write!(out, "live, {}", crate::error::clean(endpoint)),
            Origin::Embedded => out.write_str("embedded table"),
            Origin::File { path, only: true } => out.write_str(&crate::error::clean(path)),
            Origin::File { path, only: false } => {
                write!(out, "embedded table and {}", crate::error::clean(path))
            }
            Origin::EmbeddedAfterFailure { reason } => write!(out, "embedded table ({reason})"),
        }
    }
}

/// Asks the service; falls back to `table`. Mistakes in the filters are errors in both.
pub fn find_live(
    table: &Catalogue,
    filters: &Filters,
    limit: usize,
    endpoint: &str,
    timeout: Duration,
) -> Result<(Vec<Offer>, Origin), Error> {
    match ask(filters, limit, endpoint, timeout) {
        Ok(catalogue) => match catalogue.find(filters, limit) {
            Ok(offers) => Ok((offers, Origin::Live { endpoint: endpoint.to_owned() })),
            Err(error) => fall_back(table, filters, limit, error),
        },
        Err(error) => fall_back(table, filters, limit, error),
    }
}

fn fall_back(
    table: &Catalogue,
    filters: &Filters,
    limit: usize,
    error: Error,
) -> Result<(Vec<Offer>, Origin), Error> {
    let offers = table.find(filters, limit)?;
    Ok((offers, Origin::EmbeddedAfterFailure { reason: error.to_string() }))
}

fn ask(filters: &Filters, limit: usize, endpoint: &str, timeout: Duration) -> Result<Catalogue, Error> {
    let fail = |reason: String| Error::Live { endpoint: endpoint.to_owned(), reason };
    if filters.region.is_some() || filters.category.is_some() {
        return Err(fail("it knows neither regions nor categories of a price".to_owned()));
    }
    let url = format!("{}/servers?{}", endpoint.trim_end_matches('/'), query(filters, limit));
    let body = http::get(&url, timeout).map_err(fail)?;
    let rows: Vec<Row> = serde_json::from_str(&body).map_err(|e| fail(format!("unexpected answer, {e}")))?;
    let as_of = today();
    let servers: Vec<Server> = rows.into_iter().filter_map(|row| row.server(endpoint, &as_of)).collect();
    if servers.is_empty() {
        Err(fail("no priced server in the answer".to_owned()))
    } else {
        Ok(Catalogue { servers })
    }
}

fn query(filters: &Filters, limit: usize) -> String {
    let gib = |bytes: u64| bytes.div_ceil(GIB).to_string();
    let parts: [(&str, Option<String>); 9] = [
        ("vcpus_min", filters.cpu.map(|v| v.to_string())),
        ("memory_min", filters.memory_bytes.map(gib)),
        ("gpu_min", filters.gpu.filter(|g| *g > 0).map(|v| v.to_string())),
        ("gpu_memory_min", filters.vram_bytes.filter(|v| *v > 0).map(gib)),
        ("vendor", filters.vendor.as_deref().map(str::to_ascii_lowercase)),
        ("architecture", filters.arch.as_deref().map(super::query::plain_arch)),
        ("order_by", Some("min_price_ondemand".to_owned())),
        ("order_dir", Some("asc".to_owned())),
        ("limit", Some(limit.to_string())),
    ];
    let pairs = parts.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", escape(&value?))));
    pairs.collect::<Vec<_>>().join("&")
}

fn escape(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => (b as char).to_string(),
            _ => format!("%{b:02X}"),
        })
        .collect()
}

/// The fields of the service's answer that matter here; amounts of memory are MiB.
#[derive(Deserialize)]
struct Row {
    vendor_id: String,
    #[serde(alias = "api_reference")]
    name: String,
    vcpus: u32,
    memory_amount: u64,
    cpu_architecture: Option<String>,
    /// `Dedicated`, `Shared` or `Burstable`.
    cpu_allocation: Option<String>,
    family: Option<String>,
    gpu_count: Option<f64>,
    gpu_model: Option<String>,
    gpu_memory_min: Option<f64>,
    min_price_ondemand: Option<f64>,
    #[serde(default)]
    currency: Option<String>,
}

impl Row {
    /// `None` where the service knows no on-demand price: such a server cannot be ranked.
    fn server(self, endpoint: &str, as_of: &str) -> Option<Server> {
        let per_hour = self.min_price_ondemand.filter(|p| p.is_finite() && *p > 0.0)?;
        let count = self.gpu_count.unwrap_or(0.0).floor() as u32;
        let gpu = (count > 0).then(|| Gpu {
            model: self.gpu_model.unwrap_or_else(|| "unnamed".to_owned()),
            count,
            vram_bytes: self.gpu_memory_min.filter(|m| *m > 0.0).map(|mib| (mib * MIB as f64) as u64),
        });
        Some(Server {
            vendor: self.vendor_id,
            family: self.family.unwrap_or_else(|| self.name.clone()),
            type_name: self.name,
            category: match (&gpu, self.cpu_allocation.as_deref()) {
                (Some(_), _) => "gpu",
                (None, Some(kind)) if kind.eq_ignore_ascii_case("burstable") => "burstable",
                (None, _) => "general",
            }
            .to_owned(),
            arch: super::query::plain_arch(self.cpu_architecture.as_deref().unwrap_or("x86_64")),
            vcpus: self.vcpus,
            memory_bytes: self.memory_amount.checked_mul(MIB)?,
            gpu,
            prices: vec![Price { region: "cheapest".to_owned(), per_hour }],
            currency: self.currency.unwrap_or_else(|| "USD".to_owned()),
            as_of: as_of.to_owned(),
            source: format!("live, {endpoint}"),
        })
    }
}

/// Today as `YYYY-MM-DD`, UTC.
fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    utc_date(since.map_or(0, |since| since.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_escaped_and_in_the_units_of_the_service() {
        let filters = Filters {
            cpu: Some(4),
            memory_bytes: Some(15 * GIB + 1),
            vendor: Some("a&b=c".into()),
            arch: Some("aarch64".into()),
            ..Filters::default()
        };
        assert_eq!(
            query(&filters, 3),
            "vcpus_min=4&memory_min=16&vendor=a%26b%3Dc&architecture=arm64&order_by=min_price_ondemand\
             &order_dir=asc&limit=3"
        );
        let date = today();
        assert!(date.len() == 10 && date.as_str() > "2025-01-01", "{date}");
    }
}
