//! LARDER CURVE: the miss ratio of a tenant at every size.

use super::output::{POINTS, document, lines, number_of, wants_json};
use crate::call::{Call, Done, Failure};
use crate::observe::report::{memory, report};
use crate::settings::pools;
use ::report::say;
use base::Bytes;
use curve::MissRatioCurve;
use serde_json::json;
use tune::snapshot::{Candidate, best};

/// The sizes at which a tenant's curves are shown: even steps up to the end of the curves, or up to
/// the limit if that is larger.
fn sizes(candidates: &[Candidate], limit: Bytes) -> Vec<Bytes> {
    let extents = candidates.iter().map(|candidate| candidate.curve.extent());
    let end = extents.max().unwrap_or_default().max(limit);
    let sizes = (0..=POINTS)
        .map(|step| Bytes((u128::from(end.0) * u128::from(step) / u128::from(POINTS)) as u64));
    let mut sizes: Vec<_> = sizes.collect();
    sizes.dedup();
    sizes
}

pub(super) fn curve(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 3)?;
    let name = call.text(2).into_owned();
    let number = number_of(call, &name)?;
    let shown = call.server.observed.pilot.shown();
    let found = shown.curves.iter().find(|(tenant, _)| *tenant == number);
    let candidates = found.map_or(&[][..], |(_, candidates)| candidates);
    let sizes = sizes(candidates, memory(call.server).1);
    if as_json {
        let points = |curve: &MissRatioCurve| -> Vec<(u64, f64)> {
            sizes.iter().map(|&size| (size.0, curve.at(size).0)).collect()
        };
        let merged: Vec<_> = sizes
            .iter()
            .filter_map(|&size| {
                let (ratio, candidate) = best(candidates, size)?;
                Some(json!([size.0, ratio, candidate.evictor]))
            })
            .collect();
        let policies: serde_json::Map<_, _> = candidates
            .iter()
            .map(|candidate| (candidate.evictor.to_string(), json!(points(&candidate.curve))))
            .collect();
        document(call, &json!({"tenant": name, "curve": merged, "policies": policies}));
        return Ok(());
    }
    if candidates.is_empty() {
        let recipe = pools::recipe_of(&call.view.settings);
        return Err(Failure::err(if let Some(why) = recipe.pools.why_no_curve() {
            why
        } else if pools::is_steered(&call.view.settings) {
            "too few reads of this tenant were sampled: its curve needs some thousand"
        } else {
            "self-tuning is off: CONFIG SET maxmemory-policy auto recipe auto switches it on"
        }));
    }
    let report = report(call.server);
    let tenant = report.tenant(&name).filter(|tenant| tenant.curve.is_some());
    let text = tenant.map_or_else(Vec::new, |tenant| say::curve(&report, tenant));
    lines(call, &text);
    Ok(())
}
