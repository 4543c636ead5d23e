//! The statistics of a trace, as text.

use super::sensitivity::Sensitivity;
use super::stat::{Operations, Quantiles, Spread, Stat, TenantStat, Ttls};
use crate::report;
use crate::report::table::Table;
use base::Micros;

/// Maximum number of tenants in the table; the rest is one row.
const TENANTS_SHOWN: usize = 20;

impl Stat {
    /// The statistics in tables.
    pub(super) fn text(&self) -> String {
        let bytes = report::format::bytes;
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let quantiles = |q: &Quantiles, show: &dyn Fn(u64) -> String| {
            let [p10, p50, p90, p99] = [q.p10, q.p50, q.p90, q.p99].map(show);
            format!("p10 {p10}, p50 {p50}, p90 {p90}, p99 {p99}")
        };
        let spread = |s: &Spread| {
            format!(
                "min {}, p50 {}, mean {}, p99 {}, max {}",
                bytes(s.min),
                bytes(s.p50),
                bytes(s.mean.round() as u64),
                bytes(s.p99),
                bytes(s.max)
            )
        };
        let mut table = Table::new(["", &self.trace]);
        table.row(["requests", &self.requests.to_string()]);
        if self.skipped + self.lost > 0 {
            let text = format!("{} malformed, {} known to be lost", self.skipped, self.lost);
            table.row(["missing", &text]);
        }
        table.row(["span", &Micros(self.span_us).to_string()]);
        table.row(["keys", &self.keys.to_string()]);
        table.row(["bytes requested", &bytes(self.bytes)]);
        table.row(["footprint", &bytes(self.footprint_bytes)]);
        table.row(["value sizes", &spread(&self.sizes)]);
        table.row(["key sizes", &spread(&self.key_sizes)]);
        let Operations { get, set, delete } = self.operations;
        table.row(["operations", &format!("{get} get, {set} set, {delete} delete")]);
        table.row(["times to live", &self.ttls.text()]);
        table.row([
            "reuse, requests",
            &quantiles(&self.reuse_requests, &|requests| requests.to_string()),
        ]);
        table.row(["reuse, time", &quantiles(&self.reuse_us, &|us| Micros(us).to_string())]);
        let ratio = percent(self.compulsory_miss_ratio);
        table.row(["compulsory misses", &format!("{} ({ratio})", self.compulsory_misses)]);
        table.row(["keys requested once", &percent(self.one_hit_keys)]);
        table.row(["requests to the top 1 %", &percent(self.top_requests)]);
        if let Some(zipf) = self.zipf {
            table.row(["Zipf's exponent", &format!("{zipf:.2}")]);
        }
        if let Some(sensitivity) = &self.k_sensitivity {
            table.row(["sensitive to K", &sensitivity.text()]);
        }
        let mut parts = vec![table.to_string()];
        if let Some(sensitivity) = &self.k_sensitivity {
            parts.push(sensitivity.table().to_string());
        }
        if self.tenants.len() > 1 {
            parts.push(self.tenant_table().to_string());
        }
        parts.join("\n\n")
    }

    fn tenant_table(&self) -> Table {
        let mut table = Table::new(["tenant", "requests", "keys", "bytes requested", "footprint"]);
        let mut tenants: Vec<_> = self.tenants.iter().collect();
        tenants.sort_by_key(|tenant| std::cmp::Reverse(tenant.requests));
        let mut add = |name: String, tenant: &TenantStat| {
            table.row([
                name,
                tenant.requests.to_string(),
                tenant.keys.to_string(),
                report::format::bytes(tenant.bytes),
                report::format::bytes(tenant.footprint_bytes),
            ]);
        };
        for tenant in tenants.iter().take(TENANTS_SHOWN) {
            add(tenant.name.clone().unwrap_or_else(|| tenant.number.to_string()), tenant);
        }
        if let Some(rest) = tenants.get(TENANTS_SHOWN..).filter(|rest| !rest.is_empty()) {
            let sum = rest.iter().fold(TenantStat::default(), |sum, tenant| TenantStat {
                number: 0,
                name: None,
                requests: sum.requests + tenant.requests,
                keys: sum.keys + tenant.keys,
                bytes: sum.bytes + tenant.bytes,
                footprint_bytes: sum.footprint_bytes + tenant.footprint_bytes,
            });
            add(format!("{} more", rest.len()), &sum);
        }
        table
    }
}

impl Ttls {
    fn text(&self) -> String {
        if self.requests == 0 {
            return "none".to_owned();
        }
        let [min, p50, max] = [self.min_us, self.p50_us, self.max_us].map(Micros);
        let Self { requests, distinct, .. } = self;
        format!("{requests} requests, {distinct} different, min {min}, p50 {p50}, max {max}")
    }
}

impl Sensitivity {
    fn text(&self) -> String {
        let verdict = match self.better {
            "more" => ": more candidates miss less",
            "fewer" => ": fewer candidates miss less",
            "crossing" => ": the best K depends on the size",
            _ => "",
        };
        format!(
            "{}{verdict} (K=1 minus K=16: {:+.3} to {:+.3})",
            self.class, self.difference_min, self.difference_max
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["K-LRU, objects", "miss ratio, K=1", "K=5", "K=16"]);
        for point in &self.points {
            let ratio = |ratio: f64| format!("{ratio:.4}");
            let share = format!("{} %", point.share * 100.0);
            table.row([share, ratio(point.k1), ratio(point.k5), ratio(point.k16)]);
        }
        table
    }
}
