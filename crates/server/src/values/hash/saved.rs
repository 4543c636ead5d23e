//! Hashes that change their form: to one piece, as they are saved, and to a tree.

use super::layout::{PACKED_MAX, body, life, probe};
use super::packed;
use super::view::{View, field};
use crate::values::kind::HASH;
use crate::values::step::STEP_ELEMENTS;
use store::{Item, SMALL_TREE};

/// A hash as one piece of memory, as it is saved, of any form and length. `None` for a large tree:
/// [`gather`] makes one piece of it.
pub(crate) fn flat<'a>(item: &Item<'a>) -> Option<std::borrow::Cow<'a, [u8]>> {
    let Some(tree) = item.tree() else {
        return Some(item.value.into());
    };
    if tree.bytes() > SMALL_TREE {
        return None;
    }
    let mut writer = packed::Writer::new(life(item));
    tree.from_rank(0).map(field).for_each(|field| writer.add(field));
    Some(writer.finish().into())
}

/// Makes one piece of a hash that is a tree, step by step, so that its shard is never locked for
/// long; `None` if the hash is gone. A field that changes meanwhile is in the result or not.
pub(crate) fn gather(
    store: &store::Store,
    key: &store::Key<'_>,
    now: store::Now,
) -> Option<Vec<u8>> {
    let mut writer = None;
    let mut next = Some(0);
    while let Some(from) = next {
        let step = store.peek(key, now, |item| {
            let writer = writer.get_or_insert_with(|| packed::Writer::new(life(item)));
            let view = View::of(item)?;
            Some(view.walk(from, STEP_ELEMENTS, now.unix_ms, |field| writer.add(field)))
        });
        next = step.flatten()?;
    }
    writer.map(packed::Writer::finish)
}

/// Builds the tree of a hash that is one piece and too long to stay one, without a lock. The key's
/// tenant pays for it; `None` for any other item.
pub(crate) fn grown<'s>(
    store: &'s store::Store,
    key: &store::Key<'_>,
    item: &Item<'_>,
    now: store::Now,
) -> Result<Option<store::DetachedTree<'s>>, store::Error> {
    let mut fields = packed::fields(item.value, now.unix_ms);
    let is_one = || packed::fields(item.value, now.unix_ms).nth(1).is_none();
    if item.kind != HASH || item.value.len() <= PACKED_MAX || is_one() {
        return Ok(None);
    }
    let mut loose = store.loose(key);
    fields.try_for_each(|(name, value, dies)| {
        probe(name, |probe| loose.put(key, now, probe, dies, &body(name, value)))
    })?;
    Ok(Some(loose))
}
