//! Looking at lists, sets and sorted sets and changing them, step by step: no lock is held for more
//! than some elements.
//!
//! A command about few elements does all of it in one step, and nobody comes between. One about
//! many lets go after [`STEP_ELEMENTS`] of them or [`STEP_BYTES`](crate::collection::STEP_BYTES):
//! others may then see half of it. One about several keys is carried out alone, unless it is about
//! more than [`TOGETHER_MAX`] elements, which would keep all others waiting.

use super::budget::{Budget, Growth};
use super::hash_steps::{Trace, step_end};
use super::string::room;
use super::{Call, Done, Failure};
use crate::collection::{self, FLAT_MAX, Held, STEP_ELEMENTS, Shape, View, flat};
use crate::notify;
use crate::value::WRONG_TYPE;
use store::{Change, Item, Key, Tree};

/// Shows the collection of a key to `f`, an empty one where there is no key.
pub(super) fn look<S: Shape, R>(
    call: &Call<'_>,
    key: &Key<'_>,
    trace: Trace,
    f: impl FnOnce(View<'_>) -> R,
) -> Result<R, Failure> {
    let (store, mut f) = (&call.shared.store, Some(f));
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

/// Elements up to which a command about several keys is carried out alone, so that nobody sees or
/// does anything between: less than a millisecond's work.
const TOGETHER_MAX: u64 = 8 << 10;

/// Does `f`, which is about so many elements of several keys: alone if they are few.
pub(super) fn together<'a, R>(
    call: &mut Call<'a>,
    elements: u64,
    f: impl FnOnce(&mut Call<'a>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if elements > TOGETHER_MAX { f(call) } else { call.alone(f) }
}

/// How many elements the collection of a key has.
#[allow(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
pub(super) fn len<S: Shape>(call: &Call<'_>, key: &Key<'_>) -> Result<u64, Failure> {
    look::<S, _>(call, key, Trace::None, |view| view.len::<S>())
}

/// Lets `f` change the collection of a key, an empty one where there is no key; `f` says whether it
/// did. `counted` as a write, where it is not a further step of one.
pub(super) fn change<S: Shape, R>(
    call: &Call<'_>,
    key: &Key<'_>,
    counted: bool,
    f: impl FnOnce(&mut Held<'_, '_, '_>) -> Result<(bool, R), Failure>,
) -> Result<R, Failure> {
    let store = &call.shared.store;
    let result = store.edit(key, call.now, |edit| collection::change::<S, R>(edit, counted, f))?;
    call.signal_ready(key);
    Ok(result)
}

/// Whether an element at an argument makes a collection larger.
pub(super) type IsNew<'c> = &'c dyn Fn(View<'_>, usize) -> bool;

/// Lets `f` change the collection at argument 1 for each of the elements from argument `first` on,
/// each so many; it says whether it did. Between steps of some elements others may come. Where
/// `is_new` tells which elements come to the others, all of them fit, or nothing is done.
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

/// Takes each of the elements from argument 2 on out of the collection at argument 1 by `remove`,
/// tells of it as of `event`, and replies with how many there were.
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

/// What `f` says of each of these elements and the collection of a key, step by step.
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

/// Replies with how many elements the collection at argument 1 has.
pub(super) fn reply_len<S: Shape>(call: &mut Call<'_>) -> Done {
    let count = len::<S>(call, &call.key_at(1))?;
    call.out.integer(count as i64);
    Ok(())
}

/// Shows so many bodies of a key's collection behind so many, step by step, backwards from there if
/// that is wanted, until `visit` has seen enough.
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

/// Every body of a key's collection, as far as the budget reaches.
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

/// Makes a key a collection of these bodies, which are in its order, whatever it was; of none the
/// key goes. Tells of it as of `event`.
pub(super) fn replace<S: Shape>(
    call: &Call<'_>,
    bytes: &[u8],
    bodies: &[Vec<u8>],
    (class, event): (u32, &str),
) -> Done {
    let (key, store) = (call.key(bytes), &call.shared.store);
    if bodies.is_empty() {
        if store.delete(&key, call.now) {
            call.event(notify::GENERIC, "del", bytes);
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
        // Once it is made it is known what it takes: what will be refused makes nobody leave.
        let mut tree = Tree::default();
        bodies.iter().try_for_each(|body| S::add(&mut tree, body))?;
        let mut loose = store.pay_for(&key, tree, call.now)?;
        store.attach(&key, &mut loose, (S::KIND, &[], None), true, call.now)?;
    }
    call.signal_ready(&key);
    call.event(class, event, bytes);
    Ok(())
}

/// The number of keys at argument `at`, which follow it; `beyond` where they cannot.
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

/// The count at argument `at`, not below zero.
pub(super) fn count_at(call: &Call<'_>, at: usize) -> Result<u64, Failure> {
    const NEGATIVE: &str = "ERR value is out of range, must be positive";
    let count = wire::resp::parse_integer(call.arg(at)).ok_or(NEGATIVE)?;
    u64::try_from(count).map_err(|_| NEGATIVE.into())
}
