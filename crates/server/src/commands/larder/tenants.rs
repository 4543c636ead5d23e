//! LARDER TENANTS: the memory and the requests of each tenant.

use super::output::{document, lines, wants_json};
use crate::call::{Call, Done};
use crate::observe::prices::share;
use crate::observe::report::{memory, report};
use ::report::{Tenant, say};
use base::{Bytes, TenantId};
use serde_json::{Value, json};

pub(super) fn tenants(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let report = report(call.server);
    if as_json {
        let (used, _) = memory(call.server);
        let shown = call.server.observed.pilot.shown();
        let all = report.tenants.iter().enumerate().map(|(at, tenant)| {
            let id = at as TenantId;
            let k = shown
                .pool(id)
                .map_or_else(|| call.server.store.evictor(id).k, |(_, evictor)| evictor.k);
            row(tenant, used, k)
        });
        document(call, &Value::from(all.collect::<Vec<_>>()));
        return Ok(());
    }
    lines(call, &say::tenants(&report));
    Ok(())
}

/// One row of the reply. Counts are since the start; `recent` is about the last minutes.
fn row(tenant: &Tenant, used: Bytes, k: u8) -> Value {
    let counters = &tenant.counters;
    let reads = counters.reads();
    json!({
        "name": tenant.name,
        "used": tenant.used,
        "budget": tenant.budget,
        "share": share(Bytes(tenant.used), used),
        "policy": tenant.policy,
        "k": k,
        "items": tenant.items,
        "gets": reads,
        "hits": counters.hits,
        "misses": counters.misses,
        "miss_ratio": (reads > 0).then(|| counters.misses as f64 / reads as f64),
        "evicted": counters.evicted,
        "not_admitted": counters.not_admitted,
        "penalty_us": tenant.penalty_us.map(|us| us.round() as u64),
        "min": tenant.min,
        "max": tenant.max,
        "weight": tenant.weight,
        "recent": tenant.recent,
    })
}
