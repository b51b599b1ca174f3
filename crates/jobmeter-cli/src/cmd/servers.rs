//! `jobmeter servers`: the cheapest servers that fit. Contacts nobody unless `--live` is given.

use jobmeter_insight::catalogue::live::{DEFAULT_ENDPOINT, Origin, find_live};
use jobmeter_insight::catalogue::{Catalogue, Filters, table};
use jobmeter_model::units::{parse_bytes, parse_duration_ns};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names the service that `--live` asks, unless `--endpoint` does.
const ENDPOINT_VARIABLE: &str = "JOBMETER_LIVE_ENDPOINT";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jobmeter servers --cpu 4 --memory 16GiB
  jobmeter servers --gpu 1 --vram 24GiB --vendor aws --json
  jobmeter servers --cpu 64 --catalogue ours.csv --catalogue-only")]
pub(crate) struct ServersArgs {
    /// Least number of vCPUs
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Least memory, such as 16GiB
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Least number of GPUs
    #[arg(long, value_name = "N")]
    gpu: Option<u32>,
    /// Least memory of each GPU, such as 24GiB
    #[arg(long, value_name = "SIZE")]
    vram: Option<String>,
    /// Only this vendor (aws, gcp, azure, hetzner, ovh, upcloud, vultr, alibaba, digitalocean)
    #[arg(long)]
    vendor: Option<String>,
    /// Only this architecture (x86_64, arm64)
    #[arg(long)]
    arch: Option<String>,
    /// Only this region of the vendor
    #[arg(long)]
    region: Option<String>,
    /// Only this category (general, compute, memory, storage, burstable, gpu)
    #[arg(long)]
    category: Option<String>,
    /// Highest price per hour in USD
    #[arg(long, value_name = "USD")]
    max_price: Option<f64>,
    /// Leave out burstable types, which throttle a job that computes all the time
    #[arg(long)]
    steady: bool,
    /// Show this many
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Your own catalogue (CSV or JSON), beside the embedded one
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
    /// Use only your own catalogue
    #[arg(long, requires = "catalogue")]
    catalogue_only: bool,
    /// Ask a live price service over the network; the catalogue answers if it does not
    #[arg(long)]
    live: bool,
    /// The service to ask (default: $JOBMETER_LIVE_ENDPOINT)
    #[arg(long, value_name = "URL", requires = "live")]
    endpoint: Option<String>,
    /// How long to wait for the service
    #[arg(long, value_name = "TIME", default_value = "2s")]
    timeout: String,
}

pub(crate) fn main(args: ServersArgs) -> Result<u8, String> {
    let filters = args.filters()?;
    let catalogue = load_catalogue(args.catalogue.as_deref(), args.catalogue_only)?;
    let limit = args.limit as usize;
    let (offers, origin) = if args.live {
        let endpoint = args.endpoint.clone().or_else(|| std::env::var(ENDPOINT_VARIABLE).ok());
        let endpoint = endpoint.unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        let timeout = Duration::from_nanos(parse_duration_ns(&args.timeout).map_err(|e| e.to_string())?);
        find_live(&catalogue, &filters, limit, &endpoint, timeout)
    } else {
        catalogue.find(&filters, limit).map(|offers| (offers, args.origin()))
    }
    .map_err(|e| e.to_string())?;
    let text = if args.json {
        format!("{:#}\n", serde_json::json!({ "origin": origin, "servers": offers }))
    } else {
        table(&offers, &origin, super::terminal::width(super::terminal::Stream::Output))
    };
    super::out::print(&text)
}

impl ServersArgs {
    fn origin(&self) -> Origin {
        match &self.catalogue {
            Some(path) => Origin::File { path: path.display().to_string(), only: self.catalogue_only },
            None => Origin::Embedded,
        }
    }

    fn filters(&self) -> Result<Filters, String> {
        let size =
            |text: &Option<String>| text.as_deref().map(parse_bytes).transpose().map_err(|e| e.to_string());
        if self.max_price.is_some_and(|price| !price.is_finite() || price <= 0.0) {
            return Err("--max-price must be above 0".to_owned());
        }
        Ok(Filters {
            cpu: self.cpu,
            memory_bytes: size(&self.memory)?,
            gpu: self.gpu,
            vram_bytes: size(&self.vram)?,
            vendor: self.vendor.clone(),
            arch: self.arch.clone(),
            region: self.region.clone(),
            category: self.category.clone(),
            max_usd_per_hour: self.max_price,
            steady_cpu: self.steady,
        })
    }
}

/// The embedded catalogue, extended or replaced by the user's.
pub(crate) fn load_catalogue(own: Option<&Path>, only: bool) -> Result<Cow<'static, Catalogue>, String> {
    let Some(path) = own else { return Ok(Cow::Borrowed(Catalogue::embedded())) };
    let own = Catalogue::read(path).map_err(|e| e.to_string())?;
    Ok(Cow::Owned(if only { own } else { Catalogue::embedded().extended_by(own) }))
}
