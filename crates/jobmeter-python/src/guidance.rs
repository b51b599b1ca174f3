//! What the page says beside the figures: jobmeter's own advice, or the lines and resources of a compatible
//! tracker with the server and the cost that follow from them.

use crate::servers::{dictionary, lookup_error};
use jobmeter_insight::Error;
use jobmeter_insight::advice::{Options, outlook};
use jobmeter_insight::catalogue::{Catalogue, Filters};
use jobmeter_insight::cost::{Rate, compare};
use jobmeter_model::Summary;
use jobmeter_report::{AdviceBlock, ServerBlock};
use pyo3::prelude::*;
use serde_json::{Map, Value};

/// A dictionary from Python. `price_per_hour` or `instance`: what this server costs, a mistake is an error.
/// `vendor`, `instance_type` and `region`: what discovery found, and may not be in the catalogue. `lines`,
/// `resources` and `allocation`: instead of jobmeter's own advice.
pub(crate) struct Guidance {
    request: Map<String, Value>,
}

impl Guidance {
    pub(crate) fn parse(json: &str) -> PyResult<Guidance> {
        Ok(Guidance { request: dictionary(json)? })
    }

    pub(crate) fn advice(&self, summary: &Summary) -> PyResult<Option<AdviceBlock>> {
        let made = match self.lines() {
            None => self.own_advice(summary),
            Some(lines) => self.given_advice(lines, summary).map(Some),
        };
        made.map_err(lookup_error)
    }

    fn own_advice(&self, summary: &Summary) -> Result<Option<AdviceBlock>, Error> {
        let present = self.present()?;
        let (summaries, options) = (std::slice::from_ref(summary), Options::default());
        match outlook(summaries, &options, Catalogue::embedded(), &Filters::default(), present.as_ref()) {
            Ok(outlook) => Ok(Some(AdviceBlock::of(&outlook))),
            // A run without CPU, memory and time figures teaches nothing.
            Err(Error::NoRuns { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn given_advice(&self, lines: Vec<String>, summary: &Summary) -> Result<AdviceBlock, Error> {
        let resources = self.request.get("resources").and_then(Value::as_object).cloned().unwrap_or_default();
        let (offer, missing) = match Catalogue::embedded().recommend_offer(&resources, &Map::new()) {
            Ok(offer) => (Some(offer), None),
            Err(error @ Error::NothingFits { .. }) => (None, Some(error.to_string())),
            Err(error) => return Err(error),
        };
        let (present, rate) = (self.present()?, offer.as_ref().map(Rate::of_offer));
        let seconds = summary.run.wall_ns.map(|ns| ns as f64 / 1e9);
        let cost = seconds
            .filter(|_| present.is_some() || rate.is_some())
            .map(|seconds| compare(seconds, present.as_ref(), rate.as_ref()));
        let mut server = ServerBlock::of(offer.as_ref(), missing.as_deref(), cost.as_ref());
        server.allocation = self.text("allocation").map(str::to_owned);
        Ok(AdviceBlock { lines, server: Some(server), ..AdviceBlock::default() })
    }

    fn present(&self) -> Result<Option<Rate>, Error> {
        let catalogue = Catalogue::embedded();
        if let Some(price) = self.text("price_per_hour") {
            return Rate::parse(price).map(Some);
        }
        if let Some(name) = self.text("instance") {
            return catalogue.by_type(name).and_then(|server| Rate::of_server(server, None)).map(Some);
        }
        let (Some(vendor), Some(kind)) = (self.text("vendor"), self.text("instance_type")) else {
            return Ok(None);
        };
        // The tracker has its own names for two vendors.
        let vendor = match vendor {
            "hcloud" => "hetzner",
            "alicloud" => "alibaba",
            same => same,
        };
        let found = catalogue.by_type(&format!("{vendor}/{kind}")).ok();
        Ok(found.and_then(|server| {
            Rate::of_server(server, self.text("region")).or_else(|_| Rate::of_server(server, None)).ok()
        }))
    }

    fn lines(&self) -> Option<Vec<String>> {
        let lines = self.request.get("lines")?.as_array()?;
        Some(lines.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.request.get(name)?.as_str()
    }
}
