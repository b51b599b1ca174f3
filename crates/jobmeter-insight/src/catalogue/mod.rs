//! Server types with their on-demand prices: an embedded table, a user's own file beside or instead of it,
//! and, only when asked, a live service. Every price carries its source and date.

mod csv;
mod dict;
mod http;
mod json;
mod limits;
pub mod live;
mod query;
mod text;

pub use query::{Filters, Offer};
pub use text::table;

use crate::Error;
use once_cell::race::OnceBox;
use std::path::Path;

const EMBEDDED: &str = include_str!("../../data/servers.csv");

/// A server type that can be rented.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Who rents it out, in lower case.
    pub vendor: String,
    /// The vendor's name for it.
    pub type_name: String,
    /// Types of one family differ in size only.
    pub family: String,
    /// `general`, `compute`, `memory`, `storage`, `burstable` or `gpu`; a user's catalogue may add others.
    pub category: String,
    /// `x86_64` or `arm64`.
    pub arch: String,
    /// Virtual cores.
    pub vcpus: u32,
    /// Nominal; the operating system keeps some hundred MiB for itself.
    pub memory_bytes: u64,
    /// Its GPUs, where it has some.
    pub gpu: Option<Gpu>,
    /// What it costs, by region.
    pub prices: Vec<Price>,
    /// Of the prices, as a three-letter code.
    pub currency: String,
    /// Year, or year and month, in which the price held.
    pub as_of: String,
    /// Where the figures come from.
    pub source: String,
}

/// The GPUs of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// The model, as the vendor names it.
    pub model: String,
    /// How many.
    pub count: u32,
    /// Of each GPU, as marketed; the driver shows a few per cent less. `None`: the catalogue does not say.
    pub vram_bytes: Option<u64>,
}

/// A price in one region.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The vendor's name for the region; `any` where the list has none.
    pub region: String,
    /// In the server's currency.
    pub per_hour: f64,
}

/// Servers to choose from.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// In the order of the list.
    pub servers: Vec<Server>,
}

impl Catalogue {
    /// The table inside the binary, parsed on first use.
    pub fn embedded() -> &'static Catalogue {
        static TABLE: OnceBox<Catalogue> = OnceBox::new();
        TABLE.get_or_init(|| {
            Box::new(match csv::parse(EMBEDDED, "embedded catalogue") {
                Ok(servers) => Catalogue { servers },
                // The table is constant and tested, so this arm is never reached; an empty catalogue is the
                // harmless answer if it were.
                Err(_) => Catalogue::default(),
            })
        })
    }

    /// Reads a user's catalogue; the name decides: `.json` is JSON, everything else CSV.
    pub fn read(path: &Path) -> Result<Catalogue, Error> {
        let name = path.display().to_string();
        let text = limits::read_text(path).map_err(|source| Error::Read { path: name.clone(), source })?;
        let is_json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let servers = if is_json { json::parse(&text, &name)? } else { csv::parse(&text, &name)? };
        Ok(Catalogue { servers })
    }

    /// This catalogue and another; where both know a type of a vendor, the other one wins.
    pub fn extended_by(&self, other: Catalogue) -> Catalogue {
        let replaced: std::collections::HashSet<(&str, &str)> =
            other.servers.iter().map(|s| (s.vendor.as_str(), s.type_name.as_str())).collect();
        let mut servers: Vec<Server> = self
            .servers
            .iter()
            .filter(|s| !replaced.contains(&(s.vendor.as_str(), s.type_name.as_str())))
            .cloned()
            .collect();
        drop(replaced);
        servers.extend(other.servers);
        Catalogue { servers }
    }

    /// A type by name, `m5.large` or `aws/m5.large`.
    pub fn by_type(&self, name: &str) -> Result<&Server, Error> {
        let (vendor, type_name) = match name.split_once('/') {
            Some((vendor, rest)) => (Some(vendor), rest),
            None => (None, name),
        };
        let found = self.servers.iter().find(|s| {
            s.type_name.eq_ignore_ascii_case(type_name)
                && vendor.is_none_or(|v| s.vendor.eq_ignore_ascii_case(v))
        });
        found.ok_or_else(|| Error::UnknownValue {
            filter: "instance type",
            value: name.to_owned(),
            valid: self.near(vendor, type_name),
        })
    }

    /// Types whose names begin alike, so that a typing mistake finds its way.
    fn near(&self, vendor: Option<&str>, type_name: &str) -> Vec<String> {
        const SHOWN: usize = 12;
        let stem = |name: &str| name.to_ascii_lowercase().chars().take(3).collect::<String>();
        let of_vendor = |s: &&Server| vendor.is_none_or(|v| s.vendor.eq_ignore_ascii_case(v));
        let alike: Vec<String> = self
            .servers
            .iter()
            .filter(of_vendor)
            .filter(|s| stem(&s.type_name) == stem(type_name))
            .take(SHOWN)
            .map(|s| format!("{}/{}", s.vendor, s.type_name))
            .collect();
        if alike.is_empty() { self.values(|s| &s.vendor) } else { alike }
    }

    /// The distinct values of a field, sorted.
    fn values<'a>(&'a self, field: impl Fn(&'a Server) -> &'a str) -> Vec<String> {
        let set: std::collections::BTreeSet<&str> = self.servers.iter().map(field).collect();
        set.into_iter().map(str::to_owned).collect()
    }
}

/// Dollars per unit of a currency, for ranking only; shown prices keep their own currency.
pub fn usd_per(currency: &str) -> Option<f64> {
    match currency {
        "USD" => Some(1.0),
        "EUR" => Some(1.08),
        "GBP" => Some(1.27),
        "CHF" => Some(1.13),
        "CNY" => Some(0.138),
        _ => None,
    }
}

/// When those rates held.
pub const RATES_AS_OF: &str = "2025-03";
