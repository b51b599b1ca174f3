//! What `advise` and `report` need to know about servers: what this one costs, and which may be recommended.

use super::servers::load_catalogue;
use jobmeter_insight::Error;
use jobmeter_insight::advice::{Options, Outlook, outlook};
use jobmeter_insight::catalogue::{Catalogue, Filters};
use jobmeter_insight::cost::Rate;
use jobmeter_model::Summary;
use std::borrow::Cow;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct PricingArgs {
    /// What this server costs per hour, such as 0.12 or 0.12EUR
    #[arg(long, value_name = "PRICE", conflicts_with = "instance")]
    price_per_hour: Option<String>,
    /// What this server is, such as aws/m5.xlarge
    #[arg(long, value_name = "TYPE")]
    instance: Option<String>,
    /// Recommend a server of this vendor only
    #[arg(long)]
    vendor: Option<String>,
    /// Recommend a server of this architecture only
    #[arg(long)]
    arch: Option<String>,
    /// Recommend a server in this region only
    #[arg(long)]
    region: Option<String>,
    /// Your own catalogue of servers (CSV or JSON), beside the embedded one
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
    /// Use only your own catalogue
    #[arg(long, requires = "catalogue")]
    catalogue_only: bool,
}

/// The servers to choose from and the price of the present one.
pub(crate) struct Market {
    catalogue: Cow<'static, Catalogue>,
    wishes: Filters,
    present: Option<Rate>,
}

impl PricingArgs {
    pub(crate) fn market(&self) -> Result<Market, String> {
        let catalogue = load_catalogue(self.catalogue.as_deref(), self.catalogue_only)?;
        let present = match (&self.price_per_hour, &self.instance) {
            (Some(price), _) => Some(Rate::parse(price)),
            (None, Some(name)) => {
                Some(catalogue.by_type(name).and_then(|server| Rate::of_server(server, None)))
            }
            (None, None) => None,
        };
        let wishes = Filters {
            vendor: self.vendor.clone(),
            arch: self.arch.clone(),
            region: self.region.clone(),
            ..Filters::default()
        };
        let present = present.transpose().map_err(|e| e.to_string())?;
        Ok(Market { catalogue, wishes, present })
    }
}

impl Market {
    pub(crate) fn outlook(&self, summaries: &[Summary], options: &Options) -> Result<Outlook, Error> {
        outlook(summaries, options, &self.catalogue, &self.wishes, self.present.as_ref())
    }
}
