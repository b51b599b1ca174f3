//! The cheapest servers that fit, and, where none does, the constraint that is in the way.

use super::{Catalogue, Server, usd_per};
use crate::Error;
use crate::units::show_capacity;
use serde::Serialize;

/// What a server must have. `None` asks for nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// At least this many virtual cores.
    pub cpu: Option<u32>,
    /// At least this much memory.
    pub memory_bytes: Option<u64>,
    /// At least this many GPUs.
    pub gpu: Option<u32>,
    /// Of each GPU. Asking for VRAM asks for at least one GPU.
    pub vram_bytes: Option<u64>,
    /// This vendor only.
    pub vendor: Option<String>,
    /// This processor architecture only.
    pub arch: Option<String>,
    /// This region only.
    pub region: Option<String>,
    /// This category only.
    pub category: Option<String>,
    /// In dollars; other currencies are converted with the rates of the catalogue.
    pub max_usd_per_hour: Option<f64>,
    /// Leaves out types that earn their CPU time by idling: unfit for jobs that compute all the time.
    pub steady_cpu: bool,
}

/// A server in one region at its price.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Offer {
    /// Who rents it out.
    pub vendor: String,
    /// The vendor's name for it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Such as `general`, `memory` or `gpu`.
    pub category: String,
    /// Processor architecture.
    pub arch: String,
    /// Virtual cores.
    pub vcpus: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// The model of its GPUs.
    pub gpu_model: Option<String>,
    /// How many GPUs; 0 without.
    pub gpu_count: u32,
    /// Memory of one GPU.
    pub vram_bytes: Option<u64>,
    /// Where the price holds.
    pub region: String,
    /// In `currency`.
    pub price_per_hour: f64,
    /// As a three-letter code.
    pub currency: String,
    /// `None` where the catalogue has no rate for the currency; such offers come last.
    pub usd_per_hour: Option<f64>,
    /// When the price was read.
    pub as_of: String,
    /// Where the price comes from.
    pub source: String,
}

/// Checks of a server in a region, by the name of the option that asks for it.
type Check<'a> = (&'static str, Box<dyn Fn(&Server, &super::Price) -> bool + 'a>);

impl Offer {
    /// A record does not hold the architecture it was made on, so the cheapest server may have another one.
    pub fn arch_note(&self) -> Option<&'static str> {
        let note = "programs must be built for arm64 to run there; ask for x86_64 if they are not";
        (self.arch == "arm64").then_some(note)
    }
}

impl Catalogue {
    /// The cheapest first, each type once, in its cheapest region that fits.
    pub fn find(&self, filters: &Filters, limit: usize) -> Result<Vec<Offer>, Error> {
        let filters = self.checked(filters)?;
        let checks = filters.checks();
        let mut offers = self.offers(|server, price| checks.iter().all(|(_, fits)| fits(server, price)));
        if offers.is_empty() {
            return Err(Error::NothingFits { why: self.why_nothing_fits(&filters, &checks) });
        }
        offers.truncate(limit);
        Ok(offers)
    }

    /// The cheapest server that fits.
    pub fn recommend_server(&self, filters: &Filters) -> Result<Offer, Error> {
        let mut offers = self.find(filters, 1)?;
        offers.pop().ok_or_else(|| Error::NothingFits { why: "the catalogue is empty".to_owned() })
    }

    fn offers(&self, fits: impl Fn(&Server, &super::Price) -> bool) -> Vec<Offer> {
        let mut offers: Vec<Offer> = self
            .servers
            .iter()
            .filter_map(|server| {
                let fitting = server.prices.iter().filter(|price| fits(server, price));
                let cheapest = fitting.min_by(|a, b| a.per_hour.total_cmp(&b.per_hour))?;
                Some(Offer::of(server, cheapest))
            })
            .collect();
        offers.sort_by(|a, b| a.rank().total_cmp(&b.rank()).then_with(|| a.type_name.cmp(&b.type_name)));
        offers
    }

    /// Filters with names in the catalogue's spelling; an unknown name lists the known ones.
    fn checked(&self, filters: &Filters) -> Result<Filters, Error> {
        let mut checked = filters.clone();
        checked.arch = filters.arch.as_deref().map(plain_arch);
        let pick = |filter, value: &Option<String>, known: Vec<String>| match value {
            None => Ok(None),
            Some(value) => match known.iter().find(|k| k.eq_ignore_ascii_case(value)) {
                Some(found) => Ok(Some(found.clone())),
                None => Err(Error::UnknownValue { filter, value: value.clone(), valid: known }),
            },
        };
        checked.vendor = pick("vendor", &filters.vendor, self.values(|s| &s.vendor))?;
        checked.arch = pick("architecture", &checked.arch, self.values(|s| &s.arch))?;
        checked.category = pick("category", &filters.category, self.values(|s| &s.category))?;
        checked.region = pick("region", &filters.region, self.regions(checked.vendor.as_deref()))?;
        Ok(checked)
    }

    fn regions(&self, vendor: Option<&str>) -> Vec<String> {
        let of_vendor = self.servers.iter().filter(|s| vendor.is_none_or(|v| s.vendor == v));
        let set: std::collections::BTreeSet<&str> =
            of_vendor.flat_map(|s| s.prices.iter().map(|p| p.region.as_str())).collect();
        set.into_iter().map(str::to_owned).collect()
    }

    /// Drops one constraint at a time: the one without which something fits is the one to blame.
    fn why_nothing_fits(&self, filters: &Filters, checks: &[Check<'_>]) -> String {
        let mut reasons = Vec::new();
        for (dropped, _) in checks {
            let rest = |server: &Server, price: &super::Price| {
                checks.iter().filter(|(name, _)| name != dropped).all(|(_, fits)| fits(server, price))
            };
            let offers = self.offers(rest);
            if !offers.is_empty() {
                reasons.push(filters.blame(dropped, &offers));
            }
        }
        match reasons.len() {
            0 if checks.len() > 1 => {
                let names: Vec<&str> = checks.iter().map(|(name, _)| *name).collect();
                format!(
                    "no single constraint is to blame, {} contradict each other together",
                    names.join(", ")
                )
            }
            0 => "the catalogue is empty".to_owned(),
            _ => reasons.join("; or "),
        }
    }
}

impl Filters {
    fn checks(&self) -> Vec<Check<'_>> {
        let mut checks: Vec<Check<'_>> = Vec::new();
        if let Some(cpu) = self.cpu {
            checks.push(("--cpu", Box::new(move |s, _| s.vcpus >= cpu)));
        }
        if let Some(memory) = self.memory_bytes {
            checks.push(("--memory", Box::new(move |s, _| s.memory_bytes >= memory)));
        }
        if let Some(gpu) = self.gpu.filter(|g| *g > 0) {
            checks.push(("--gpu", Box::new(move |s, _| s.gpu.as_ref().is_some_and(|g| g.count >= gpu))));
        }
        if let Some(vram) = self.vram_bytes.filter(|v| *v > 0) {
            let enough = move |g: &super::Gpu| g.vram_bytes.is_some_and(|bytes| bytes >= vram);
            checks.push(("--vram", Box::new(move |s, _| s.gpu.as_ref().is_some_and(enough))));
        }
        if let Some(vendor) = &self.vendor {
            checks.push(("--vendor", Box::new(move |s, _| s.vendor == *vendor)));
        }
        if let Some(arch) = &self.arch {
            checks.push(("--arch", Box::new(move |s, _| s.arch == *arch)));
        }
        if let Some(category) = &self.category {
            checks.push(("--category", Box::new(move |s, _| s.category == *category)));
        }
        if let Some(region) = &self.region {
            checks.push(("--region", Box::new(move |_, p| p.region == *region)));
        }
        if let Some(max) = self.max_usd_per_hour {
            let cheap = move |s: &Server, p: &super::Price| {
                usd_per(&s.currency).is_some_and(|rate| p.per_hour * rate <= max)
            };
            checks.push(("--max-price", Box::new(cheap)));
        }
        if self.steady_cpu {
            checks.push(("steady CPU", Box::new(|s, _| s.category != "burstable")));
        }
        checks
    }

    /// What the dropped constraint asked for, and the best that is to be had without it.
    fn blame(&self, dropped: &str, offers: &[Offer]) -> String {
        let most = |value: fn(&Offer) -> u64| offers.iter().map(value).max().unwrap_or(0);
        let best = match dropped {
            "--cpu" => format!("the most vCPUs are {}", most(|o| u64::from(o.vcpus))),
            "--memory" => format!("the most memory is {}", show_capacity(most(|o| o.memory_bytes))),
            "--gpu" => format!("the most GPUs are {}", most(|o| u64::from(o.gpu_count))),
            "--vram" => {
                format!("the most VRAM per GPU is {}", show_capacity(most(|o| o.vram_bytes.unwrap_or(0))))
            }
            "--max-price" => match offers.first().and_then(|o| o.usd_per_hour) {
                Some(usd) => format!("the cheapest costs {usd:.4} USD an hour"),
                None => "no price converts to USD".to_owned(),
            },
            "--vendor" => format!("{} offers it", offers[0].vendor),
            "--arch" => format!("{} offers it", offers[0].arch),
            "--category" => format!("category {} offers it", offers[0].category),
            "--region" => format!("region {} of {} offers it", offers[0].region, offers[0].vendor),
            _ => format!("{} {} offers it", offers[0].vendor, offers[0].type_name),
        };
        format!("{dropped} is in the way ({best}; {} types fit without it)", offers.len())
    }
}

impl Offer {
    pub(crate) fn of(server: &Server, price: &super::Price) -> Offer {
        let gpu = server.gpu.as_ref();
        Offer {
            vendor: server.vendor.clone(),
            type_name: server.type_name.clone(),
            category: server.category.clone(),
            arch: server.arch.clone(),
            vcpus: server.vcpus,
            memory_bytes: server.memory_bytes,
            gpu_model: gpu.map(|g| g.model.clone()),
            gpu_count: gpu.map_or(0, |g| g.count),
            vram_bytes: gpu.and_then(|g| g.vram_bytes),
            region: price.region.clone(),
            price_per_hour: price.per_hour,
            usd_per_hour: usd_per(&server.currency).map(|rate| price.per_hour * rate),
            currency: server.currency.clone(),
            as_of: server.as_of.clone(),
            source: server.source.clone(),
        }
    }

    fn rank(&self) -> f64 {
        self.usd_per_hour.unwrap_or(f64::INFINITY)
    }
}

/// One spelling for each architecture.
pub(super) fn plain_arch(arch: &str) -> String {
    match arch.to_ascii_lowercase().as_str() {
        "amd64" | "x86_64" | "x86-64" | "x64" => "x86_64".to_owned(),
        "arm64" | "aarch64" | "arm64_mac" => "arm64".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::GIB;

    #[test]
    fn the_cheapest_that_fits_comes_first() {
        let filters = Filters {
            cpu: Some(4),
            memory_bytes: Some(16 * GIB),
            vendor: Some("AWS".into()),
            arch: Some("aarch64".into()),
            ..Filters::default()
        };
        let offers = Catalogue::embedded().find(&filters, 5).unwrap();
        assert_eq!(offers.len(), 5);
        assert!(offers.iter().all(|o| o.vendor == "aws" && o.arch == "arm64" && o.vcpus >= 4));
        assert!(offers.windows(2).all(|w| w[0].usd_per_hour <= w[1].usd_per_hour));
        let steady =
            Catalogue::embedded().recommend_server(&Filters { steady_cpu: true, ..filters }).unwrap();
        assert_eq!((steady.type_name.as_str(), steady.region.as_str()), ("m6g.xlarge", "us-east-1"));
        assert_eq!(steady.price_per_hour, 0.154);
        assert!(!steady.source.is_empty() && steady.as_of.starts_with("2025"));
    }

    #[test]
    fn an_unknown_value_lists_the_valid_ones() {
        let table = Catalogue::embedded();
        let find = |filters: Filters| table.find(&filters, 1).unwrap_err().to_string();
        let message = find(Filters { vendor: Some("contoso".into()), ..Filters::default() });
        assert_eq!(
            message,
            "unknown vendor `contoso`; known: alibaba, aws, azure, digitalocean, gcp, hetzner, ovh, upcloud, vultr"
        );
        assert!(
            find(Filters { arch: Some("sparc".into()), ..Filters::default() }).ends_with("arm64, x86_64")
        );
        let message =
            find(Filters { vendor: Some("aws".into()), region: Some("mars".into()), ..Filters::default() });
        assert_eq!(message, "unknown region `mars`; known: eu-west-1, us-east-1");
        assert!(find(Filters { category: Some("x".into()), ..Filters::default() }).contains("memory"));
    }

    #[test]
    fn nothing_fits_names_the_constraint() {
        let table = Catalogue::embedded();
        let why = |filters: Filters| table.find(&filters, 1).unwrap_err().to_string();
        let message =
            why(Filters { cpu: Some(2), vram_bytes: Some(200 * GIB), gpu: Some(1), ..Filters::default() });
        assert!(message.contains("--vram is in the way (the most VRAM per GPU is 94 GiB"), "{message}");
        assert!(!message.contains("--cpu"), "{message}");
        let message = why(Filters { cpu: Some(64), vendor: Some("hetzner".into()), ..Filters::default() });
        assert!(message.contains("--cpu is in the way (the most vCPUs are 48"), "{message}");
        assert!(message.contains("--vendor is in the way"), "{message}");
        let message = why(Filters { cpu: Some(100_000), memory_bytes: Some(1 << 60), ..Filters::default() });
        assert!(message.contains("no single constraint is to blame"), "{message}");
        let message = why(Filters { cpu: Some(8), max_usd_per_hour: Some(0.0001), ..Filters::default() });
        assert!(message.contains("--max-price is in the way (the cheapest costs"), "{message}");
    }
}
