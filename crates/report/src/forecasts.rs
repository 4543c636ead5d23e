//! The forecasts of miss ratios, each compared with the minute that it was made for.
//!
//! Once a minute the cache forecasts the miss ratio of each tenant for the next minute, with the
//! memory that the tenant holds. The error of such a forecast tells how far the curves can be
//! trusted near the present memory.

use crate::rings::TimeSeries;
use crate::{History, Point};
use serde::{Deserialize, Serialize};

/// A minute with fewer reads of a tenant is not compared: chance would be most of the difference.
const READS_MIN: u32 = 100;

/// The errors of forecast miss ratios over the last day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecasts {
    /// The number of minutes with a forecast, summed over all tenants.
    pub count: u64,
    /// The median error, as a difference of miss ratios.
    pub median: f64,
    /// The 95th percentile of the error, as a difference of miss ratios.
    pub most: f64,
    /// The end of the first compared minute, in Unix seconds.
    #[serde(default)]
    pub from_unix_s: u64,
    /// The end of the last compared minute, in Unix seconds.
    #[serde(default)]
    pub to_unix_s: u64,
    /// The forecast that was off most; `None` without any.
    #[serde(default)]
    pub worst: Option<ComparedForecast>,
}

/// A forecast beside the minute that followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedForecast {
    /// The tenant.
    pub tenant: String,
    /// The end of the minute, in Unix seconds.
    pub unix_s: u64,
    /// The forecast miss ratio.
    pub expected: f64,
    /// The actual miss ratio.
    pub actual: f64,
}

impl ComparedForecast {
    /// The difference between forecast and actual miss ratio.
    pub fn error(&self) -> f64 {
        (self.actual - self.expected).abs()
    }
}

impl Forecasts {
    /// Sums up forecasts that were compared.
    pub fn of(mut all: Vec<ComparedForecast>) -> Self {
        let times = || all.iter().map(|one| one.unix_s);
        let (from, to) = (times().min(), times().max());
        all.sort_by(|a, b| a.error().total_cmp(&b.error()));
        let at = |share: f64| {
            let place = (share * all.len() as f64) as usize;
            all.get(place.min(all.len().saturating_sub(1))).map_or(0.0, ComparedForecast::error)
        };
        Self {
            count: all.len() as u64,
            median: at(0.5),
            most: at(0.95),
            from_unix_s: from.unwrap_or_default(),
            to_unix_s: to.unwrap_or_default(),
            worst: all.pop(),
        }
    }
}

impl History {
    /// The forecasts of each minute with enough reads, of all tenants.
    pub fn forecasts(&self) -> Forecasts {
        let compared = |name: &str, point: &Point| {
            Some(ComparedForecast {
                tenant: name.to_owned(),
                unix_s: point.unix_s.into(),
                expected: point.expected()?,
                actual: point.miss_ratio().filter(|_| point.reads >= READS_MIN)?,
            })
        };
        let each = self.tenants.iter().flat_map(|(name, series)| {
            TimeSeries::minutes(series).filter_map(move |point| compared(name, point))
        });
        Forecasts::of(each.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of two tenants misses as forecast. The other does so, too, but for its third minute.
    #[test]
    fn the_worst_forecast_has_its_time() {
        let mut history = History::default();
        let begin = 1_795_700_040;
        for second in 0..300 {
            let point = |misses| Point {
                unix_s: begin + second,
                reads: 10,
                misses,
                forecast: 0.3,
                ..Point::default()
            };
            let is_third = (120..180).contains(&second);
            let points = [("jobs", point(3)), ("web", point(if is_third { 6 } else { 3 }))];
            history.push(points.into_iter());
        }
        let forecasts = history.forecasts();
        // The fifth minute is not over.
        assert_eq!((forecasts.count, forecasts.from_unix_s), (8, u64::from(begin) + 59));
        let worst = forecasts.worst.unwrap();
        assert_eq!((worst.tenant.as_str(), worst.unix_s), ("web", u64::from(begin) + 179));
        assert!((worst.error() - 0.3).abs() < 1e-6 && forecasts.median < 1e-6, "{worst:?}");
        assert_eq!(History::default().forecasts(), Forecasts::default());
    }
}
