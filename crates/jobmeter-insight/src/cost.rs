//! What a run costs: on this server, on the recommended one, and the difference.

use crate::Error;
use crate::catalogue::{Offer, Server, usd_per};
use crate::units::{show_money, show_seconds};
use serde::Serialize;

/// An hourly price and what it is of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// What the server is called.
    pub label: String,
    /// In `currency`.
    pub per_hour: f64,
    /// As a three-letter code.
    pub currency: String,
    /// Where the price comes from.
    pub source: String,
    /// When the price was read.
    pub as_of: String,
}

impl Rate {
    /// The price of a server of the catalogue.
    pub fn of_offer(offer: &Offer) -> Rate {
        Rate {
            label: format!("{}/{} in {}", offer.vendor, offer.type_name, offer.region),
            per_hour: offer.price_per_hour,
            currency: offer.currency.clone(),
            source: offer.source.clone(),
            as_of: offer.as_of.clone(),
        }
    }

    /// Of a type in a region, or in its cheapest region.
    pub fn of_server(server: &Server, region: Option<&str>) -> Result<Rate, Error> {
        let known = || server.prices.iter().map(|p| p.region.clone()).collect();
        let price = match region {
            Some(wanted) => server.prices.iter().find(|p| p.region.eq_ignore_ascii_case(wanted)),
            None => server.prices.iter().min_by(|a, b| a.per_hour.total_cmp(&b.per_hour)),
        };
        match price {
            Some(price) => Ok(Rate::of_offer(&Offer::of(server, price))),
            None => Err(Error::UnknownValue {
                filter: "region",
                value: region.unwrap_or_default().to_owned(),
                valid: known(),
            }),
        }
    }

    /// `0.12`, `0.12 EUR`, `0.12EUR`: dollars unless a currency is named.
    pub fn parse(text: &str) -> Result<Rate, Error> {
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, currency) = trimmed.split_at(digits);
        let currency = match currency.trim() {
            "" => "USD".to_owned(),
            name => name.to_ascii_uppercase(),
        };
        let per_hour = number.parse::<f64>().ok().filter(|p| p.is_finite() && *p > 0.0);
        match per_hour.filter(|_| currency.chars().all(|c| c.is_ascii_uppercase()) && currency.len() == 3) {
            Some(per_hour) => Ok(Rate {
                label: "this server".to_owned(),
                per_hour,
                currency,
                source: "your price".to_owned(),
                as_of: "now".to_owned(),
            }),
            None => Err(Error::Unit {
                text: text.to_owned(),
                expected: "a price per hour; write it as 0.12 or 0.12EUR",
            }),
        }
    }

    /// What a run of so many seconds costs at this price.
    pub fn cost(&self, seconds: f64) -> RunCost {
        let per_run = self.per_hour * seconds / 3600.0;
        RunCost { rate: self.clone(), seconds, per_run, per_1000_runs: per_run * 1000.0 }
    }
}

/// What runs cost on one server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunCost {
    /// The price that it is reckoned with.
    pub rate: Rate,
    /// Mean wall time of the runs.
    pub seconds: f64,
    /// In the rate's currency.
    pub per_run: f64,
    /// In the rate's currency.
    pub per_1000_runs: f64,
}

/// The two side by side, the saving in the currency of the present server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// On the server that the runs had.
    pub present: Option<RunCost>,
    /// On the server that fits the advice.
    pub recommended: Option<RunCost>,
    /// Negative when the recommended server costs more than the present one.
    pub saving_per_run: Option<f64>,
    /// What the recommended one saves; negative where it costs more.
    pub saving_per_1000_runs: Option<f64>,
    /// The same as a share of the present cost.
    pub saving_ratio: Option<f64>,
    /// What has to hold for the figures to be right.
    pub assumption: &'static str,
}

const ASSUMPTION: &str = "on-demand price for the mean wall time, as long on the recommended server as it was here; \
                          start-up, storage and traffic are not included";

/// Compares two servers over runs of so many seconds.
pub fn compare(seconds: f64, present: Option<&Rate>, recommended: Option<&Rate>) -> Comparison {
    let saving_per_run = match (present, recommended) {
        (Some(present), Some(recommended)) => exchange(recommended, &present.currency)
            .map(|price| (present.per_hour - price) * seconds / 3600.0),
        _ => None,
    };
    let present = present.map(|rate| rate.cost(seconds));
    Comparison {
        saving_ratio: saving_per_run.zip(present.as_ref()).map(|(saving, cost)| saving / cost.per_run),
        saving_per_1000_runs: saving_per_run.map(|saving| saving * 1000.0),
        saving_per_run,
        recommended: recommended.map(|rate| rate.cost(seconds)),
        present,
        assumption: ASSUMPTION,
    }
}

fn exchange(rate: &Rate, currency: &str) -> Option<f64> {
    if rate.currency == currency {
        return Some(rate.per_hour);
    }
    Some(rate.per_hour * usd_per(&rate.currency)? / usd_per(currency)?)
}

impl Comparison {
    /// Lines for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (title, cost) in [("here", &self.present), ("recommended", &self.recommended)] {
            let Some(cost) = cost else { continue };
            lines.push(format!(
                "{title}: {} for {} on {} at {} an hour; 1,000 runs {} (price: {}, as of {})",
                show_money(cost.per_run, &cost.rate.currency),
                show_seconds(cost.seconds),
                crate::error::clean(&cost.rate.label),
                show_money(cost.rate.per_hour, &cost.rate.currency),
                show_money(cost.per_1000_runs, &cost.rate.currency),
                crate::error::clean(&cost.rate.source),
                crate::error::clean(&cost.rate.as_of),
            ));
        }
        if let (Some(run), Some(many), Some(ratio), Some(present)) =
            (self.saving_per_run, self.saving_per_1000_runs, self.saving_ratio, &self.present)
        {
            let currency = &present.rate.currency;
            let word = if run >= 0.0 { "saving" } else { "extra cost" };
            lines.push(format!(
                "{word}: {} a run, {} per 1,000 runs ({:.0} %)",
                show_money(run.abs(), currency),
                show_money(many.abs(), currency),
                100.0 * ratio.abs()
            ));
        }
        if !lines.is_empty() {
            lines.push(format!("counted: {}", self.assumption));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn a_run_of_half_an_hour() {
        let here = Rate::of_server(Catalogue::embedded().by_type("aws/m5.4xlarge").unwrap(), None).unwrap();
        assert_eq!((here.per_hour, here.currency.as_str()), (0.768, "USD"));
        let there = Rate::of_server(Catalogue::embedded().by_type("m5.xlarge").unwrap(), None).unwrap();
        let comparison = compare(1800.0, Some(&here), Some(&there));
        let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-9;
        assert!((comparison.present.as_ref().unwrap().per_run - 0.384).abs() < 1e-9);
        assert!((comparison.recommended.as_ref().unwrap().per_1000_runs - 96.0).abs() < 1e-9);
        assert!(close(comparison.saving_per_run, 0.288) && close(comparison.saving_ratio, 0.75));
        let text = comparison.lines().join("\n");
        assert!(text.contains("as of 2025-03") && text.contains("(75 %)"), "{text}");
    }

    #[test]
    fn currencies_meet_in_the_present_one() {
        let here = Rate::parse("1.08").unwrap();
        let there = Rate::parse("0.5 eur").unwrap();
        let comparison = compare(3600.0, Some(&here), Some(&there));
        assert!((comparison.saving_per_run.unwrap() - 0.54).abs() < 1e-9, "{comparison:?}");
        let unknown = Rate::parse("3 XYZ").unwrap();
        assert_eq!(compare(3600.0, Some(&here), Some(&unknown)).saving_per_run, None);
        assert_eq!(compare(3600.0, None, Some(&there)).saving_per_run, None);
        for wrong in ["", "free", "0", "-1", "1 dollar", "NaN"] {
            assert!(Rate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
