//! Walks over the keys that a client can see.
//!
//! The store walks its tables by tenant; the client's rules decide which keys it sees. Walks affect
//! neither recency nor models.

use super::budget::Budget;
use crate::call::{Call, Command, Done, Failure, NOT_AN_INTEGER, SYNTAX};
use crate::facts::Databases;
use crate::facts::flag::{FAST, READ, WRITE};
use crate::text::glob;
use crate::values::text_value;
use store::{ScanItem, Scope};
use wire::resp::parse_integer;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("scan", -2, READ, scan).doc(
        "generic",
        "2.8.0",
        "Iterates over the keys, some per call.",
    ),
    Command::new("keys", 2, READ, keys).categories(&["keyspace", "dangerous"]).doc(
        "generic",
        "1.0.0",
        "All keys that match a pattern.",
    ),
    Command::new("randomkey", 1, READ, randomkey).doc("generic", "1.0.0", "A random key."),
    Command::new("dbsize", 1, READ | FAST, dbsize).categories(&["keyspace"]).doc(
        "server",
        "1.0.0",
        "Counts the keys of the database.",
    ),
    Command::new("flushdb", -1, WRITE, flushdb).categories(&["keyspace", "dangerous"]).doc(
        "server",
        "1.0.0",
        "Removes all keys of the database.",
    ),
    Command::new("flushall", -1, WRITE, flushall)
        .databases(Databases::All)
        .categories(&["keyspace", "dangerous"])
        .doc("server", "1.0.0", "Removes all keys."),
];

/// The number of items in one step of a full walk.
const STEP: usize = 1_000;
/// The number of draws of RANDOMKEY that may find an item invisible to the client.
const DRAWS_MAX: usize = 100;

/// The tables that a client's keys may be in.
pub(super) fn scope(call: &Call<'_>) -> Scope {
    Scope { tenant: call.session.owners.only(), db: Some(call.session.db) }
}

/// Whether the client would find this item by its key.
pub(super) fn sees(call: &Call<'_>, found: &ScanItem<'_>) -> bool {
    call.session.owners.of(found.key) == found.tenant
}

fn scan(call: &mut Call<'_>) -> Done {
    let cursor = std::str::from_utf8(call.arg(1)).ok().and_then(|text| {
        // A negative number wraps around, as in C.
        text.parse::<u64>().or_else(|_| text.parse::<i64>().map(|cursor| cursor as u64)).ok()
    });
    let cursor = cursor.ok_or("ERR invalid cursor")?;
    let (mut pattern, mut count, mut kind) = (None, 10, None);
    let mut at = 2;
    while at < call.args.len() {
        let value = call.args.get(at + 1).ok_or(SYNTAX)?;
        if call.is(at, "match") {
            pattern = Some(value);
        } else if call.is(at, "count") {
            count = parse_integer(value).ok_or(NOT_AN_INTEGER)?;
            if count < 1 {
                return Err(SYNTAX.into());
            }
        } else if call.is(at, "type") {
            kind = Some(value.to_ascii_lowercase());
        } else {
            return Err(SYNTAX.into());
        }
        at += 2;
    }
    let (mark, mut found) = (call.out.mark(), 0);
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(1 << 20);
    let next = call.write(|call, out| {
        Ok(call.server.store.scan(scope(call), cursor, count, call.now, |item| {
            let fits = pattern.is_none_or(|pattern| glob::matches(pattern, item.key));
            let name = || text_value::type_name(&item.item).as_bytes();
            let is_wanted = kind.as_ref().is_none_or(|kind| kind == name());
            if is_wanted && fits && sees(call, item) {
                out.bulk(item.key);
                found += 1;
            }
        }))
    })?;
    call.out.before(mark, |out| {
        out.array(2);
        out.bulk(next.to_string().as_bytes());
        out.array(found);
    });
    Ok(())
}

fn keys(call: &mut Call<'_>) -> Done {
    let pattern = call.arg(1);
    let mut found: Vec<Vec<u8>> = vec![];
    let (mut cursor, mut budget) = (0, Budget::reply(call));
    loop {
        cursor = call.server.store.scan(scope(call), cursor, STEP, call.now, |item| {
            let is_found = glob::matches(pattern, item.key) && sees(call, item);
            if is_found && budget.takes(item.key.len()) {
                found.push(item.key.to_vec());
            }
        });
        budget.check()?;
        if cursor == 0 {
            break;
        }
    }
    // A table that grows or shrinks during the walk may show a key twice.
    found.sort_unstable();
    found.dedup();
    call.out.array(found.len());
    for key in &found {
        call.out.bulk(key);
    }
    Ok(())
}

fn randomkey(call: &mut Call<'_>) -> Done {
    for _ in 0..DRAWS_MAX {
        let drawn = call
            .server
            .store
            .random_key(scope(call), call.now, |item| sees(call, item).then(|| item.key.to_vec()));
        match drawn {
            None => break,
            Some(None) => {}
            Some(Some(key)) => {
                call.out.bulk(&key);
                return Ok(());
            }
        }
    }
    call.out.null();
    Ok(())
}

fn dbsize(call: &mut Call<'_>) -> Done {
    let owners = call.session.owners.all();
    let db = Some(call.session.db);
    let items = owners
        .iter()
        .map(|&tenant| call.server.store.len(Scope { tenant: Some(tenant), db }).items)
        .sum::<u64>();
    call.out.integer(items as i64);
    Ok(())
}

/// Accepts `ASYNC` and `SYNC`, which make no difference.
fn check_mode(call: &Call<'_>) -> Result<(), Failure> {
    match call.args.len() {
        1 => Ok(()),
        2 if call.is(1, "async") || call.is(1, "sync") => Ok(()),
        _ => Err(SYNTAX.into()),
    }
}

fn flushdb(call: &mut Call<'_>) -> Done {
    check_mode(call)?;
    for tenant in call.session.owners.all() {
        call.server.flush(Scope { tenant: Some(tenant), db: Some(call.session.db) });
    }
    call.ok()
}

fn flushall(call: &mut Call<'_>) -> Done {
    check_mode(call)?;
    for tenant in call.session.reachable(call.view) {
        call.server.flush(Scope::tenant(tenant));
    }
    call.ok()
}
