//! Advice with everything that follows from it: the cheapest server, the cost, and whether the machine was shared.

use super::{Advice, Options, advise};
use crate::Error;
use crate::allocation::{Allocation, Rule, allocation};
use crate::catalogue::{Catalogue, Filters, Offer};
use crate::cost::{Comparison, Rate, compare};
use crate::units::show_capacity;
use jobmeter_model::Summary;
use serde::Serialize;

/// Advice, the servers that fit it, and what they cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlook {
    /// What to ask for.
    pub advice: Advice,
    /// The cheapest server of the catalogue that holds the advice.
    pub server: Option<Offer>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_missing: Option<String>,
    /// What the present and the recommended server cost; `None` where neither price is known.
    pub cost: Option<Comparison>,
    /// Of the latest run that ended well.
    pub allocation: Allocation,
}

/// `wishes` limits the server to a vendor, an architecture or a region; amounts come from the advice.
pub fn outlook(
    summaries: &[Summary],
    options: &Options,
    catalogue: &Catalogue,
    wishes: &Filters,
    present: Option<&Rate>,
) -> Result<Outlook, Error> {
    let advice = advise(summaries, options)?;
    let needs = advice.filters();
    let filters = Filters {
        vendor: wishes.vendor.clone(),
        arch: wishes.arch.clone(),
        region: wishes.region.clone(),
        category: wishes.category.clone(),
        max_usd_per_hour: wishes.max_usd_per_hour,
        ..needs
    };
    let (server, server_missing) = match catalogue.recommend_server(&filters) {
        Ok(offer) => (Some(offer), None),
        Err(error @ Error::NothingFits { .. }) => (None, Some(error.to_string())),
        Err(error) => return Err(error),
    };
    let rate = server.as_ref().map(Rate::of_offer);
    let cost = advice
        .mean_wall_s
        .filter(|_| rate.is_some() || present.is_some())
        .map(|seconds| compare(seconds, present, rate.as_ref()));
    // A run that ended at once says nothing about its neighbours, so those that ended well come first.
    let judged = summaries.iter().max_by_key(|s| (s.verdict.exit_code == Some(0), s.run.started_unix_ns));
    let allocation = allocation(judged.unwrap_or(&summaries[0]), Rule::Both);
    Ok(Outlook { advice, server, server_missing, cost, allocation })
}

impl Outlook {
    /// As JSON, for programs.
    pub fn to_json(&self) -> String {
        // Plain data with string keys: serialising it cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// As text, for people.
    pub fn to_text(&self) -> String {
        let mut out = self.advice.to_text();
        out.push_str(&format!("machine: {}\n", self.allocation.allocation.as_str()));
        for line in &self.allocation.evidence {
            out.push_str(&format!("  {line}\n"));
        }
        match (&self.server, &self.server_missing) {
            (Some(offer), _) => {
                let gpu = match &offer.gpu_model {
                    Some(model) => format!(", {} x {}", offer.gpu_count, crate::error::clean(model)),
                    None => String::new(),
                };
                out.push_str(&format!(
                    "server: {}/{} ({} vCPU, {}{gpu}, {})\n",
                    crate::error::clean(&offer.vendor),
                    crate::error::clean(&offer.type_name),
                    offer.vcpus,
                    show_capacity(offer.memory_bytes),
                    crate::error::clean(&offer.arch)
                ));
                if let Some(note) = offer.arch_note() {
                    out.push_str(&format!("  {note}\n"));
                }
            }
            (None, Some(missing)) => out.push_str(&format!("server: {missing}\n")),
            (None, None) => {}
        }
        if let Some(cost) = &self.cost {
            out.push_str("cost:\n");
            for line in cost.lines() {
                out.push_str(&format!("  {line}\n"));
            }
        }
        out
    }
}
