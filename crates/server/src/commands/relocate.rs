//! Moving or copying keys to another name or another database: COPY, RENAME, MOVE.
//!
//! The source and the destination may lie in different shards, which are never locked together. So
//! one of these commands runs alone on the server: no client sees both keys, or neither.

use super::string::room;
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, WRITE};
use crate::facts::{Access, Databases, Keys, ONE_KEY, access};
use crate::values::text_value::is_hash;
use crate::values::{collection, hash, text_value};
use store::{Change, DetachedTree, Item, Key, TREE};
use tune::tenant::Origin;

/// The source and the destination.
const TWO_KEYS: Keys = Keys::new(1, 2, 1);

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("copy", -3, WRITE | DENY_OOM, copy)
        .keys(TWO_KEYS)
        .accesses(copy_access)
        .databases(Databases::Also(copy_database))
        .doc("generic", "6.2.0", "Copies a key's value and expiry to another key."),
    Command::new("rename", 3, WRITE, rename)
        .keys(TWO_KEYS)
        .accesses(|_, at| if at == 1 { access::TAKES } else { access::SETS })
        .doc("generic", "1.0.0", "Renames a key; a key that had the new name is removed."),
    Command::new("renamenx", 3, WRITE | FAST, renamenx)
        .keys(TWO_KEYS)
        .accesses(|_, at| if at == 1 { access::TAKES } else { access::INSERTS })
        .doc("generic", "1.0.0", "Renames a key, unless another key has the new name."),
    Command::new("move", 3, WRITE | FAST, relocate)
        .keys(ONE_KEY)
        .databases(Databases::Also(|_| Some(2)))
        .doc("generic", "1.0.0", "Moves a key to another database."),
];

fn copy_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::READS } else { access::SETS }
}

/// The argument that names the destination's database for COPY. The last of several counts.
fn copy_database(args: &[&[u8]]) -> Option<usize> {
    let mut found = None;
    let mut at = 3;
    while at < args.len() {
        if args[at].eq_ignore_ascii_case(b"db") {
            at += 1;
            found = Some(at);
        }
        at += 1;
    }
    found
}

const SAME: &str = "ERR source and destination objects are the same";

/// The contents of a key.
struct Held {
    value: Vec<u8>,
    kind: u8,
    expires: Option<u64>,
}

/// The contents of a key for a write to `to`; an error if there is no room for them.
fn held(call: &Call<'_>, key: &Key<'_>, to: &Key<'_>) -> Result<Option<Held>, Failure> {
    let store = &call.server.store;
    #[expect(clippy::redundant_closure_for_method_calls, reason = "of any lifetime")]
    let len = store.glance(key, call.now, |item| item.value_len()).unwrap_or(0);
    // The check comes before the copy, so a refused command takes no memory.
    room(call, to, len).check(0, len)?;
    Ok(store.peek(key, call.now, |item| Held {
        value: item.value.to_vec(),
        kind: item.kind,
        expires: item.expires,
    }))
}

/// Whether a key holds a collection that is a tree. A tree is not copied at once.
fn is_tree(call: &Call<'_>, key: &Key<'_>) -> bool {
    let is_tree = |item: &Item<'_>| item.tree().is_some();
    call.server.store.glance(key, call.now, is_tree).unwrap_or(false)
}

/// The properties of a collection beside its tree.
#[derive(Default)]
struct Beside {
    /// The kind, without the bit of trees.
    kind: u8,
    note: Vec<u8>,
    life: Option<u64>,
}

impl Beside {
    fn of(item: &Item<'_>) -> Self {
        let life = text_value::life(item);
        let note = if is_hash(item) { hash::note(life).to_vec() } else { vec![] };
        Self { kind: item.kind & !TREE, note, life }
    }
}

/// Makes a tree the value of a key, and notifies other clients. Returns whether it did.
fn put_tree(
    call: &Call<'_>,
    to: &Key<'_>,
    loose: &mut DetachedTree<'_>,
    beside: &Beside,
    replace: bool,
) -> Result<bool, Failure> {
    let Some(tree) = loose.tree().filter(|tree| !tree.is_empty()) else {
        return Ok(false);
    };
    let noted = (beside.kind, &beside.note[..], hash::ends(beside.life, tree.ends()));
    let written = call.server.store.attach(to, loose, noted, replace, call.now)?;
    if written {
        let by = call.session.client.id;
        call.server.audience.tracking.changed(call.server.clients.mail(), by, to.tenant, to.bytes);
        call.signal_ready(to);
    }
    Ok(written)
}

/// Copies a tree. Returns whether it did.
fn copy_tree(
    call: &Call<'_>,
    from: &Key<'_>,
    to: &Key<'_>,
    replace: bool,
) -> Result<bool, Failure> {
    let store = &call.server.store;
    if !replace && store.glance(to, call.now, |_| ()).is_some() {
        return Ok(false);
    }
    let known = |item: &Item<'_>| (item.charge().0 as usize, Beside::of(item));
    let Some((bytes, beside)) = store.peek(from, call.now, known) else {
        return Ok(false);
    };
    room(call, to, bytes).check_growth(bytes as u64)?;
    match collection::copied(store, from, to, call.now)? {
        Some(mut loose) => put_tree(call, to, &mut loose, &beside, replace),
        None => Ok(false),
    }
}

/// Moves a tree. A tree that finds no room stays where it was.
fn move_tree(
    call: &Call<'_>,
    from: &Key<'_>,
    to: &Key<'_>,
    replace: bool,
) -> Result<bool, Failure> {
    let (store, mut beside) = (&call.server.store, Beside::default());
    if !replace && store.glance(to, call.now, |_| ()).is_some() {
        return Ok(false);
    }
    // The check comes before the move, so a refused command evicts nothing.
    let bytes = store.glance(from, call.now, |item| item.charge().0 as usize).unwrap_or(0);
    if from.tenant != to.tenant {
        room(call, to, bytes).check_growth(bytes as u64)?;
    }
    let taken = store.detach(from, call.now, |item| {
        beside = Beside::of(item);
        true
    });
    let Some(mut loose) = taken else {
        return Ok(false);
    };
    let moved = put_tree(call, to, &mut loose, &beside, replace);
    if !matches!(moved, Ok(true)) {
        put_tree(call, from, &mut loose, &beside, false)?;
    }
    moved
}

impl Held {
    /// Writes the contents to another key. It replaces an existing value only with `replace`.
    /// Returns whether it wrote them.
    fn write(&self, call: &Call<'_>, to: &Key<'_>, replace: bool) -> Result<bool, Failure> {
        let written = call.server.store.update(to, call.now, |item| {
            if item.is_some() && !replace {
                return (Change::Keep, false);
            }
            let Self { value, kind, expires } = self;
            (Change::Set { value: value.into(), kind: *kind, expires: *expires }, true)
        })?;
        if written {
            let by = call.session.client.id;
            call.server.audience.tracking.changed(
                call.server.clients.mail(),
                by,
                to.tenant,
                to.bytes,
            );
            call.signal_ready(to);
        }
        Ok(written)
    }
}

/// The client's key with this name in another database.
fn key_in<'k>(call: &Call<'_>, db: u8, bytes: &'k [u8]) -> Key<'k> {
    let (user, listener) = (call.session.user.as_deref(), call.session.client.listener);
    let owners = call.view.owners(Origin { user, listener, db });
    call.server.store.key(owners.of(bytes), db, bytes)
}

fn copy(call: &mut Call<'_>) -> Done {
    let (mut db, mut replace) = (call.session.db, false);
    let mut at = 3;
    while at < call.args.len() {
        if call.is(at, "replace") {
            replace = true;
        } else if call.is(at, "db") && at + 1 < call.args.len() {
            at += 1;
            db = call.database(at)?;
        } else {
            return Err(SYNTAX.into());
        }
        at += 1;
    }
    if db == call.session.db && call.arg(1) == call.arg(2) {
        return Err(SAME.into());
    }
    let to = key_in(call, db, call.arg(2));
    let from = call.key_at(1);
    let copied = call.alone(|call| {
        if is_tree(call, &from) {
            return copy_tree(call, &from, &to, replace);
        }
        held(call, &from, &to)?.map_or(Ok(false), |held| held.write(call, &to, replace))
    })?;
    if copied {
        call.event_in(event_classes::GENERIC, "copy_to", db, call.arg(2));
    }
    call.out.integer(i64::from(copied));
    Ok(())
}

/// Moves the contents of one key to another. Returns whether it did.
fn relocate_item(
    call: &Call<'_>,
    from: &Key<'_>,
    to: &Key<'_>,
    replace: bool,
) -> Result<bool, Failure> {
    if is_tree(call, from) {
        return move_tree(call, from, to, replace);
    }
    let Some(held) = held(call, from, to)? else {
        return Ok(false);
    };
    let written = held.write(call, to, replace)?;
    if written {
        call.server.store.update(from, call.now, |_| (Change::Remove, ()))?;
    }
    Ok(written)
}

/// Renames a key. Returns whether it did.
fn give_name(call: &Call<'_>, replace: bool) -> Result<bool, Failure> {
    let (from, to) = (call.key_at(1), call.key_at(2));
    let store = &call.server.store;
    store.glance(&from, call.now, |_| ()).ok_or("ERR no such key")?;
    if call.arg(1) == call.arg(2) {
        return Ok(replace);
    }
    let written = relocate_item(call, &from, &to, replace)?;
    if written {
        call.event(event_classes::GENERIC, "rename_from", call.arg(1));
        call.event(event_classes::GENERIC, "rename_to", call.arg(2));
    }
    Ok(written)
}

fn rename(call: &mut Call<'_>) -> Done {
    call.alone(|call| give_name(call, true))?;
    call.ok()
}

fn renamenx(call: &mut Call<'_>) -> Done {
    let renamed = call.alone(|call| give_name(call, false))?;
    call.out.integer(i64::from(renamed));
    Ok(())
}

fn relocate(call: &mut Call<'_>) -> Done {
    let db = call.database(2)?;
    if db == call.session.db {
        return Err(SAME.into());
    }
    let (from, to) = (call.key_at(1), key_in(call, db, call.arg(1)));
    let moved = call.alone(|call| relocate_item(call, &from, &to, false))?;
    if moved {
        call.event(event_classes::GENERIC, "move_from", call.arg(1));
        call.event_in(event_classes::GENERIC, "move_to", db, call.arg(1));
    }
    call.out.integer(i64::from(moved));
    Ok(())
}
