//! What is said of a metric over a run: its total, its highest level, its rate.

use serde::{Deserialize, Serialize};

/// One way to sum up a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stat {
    /// What a counter grew by, or a figure that there is only one of.
    Total,
    /// The highest level.
    Max,
    /// The mean level, weighted by time.
    Mean,
    /// The lowest level.
    Min,
    /// The highest rate over any window of at least 100 ms.
    RateMax,
    /// The mean rate over the run.
    RateMean,
    /// The highest rate or level as a share of the hardware that there is for it.
    ShareMax,
    /// The mean rate or level as a share of the hardware that there is for it.
    ShareMean,
}

impl Stat {
    /// Every statistic.
    pub const ALL: [Stat; 8] = [
        Stat::Total,
        Stat::Max,
        Stat::Mean,
        Stat::Min,
        Stat::RateMax,
        Stat::RateMean,
        Stat::ShareMax,
        Stat::ShareMean,
    ];

    /// Whether it is a rate, and so in another unit than the metric.
    pub fn is_rate(self) -> bool {
        matches!(self, Stat::RateMax | Stat::RateMean)
    }

    /// What stands behind the title of the metric: `, peak`.
    pub fn words(self) -> &'static str {
        match self {
            Stat::Total => "",
            Stat::Max => ", peak",
            Stat::Mean => ", mean",
            Stat::Min => ", lowest",
            Stat::RateMax => ", peak rate",
            Stat::RateMean => ", mean rate",
            Stat::ShareMax => ", peak share",
            Stat::ShareMean => ", mean share",
        }
    }
}
