//! Reads and changes of lists, sets and sorted sets in steps: a lock covers only a bounded number
//! of elements.
//!
//! A command on few elements does all of them in one step, and no other command runs between. A
//! command on many elements releases the lock after [`STEP_ELEMENTS`] of them or
//! [`STEP_BYTES`](crate::values::collection::STEP_BYTES), so other commands may see a half of its
//! work. A command on several keys runs alone, unless it is about more than [`TOGETHER_MAX`]
//! elements, which would keep all others waiting.

use super::budget::{Budget, Growth};
use super::hash_steps::{Trace, step_end};
use super::string::room;
use crate::call::{Call, Done, Failure};
use crate::facts::event_classes;
use crate::values::collection::{self, FLAT_MAX, Held, STEP_ELEMENTS, Shape, View, flat};
use crate::values::text_value::WRONG_TYPE;
use store::{Change, Item, Key, Tree};

/// Shows the collection of a key to `f`, an empty one if the key does not exist.
pub(super) fn look<S: Shape, R>(
    call: &Call<'_>,
    key: &Key<'_>,
    trace: Trace,
    f: impl FnOnce(View<'_>) -> R,
) -> Result<R, Failure> {
    let (store, mut f) = (&call.server.store, Some(f));
    let show = |item: &Item<'_>| {
        let view = View::of::<S>(item).ok_or(WRONG_TYPE)?;
        f.take().map(|f| f(view)).ok_or(WRONG_TYPE)
    };
    let found = if trace == Trace::None || call.session.no_touch {
        store.peek(key, call.now, show)
    } else {
        store.get(key, call.now, show)
    };
    match (found, f) {
        (None, Some(f)) => Ok(f(View::EMPTY)),
        (Some(result), _) => Ok(result?),
        (None, None) => Err(WRONG_TYPE.into()),
    }
}

/// The largest number of elements for which a command on several keys runs alone, so that no other
/// command runs between. This is less than a millisecond of work.
const TOGETHER_MAX: u64 = 8 << 10;

/// Runs `f`, which is about this many elements of several keys: alone if they are few.
pub(super) fn together<'a, R>(
    call: &mut Call<'a>,
    elements: u64,
    f: impl FnOnce(&mut Call<'a>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if elements > TOGETHER_MAX { f(call) } else { call.alone(f) }
}

/// The number of elements in the collection of a key.
#[allow(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
pub(super) fn len<S: Shape>(call: &Call<'_>, key: &Key<'_>) -> Result<u64, Failure> {
    look::<S, _>(call, key, Trace::None, |view| view.len::<S>())
}

/// Lets `f` change the collection of a key, an empty one if the key does not exist; `f` returns
/// whether it did. `counted` is false for each further step of one write, so that the write counts
/// once.
pub(super) fn change<S: Shape, R>(
    call: &Call<'_>,
    key: &Key<'_>,
    counted: bool,
    f: impl FnOnce(&mut Held<'_, '_, '_>) -> Result<(bool, R), Failure>,
) -> Result<R, Failure> {
    let store = &call.server.store;
    let result =
        store.edit(key, call.now, |edit| collection::change::<S, R, _>(edit, counted, f))?;
    call.signal_ready(key);
    Ok(result)
}

/// Whether the element at an argument adds to the collection.
pub(super) type IsNew<'c> = &'c dyn Fn(View<'_>, usize) -> bool;

/// Lets `f` change the collection at argument 1 for each element from argument `first` on; an
/// element has `each` arguments, and `f` returns whether it changed anything. Other commands may
/// run between the steps. With `is_new`, the new elements must all fit, or nothing is changed.
pub(super) fn change_each<S: Shape>(
    call: &Call<'_>,
    first: usize,
    each: usize,
    is_new: Option<IsNew<'_>>,
    mut f: impl FnMut(&mut Held<'_, '_, '_>, usize) -> Result<bool, Failure>,
) -> Done {
    let (mut at, key) = (first, call.key_at(1));
    let growth = is_new.map(|is_new| (Growth::of(call, &key, first, each, S::COPIES), is_new));
    while at < call.args.len() {
        let end = step_end(call, at, each);
        change::<S, ()>(call, &key, at == first, |held| {
            if let Some((growth, is_new)) = growth.as_ref().filter(|_| at == first) {
                let counts = |at| is_new(held.view(), at);
                growth.check(call, counts, |growth| held.check_growth(growth))?;
            }
            let mut changed = false;
            for at in (at..end).step_by(each) {
                changed |= f(held, at)?;
            }
            Ok((changed, ()))
        })?;
        at = end;
    }
    Ok(())
}

/// Removes the elements from argument 2 on from the collection at argument 1 by `remove`. It sends
/// the notification `event`, and replies with the number of elements removed.
pub(super) fn remove_each<S: Shape>(
    call: &mut Call<'_>,
    (class, event): (u32, &str),
    remove: impl Fn(&mut Held<'_, '_, '_>, &[u8]) -> bool,
) -> Done {
    let mut removed = 0;
    change_each::<S>(call, 2, 1, None, |held, at| {
        let is_removed = remove(held, call.arg(at));
        removed += i64::from(is_removed);
        Ok(is_removed)
    })?;
    if removed > 0 {
        call.lost(class, event, call.arg(1));
    }
    call.out.integer(removed);
    Ok(())
}

/// The results of `f` for each of these elements and the collection of a key, step by step.
pub(super) fn look_each<S: Shape, E: AsRef<[u8]>, R>(
    call: &Call<'_>,
    key: &Key<'_>,
    elements: &[E],
    f: impl Fn(View<'_>, &[u8]) -> R,
) -> Result<Vec<R>, Failure> {
    let (mut found, mut trace) = (vec![], Trace::Read);
    for step in elements.chunks(STEP_ELEMENTS) {
        look::<S, _>(call, key, trace, |view| {
            found.extend(step.iter().map(|element| f(view, element.as_ref())));
        })?;
        trace = Trace::None;
    }
    Ok(found)
}

/// Replies with the number of elements in the collection at argument 1.
pub(super) fn reply_len<S: Shape>(call: &mut Call<'_>) -> Done {
    let count = len::<S>(call, &call.key_at(1))?;
    call.out.integer(count as i64);
    Ok(())
}

/// Shows `count` bodies of a key's collection from position `from` on, backwards if `back` is set.
/// It works step by step until `visit` returns false.
pub(super) fn walk<S: Shape>(
    call: &Call<'_>,
    key: &Key<'_>,
    (from, count, back): (u64, u64, bool),
    mut visit: impl FnMut(&[u8]) -> bool,
) -> Done {
    let (mut at, mut left, mut trace, mut goes_on) = (from, count, Trace::Read, true);
    loop {
        let most = left.min(STEP_ELEMENTS as u64);
        let mut show = |body: &[u8]| {
            goes_on = visit(body);
            goes_on
        };
        let shown = look::<S, _>(call, key, trace, |view| {
            if back {
                view.walk_back::<S>(at, most, &mut show)
            } else {
                view.walk::<S>(at, most, &mut show)
            }
        })?;
        left -= shown;
        if shown == 0 || left == 0 || back && at < shown || !goes_on {
            return Ok(());
        }
        at = if back { at - shown } else { at + shown };
        trace = Trace::None;
    }
}

/// All bodies of a key's collection; an error if they exceed the budget.
pub(super) fn all<S: Shape>(
    call: &Call<'_>,
    key: &Key<'_>,
    budget: &mut Budget,
) -> Result<Vec<Vec<u8>>, Failure> {
    let mut bodies = vec![];
    walk::<S>(call, key, (0, u64::MAX, false), |body| {
        let takes = budget.takes(body.len());
        if takes {
            bodies.push(body.to_vec());
        }
        takes
    })?;
    budget.check()?;
    Ok(bodies)
}

/// Replaces a key's value by a collection of these bodies, which are in its order; without bodies
/// it deletes the key. It sends the notification `event`.
pub(super) fn replace<S: Shape>(
    call: &Call<'_>,
    bytes: &[u8],
    bodies: &[Vec<u8>],
    (class, event): (u32, &str),
) -> Done {
    let (key, store) = (call.key(bytes), &call.server.store);
    if bodies.is_empty() {
        if store.delete(&key, call.now) {
            call.event(event_classes::GENERIC, "del", bytes);
        }
        return Ok(());
    }
    let len = bodies.iter().map(|body| body.len() + 2).sum::<usize>();
    room(call, &key, len).check(0, len)?;
    if len <= FLAT_MAX || bodies.len() == 1 {
        let mut value = vec![];
        for body in bodies {
            flat::push(&mut value, body);
        }
        let change = Change::Set { value: value.into(), kind: S::KIND, expires: None };
        store.update(&key, call.now, |_| (change, ()))?;
    } else {
        // The size is known once the tree is built, so a refused write evicts nothing.
        let mut tree = Tree::default();
        bodies.iter().try_for_each(|body| S::add(&mut tree, body))?;
        let mut loose = store.pay_for(&key, tree, call.now)?;
        store.attach(&key, &mut loose, (S::KIND, &[], None), true, call.now)?;
    }
    call.signal_ready(&key);
    call.event(class, event, bytes);
    Ok(())
}

/// The number of keys at argument `at`; the keys follow it. The error is `beyond` if there are
/// fewer arguments.
pub(super) fn key_count(
    call: &Call<'_>,
    at: usize,
    beyond: &'static str,
) -> Result<usize, Failure> {
    let count = call.integer(at).ok().filter(|&count| count > 0);
    let count = count.ok_or("ERR numkeys should be greater than 0")?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > call.args.len() - at - 1 {
        return Err(beyond.into());
    }
    Ok(count)
}

/// The count at argument `at`, zero or more.
pub(super) fn count_at(call: &Call<'_>, at: usize) -> Result<u64, Failure> {
    const NEGATIVE: &str = "ERR value is out of range, must be positive";
    let count = wire::resp::parse_integer(call.arg(at)).ok_or(NEGATIVE)?;
    u64::try_from(count).map_err(|_| NEGATIVE.into())
}
