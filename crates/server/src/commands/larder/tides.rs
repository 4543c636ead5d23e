//! LARDER DUMP, LOAD and TIDES: items that are on the disk, and tenants with a periodic load.

use super::output::{lines, number_of, wants_json};
use crate::call::{Call, Done, Failure};
use crate::services::transfers::{Transfer, TransferState};
use base::{Bytes, TenantId};
use serde_json::{Value, json};
use tune::periodic::Turn;

pub(super) fn dump(call: &mut Call<'_>) -> Done {
    ask(call, Turn::Valley, "The dump has begun: LARDER TIDES shows its progress")
}

pub(super) fn load(call: &mut Call<'_>) -> Done {
    ask(call, Turn::Peak, "The load has begun: LARDER TIDES shows its progress")
}

/// Asks for the items of one tenant, or of all tenants, to move to the disk or back.
fn ask(call: &mut Call<'_>, turn: Turn, answer: &str) -> Done {
    if call.view.settings.dump_max == Bytes(0) {
        return Err(Failure::err(
            "dumps are off: set dir to a folder for dumps, then CONFIG SET dump-max 1gb",
        ));
    }
    let tenants = match call.args.len() {
        2 => 0..call.view.names.len() as TenantId,
        3 => {
            let tenant = number_of(call, &call.text(2))?;
            tenant..tenant + 1
        }
        _ => return Err(crate::call::SYNTAX.into()),
    };
    for tenant in tenants {
        call.server.saved.transfers.ask(tenant, turn);
    }
    call.out.simple(answer);
    Ok(())
}

pub(super) fn tides(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let all = call.view.names.iter().enumerate().map(|(number, name)| {
        let number = number as TenantId;
        (name, call.server.saved.transfers.shown(number), call.server.store.away(number))
    });
    if as_json {
        let document: Vec<Value> = all
            .map(|(name, shown, (away, index))| {
                let mut value = serde_json::to_value(shown).unwrap_or_default();
                value["name"] = json!(name);
                value["away"] = json!(away);
                value["index_bytes"] = json!(index.0);
                value
            })
            .collect();
        call.out.bulk(Value::from(document).to_string().as_bytes());
        return Ok(());
    }
    let settings = &call.view.settings;
    let mut text = vec![if settings.dump_max == Bytes(0) {
        "dumps are off: CONFIG SET dump-max sets the disk space that dumps may take".to_owned()
    } else {
        format!(
            "dumps may take {} in {}, at {} per second; reads are counted in buckets of {} s",
            settings.dump_max,
            settings.dir,
            settings.dump_rate,
            settings.dump_bucket.as_f64() / 1e6
        )
    }];
    for (name, shown, (away, index)) in all {
        text.push(format!("tenant {name}: {}", state(&shown)));
        text.push(format!(
            "  {away} items have a copy on the disk; the copies take {} of disk and {index} of \
             memory",
            Bytes(shown.disk)
        ));
        text.extend(shown.dump.iter().map(|dump| {
            format!("  last dump: {}; {} items left memory", transfer(dump, "written"), dump.left)
        }));
        text.extend(shown.load.iter().map(|load| {
            format!(
                "  last load: {}; {} were still in memory, {} were out of date, {} did not fit, {} \
                 blocks were damaged",
                transfer(load, "loaded"),
                load.here,
                load.outdated,
                load.refused,
                load.torn
            )
        }));
    }
    lines(call, &text);
    Ok(())
}

fn state(shown: &TransferState) -> String {
    let doing = if shown.doing.is_empty() { String::new() } else { format!("{}; ", shown.doing) };
    let period = match (shown.period_s, shown.reads_peak) {
        (Some(period), Some(peak)) => {
            format!("a period of {period:.1} s with a peak of {peak:.0} reads per bucket")
        }
        _ => "no period".to_owned(),
    };
    format!(
        "{doing}{period}, {:.0} reads in the last bucket; {} valleys and {} peaks, {} dumps and {} \
         loads",
        shown.reads, shown.valleys, shown.peaks, shown.dumps, shown.loads
    )
}

fn transfer(transfer: &Transfer, what: &str) -> String {
    let Transfer { by, at_s, seconds, items, bytes, because, .. } = transfer;
    let because = because.as_ref().map_or(String::new(), |why| format!(", ended early: {why}"));
    format!(
        "{items} items {what}, {}, at {at_s:.1} s in {seconds:.2} s ({by}{because})",
        Bytes(*bytes)
    )
}
