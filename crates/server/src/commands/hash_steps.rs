//! Reads and changes of hashes in steps: a lock covers only a bounded number of fields.
//!
//! A command on few fields does all of them in one step, and no other command runs between. A
//! command on many fields releases the lock after [`STEP_FIELDS`] of them or [`STEP_BYTES`]. Other
//! commands may then see a half of its work. A field that another command writes meanwhile ends as
//! if that write came before or after this command.

use super::budget::Growth;
use crate::call::{Call, Done, Failure};
use crate::values::hash::{self, Field, Hash, STEP_BYTES, STEP_FIELDS, View};
use crate::values::text_value::WRONG_TYPE;
use store::{Item, Key};

/// Lets `f` change the hash at argument 1, an empty one if the key does not exist; `f` returns
/// whether it did.
pub(super) fn change<R>(
    call: &Call<'_>,
    f: impl FnOnce(&mut Hash<'_, '_, '_>) -> Result<(bool, R), Failure>,
) -> Result<R, Failure> {
    step(call, true, f)
}

/// One step of [`change`]. `counted` is false for each further step of one write, so that the write
/// counts once.
fn step<R>(
    call: &Call<'_>,
    counted: bool,
    f: impl FnOnce(&mut Hash<'_, '_, '_>) -> Result<(bool, R), Failure>,
) -> Result<R, Failure> {
    let (key, now, mut f) = (call.key_at(1), call.now, Some(f));
    loop {
        let done = call
            .server
            .store
            .edit(&key, now, |edit| hash::change(edit, now.unix_ms, counted, &mut f));
        if let Some(done) = done {
            return done;
        }
    }
}

/// The end of a step: the argument behind the fields that one lock covers. The step begins at
/// argument `at`, and each field has `each` arguments.
pub(super) fn step_end(call: &Call<'_>, at: usize, each: usize) -> usize {
    let (mut end, mut bytes) = (at, 0);
    let most = at + each * STEP_FIELDS;
    while end < call.args.len().min(most) && (end == at || bytes < STEP_BYTES) {
        bytes += (end..end + each).map(|at| call.arg(at).len()).sum::<usize>();
        end += each;
    }
    end
}

/// Whether one step covers all fields from argument `first` on, with `each` arguments each.
pub(super) fn is_one_step(call: &Call<'_>, first: usize, each: usize) -> bool {
    step_end(call, first, each) >= call.args.len()
}

/// Lets `f` change the hash at argument 1 for each field from argument `first` on; a field has
/// `each` arguments, and `f` returns whether it changed anything. Other commands may run between
/// the steps. If fields have values (`each` above 1), all of them must fit, or nothing is changed.
pub(super) fn change_each(
    call: &Call<'_>,
    first: usize,
    each: usize,
    mut f: impl FnMut(&mut Hash<'_, '_, '_>, usize) -> Result<bool, Failure>,
) -> Done {
    let mut at = first;
    let growth = (each > 1).then(|| Growth::of(call, &call.key_at(1), first, each, 1));
    while at < call.args.len() {
        let end = step_end(call, at, each);
        step(call, at == first, |hash| {
            if let Some(growth) = growth.as_ref().filter(|_| at == first) {
                let is_longer = |at| {
                    let old = hash.get(call.arg(at)).map(|(value, _)| value.len());
                    old.is_none_or(|old| old < call.arg(at + 1).len())
                };
                growth.check(call, is_longer, |growth| hash.check_growth(growth))?;
            }
            let mut changed = false;
            for at in (at..end).step_by(each) {
                changed |= f(hash, at)?;
            }
            Ok((changed, ()))
        })?;
        at = end;
    }
    Ok(())
}

/// The effect of a lookup on the hash's access statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// The lookup counts as a read.
    Read,
    /// The lookup has no effect, as for a question about the hash.
    None,
}

/// Shows the hash at argument 1 to `f`, an empty one if the key does not exist.
pub(super) fn look<R>(
    call: &Call<'_>,
    trace: Trace,
    f: impl FnOnce(View<'_>) -> R,
) -> Result<R, Failure> {
    let (key, store, now) = (call.key_at(1), &call.server.store, call.now);
    let (mut f, mut trace) = (Some(f), if call.session.no_touch { Trace::None } else { trace });
    loop {
        let show = |item: &Item<'_>| {
            let Some(view) = View::of(item) else {
                return Err(WRONG_TYPE);
            };
            // In a hash of one piece, the readers skip expired fields one by one.
            if matches!(view, View::Tree(tree) if tree.has_dead(now.unix_ms)) {
                return Ok(None);
            }
            Ok(f.take().map(|f| f(view)))
        };
        let found = if trace == Trace::None {
            store.peek(&key, now, show)
        } else {
            store.get(&key, now, show)
        };
        match (found.transpose()?, f.take()) {
            (Some(Some(result)), _) => return Ok(result),
            (None, Some(f)) => return Ok(f(View::Packed(b""))),
            (Some(None), Some(left)) => f = Some(left),
            (_, None) => return Err(WRONG_TYPE.into()),
        }
        bury_fields(call, &key);
        trace = Trace::None;
    }
}

/// Removes the expired fields from a tree.
fn bury_fields(call: &Call<'_>, key: &Key<'_>) {
    let Ok(()) = step(call, false, |_| Ok((false, ()))) else {
        return;
    };
    if call.server.audience.tracking.is_active() {
        call.server.audience.tracking.changed(call.server.clients.mail(), 0, key.tenant, key.bytes);
    }
}

/// Shows the hash at argument 1 to `f` for each of the fields from argument `first` on. Other
/// commands may run between the steps.
pub(super) fn look_each(
    call: &Call<'_>,
    mut trace: Trace,
    first: usize,
    each: usize,
    mut f: impl FnMut(View<'_>, usize),
) -> Done {
    let mut at = first;
    while at < call.args.len() {
        let end = step_end(call, at, each);
        look(call, trace, |view| (at..end).step_by(each).for_each(|at| f(view, at)))?;
        (at, trace) = (end, Trace::None);
    }
    Ok(())
}

/// Shows every field of the hash at argument 1, step by step. It ends after a step in which `visit`
/// returned false.
pub(super) fn walk(
    call: &Call<'_>,
    mut trace: Trace,
    mut visit: impl FnMut(Field<'_>) -> bool,
) -> Done {
    let (mut next, mut goes_on) = (Some(0), true);
    while let Some(from) = next.filter(|_| goes_on) {
        let now_ms = call.now.unix_ms;
        next = look(call, trace, |view| {
            view.walk(from, STEP_FIELDS, now_ms, |field| goes_on &= visit(field))
        })?;
        trace = Trace::None;
    }
    Ok(())
}
