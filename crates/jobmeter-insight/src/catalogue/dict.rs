//! The catalogue for bindings that speak in dictionaries: named filters in, the cheapest server out.

use super::{Catalogue, Filters, Offer};
use crate::Error;
use crate::units::MIB;
use jobmeter_model::units::parse_bytes;
use serde_json::{Map, Value, json};

const NAMES: [&str; 9] =
    ["cpu", "memory", "gpu", "vram", "vendor", "arch", "region", "category", "max_price"];

impl Filters {
    /// Reads named filters. Sizes are numbers of MiB or text with a unit; `vram` is of each GPU. `vendor_id`, `region_id`
    /// and `architecture` are understood as well. `null` is no filter.
    pub fn from_dict(dict: &Map<String, Value>) -> Result<Filters, Error> {
        let mut filters = Filters::default();
        for (name, value) in dict.iter().filter(|(_, value)| !value.is_null()) {
            match name.as_str() {
                "cpu" => filters.cpu = Some(count(name, value)?),
                "memory" => filters.memory_bytes = Some(size(name, value)?),
                "gpu" => filters.gpu = Some(count(name, value)?),
                "vram" => filters.vram_bytes = Some(size(name, value)?),
                "vendor" | "vendor_id" => filters.vendor = Some(text(name, value)?),
                "arch" | "architecture" => filters.arch = Some(text(name, value)?),
                "region" | "region_id" => filters.region = Some(text(name, value)?),
                "category" => filters.category = Some(text(name, value)?),
                "max_price" => filters.max_usd_per_hour = Some(number(name, value)?),
                _ => {
                    return Err(Error::UnknownValue {
                        filter: "filter",
                        value: name.clone(),
                        valid: NAMES.map(str::to_owned).to_vec(),
                    });
                }
            }
        }
        Ok(filters)
    }
}

impl Catalogue {
    /// The cheapest server with at least `resources` (`cpu`, `memory`, `gpu`, `vram`, the last over all GPUs together)
    /// that meets `filters`.
    pub fn recommend_dict(
        &self,
        resources: &Map<String, Value>,
        filters: &Map<String, Value>,
    ) -> Result<Value, Error> {
        self.recommend_offer(resources, filters).map(|offer| offer.to_dict())
    }

    /// The same as an offer.
    pub fn recommend_offer(
        &self,
        resources: &Map<String, Value>,
        filters: &Map<String, Value>,
    ) -> Result<Offer, Error> {
        self.recommend_server(&wanted(resources, filters)?)
    }

    /// The `limit` cheapest servers that fit, as dictionaries.
    pub fn recommend_dicts(
        &self,
        resources: &Map<String, Value>,
        filters: &Map<String, Value>,
        limit: usize,
    ) -> Result<Vec<Value>, Error> {
        let offers = self.find(&wanted(resources, filters)?, limit)?;
        Ok(offers.iter().map(Offer::to_dict).collect())
    }

    /// The hourly price of a type of a vendor in its own currency: in the region, else in the cheapest one that has it.
    /// `None` for a type that the catalogue does not have.
    pub fn price_per_hour(&self, vendor: &str, region: &str, type_name: &str) -> Option<f64> {
        let server = self.by_type(&format!("{vendor}/{type_name}")).ok()?;
        let there = server.prices.iter().find(|price| price.region.eq_ignore_ascii_case(region));
        let cheapest = || server.prices.iter().min_by(|a, b| a.per_hour.total_cmp(&b.per_hour));
        there.or_else(cheapest).map(|price| price.per_hour)
    }
}

/// What is needed, narrowed by what is wished for.
fn wanted(resources: &Map<String, Value>, filters: &Map<String, Value>) -> Result<Filters, Error> {
    let mut needs = Filters::from_dict(resources)?;
    let gpus = u64::from(needs.gpu.unwrap_or(0).max(1));
    needs.vram_bytes = needs.vram_bytes.map(|total| total.div_ceil(gpus));
    let wishes = Filters::from_dict(filters)?;
    Ok(Filters {
        cpu: wishes.cpu.max(needs.cpu),
        memory_bytes: wishes.memory_bytes.max(needs.memory_bytes),
        gpu: wishes.gpu.max(needs.gpu),
        vram_bytes: wishes.vram_bytes.max(needs.vram_bytes),
        ..wishes
    })
}

impl Offer {
    /// All fields, and beside them the short names and those of the live service.
    pub fn to_dict(&self) -> Value {
        // Plain data with string keys: serialising it cannot fail.
        let mut dict = serde_json::to_value(self).unwrap_or_default();
        dict["memory"] = json!(self.memory_bytes);
        dict["gpu"] = json!(self.gpu_count);
        dict["price"] = json!(self.price_per_hour);
        dict["vendor_id"] = json!(self.vendor);
        dict["api_reference"] = json!(self.type_name);
        dict["memory_amount"] = json!(self.memory_bytes / MIB);
        dict["min_price_ondemand"] = json!(self.usd_per_hour);
        dict
    }
}

fn wrong(name: &str, value: &Value, expected: &'static str) -> Error {
    Error::Unit { text: format!("{name}={value}"), expected }
}

fn number(name: &str, value: &Value) -> Result<f64, Error> {
    let number = value.as_f64().filter(|n| n.is_finite() && *n >= 0.0);
    number.ok_or_else(|| wrong(name, value, "a filter with a number of 0 or more"))
}

fn count(name: &str, value: &Value) -> Result<u32, Error> {
    let number = number(name, value)?.ceil();
    if number <= f64::from(u32::MAX) {
        Ok(number as u32)
    } else {
        Err(wrong(name, value, "a sensible count"))
    }
}

fn size(name: &str, value: &Value) -> Result<u64, Error> {
    match value.as_str() {
        Some(text) => parse_bytes(text).map_err(|_| wrong(name, value, "a size such as \"16GiB\"")),
        None => Ok((number(name, value)? * MIB as f64) as u64),
    }
}

fn text(name: &str, value: &Value) -> Result<String, Error> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, value, "a filter with text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dict(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn resources_and_filters_become_the_cheapest_server() {
        let needs = dict(json!({"cpu": 4, "memory": 16384, "gpu": 2, "vram": 40_960}));
        let found = Catalogue::embedded().recommend_dict(&needs, &dict(json!({"vendor": "gcp"}))).unwrap();
        assert_eq!(found["type"], "g2-standard-24");
        assert_eq!(
            (&found["gpu"], &found["vcpus"], &found["vendor"]),
            (&json!(2), &json!(24), &json!("gcp"))
        );
        assert_eq!(found["price"], found["min_price_ondemand"]);
        assert_eq!(found["memory_amount"], 96 * 1024);
        let cpu =
            Catalogue::embedded().recommend_dict(&dict(json!({"cpu": 1, "gpu": 0, "vram": 0})), &Map::new());
        assert_eq!(cpu.unwrap()["gpu"], 0);
    }

    #[test]
    fn mistakes_say_what_is_known() {
        let error = |value: Value| Filters::from_dict(&dict(value)).unwrap_err().to_string();
        assert!(
            error(json!({"colour": "red"})).starts_with("unknown filter `colour`; known: cpu, memory, gpu")
        );
        assert!(error(json!({"cpu": "many"})).contains("a filter with a number"));
        assert!(error(json!({"memory": "lots"})).contains("a size such as"));
        assert!(error(json!({"vendor": 3})).contains("a filter with text"));
        assert_eq!(Filters::from_dict(&dict(json!({"vendor": null}))).unwrap(), Filters::default());
    }
}
