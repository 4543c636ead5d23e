//! A claim as a value: figure, setting, forecast and band.

use serde::{Deserialize, Serialize};

/// The least change that counts: as a share of the waiting, and as a share of a tenant's reads.
const CHANGE_MIN: (f64, f64) = (0.005, 0.001);

/// The setting that a claim is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// `maxmemory-policy`.
    Policy {
        /// The name that the setting accepts.
        policy: String,
    },
    /// `maxmemory`, at a value that leaves tenants `divided` bytes.
    Memory {
        /// Bytes that tenants can have.
        divided: u64,
    },
    /// `min` of a tenant.
    Floor {
        /// The tenant.
        tenant: String,
        /// Bytes; 0 for none.
        bytes: u64,
    },
    /// `compression auto`, where it was `no`.
    Compression,
    /// Twice the time to live for all items of a tenant.
    TwiceTheTtl {
        /// The tenant.
        tenant: String,
    },
}

/// The figure that a claim forecasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedFigure {
    /// Waiting of all tenants, in milliseconds per second.
    Waiting,
    /// Waiting of all tenants but one, in milliseconds per second.
    Others {
        /// The tenant that is left out.
        tenant: String,
    },
    /// The miss ratio of a tenant.
    Misses {
        /// The tenant.
        tenant: String,
    },
}

/// A forecast of the value that a run would measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The figure that the claim forecasts.
    pub what: ClaimedFigure,
    /// The setting that the claim assumes.
    pub setting: Setting,
    /// The value now, as measured.
    pub now: f64,
    /// The value with the setting.
    pub value: f64,
    /// The lower end of the band, which holds the value in 19 of 20 cases.
    pub low: f64,
    /// The upper end of the band.
    pub high: f64,
    /// Seconds of requests that the claim rests on.
    pub window_s: u64,
}

impl Claim {
    /// The difference from the present value; negative where the value falls.
    pub fn change(&self) -> f64 {
        self.value - self.now
    }

    /// The wider side of the band. The sides differ because the lower end is never negative.
    pub fn band(&self) -> f64 {
        (self.high - self.value).max(self.value - self.low)
    }

    /// Whether the change exceeds both the band and the least change that counts.
    pub fn is_sound(&self) -> bool {
        let least = match self.what {
            ClaimedFigure::Misses { .. } => CHANGE_MIN.1,
            ClaimedFigure::Waiting | ClaimedFigure::Others { .. } => CHANGE_MIN.0 * self.now,
        };
        self.change().abs() > self.band().max(least)
    }
}
