//! Changes of a hash in either form.

use super::layout::{body, ends, life, note, probe};
use super::packed::Packed;
use super::view::View;
use crate::values::kind::{HASH, HASH_TREE, WRONG_TYPE};
use store::{Change, Edit, Error};

/// A hash that is being changed.
#[derive(Debug)]
pub(crate) enum Hash<'h, 's, 'k> {
    Packed(Packed<'h>),
    Tree(&'h mut Edit<'s, 'k>, u64),
}

impl Hash<'_, '_, '_> {
    /// The value of a field, and its expiry.
    pub(crate) fn get(&self, name: &[u8]) -> Option<(&[u8], Option<u64>)> {
        match self {
            Self::Packed(packed) => packed.get(name).map(|field| (&*field.value, field.expires)),
            Self::Tree(edit, now_ms) => View::Tree(edit.tree()?).find(name, *now_ms),
        }
    }

    /// Whether it has no fields, so that the key disappears.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Packed(packed) => packed.fields.is_empty(),
            Self::Tree(edit, _) => edit.tree().is_none_or(store::Tree::is_empty),
        }
    }

    /// Refuses a growth by `growth` bytes if the hash can never be that large.
    pub(crate) fn check_growth(&self, growth: u64) -> Result<(), Error> {
        match self {
            Self::Packed(_) => Ok(()),
            Self::Tree(edit, _) => edit.check_growth(growth),
        }
    }

    fn write(&mut self, name: &[u8], value: &[u8], dies: Option<u64>) -> Result<bool, Error> {
        match self {
            Self::Packed(packed) => Ok(packed.put(name, value.to_vec(), dies)),
            Self::Tree(edit, _) => {
                let body = body(name, value);
                probe(name, |probe| edit.put(probe, dies, &body)).map(|is_there| !is_there)
            }
        }
    }

    /// Sets a field without an expiry. Returns whether it is new.
    pub(crate) fn set(&mut self, name: &[u8], value: &[u8]) -> Result<bool, Error> {
        self.write(name, value, None)
    }

    /// Sets a field, and keeps its expiry. Returns whether it is new.
    pub(crate) fn put(&mut self, name: &[u8], value: &[u8]) -> Result<bool, Error> {
        let dies = self.get(name).and_then(|(_, dies)| dies);
        self.write(name, value, dies)
    }

    /// Sets the expiry of a field, if the field exists.
    pub(crate) fn live(&mut self, name: &[u8], dies: Option<u64>) -> Result<(), Error> {
        let Some(value) = self.get(name).map(|(value, _)| value.to_vec()) else {
            return Ok(());
        };
        self.write(name, &value, dies).map(drop)
    }

    /// Removes a field. Returns whether it existed.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        match self {
            Self::Packed(packed) => packed.remove(name),
            Self::Tree(edit, _) => probe(name, |probe| edit.remove(probe)),
        }
    }
}

/// Lets `f` change a hash, an empty one if there is no item; `f` returns whether it did. `counted`
/// is false for each further step of one write, so that the write counts once. Returns `None` and
/// calls nothing while more expired fields must be removed first.
pub(crate) fn change<R, E, F>(
    edit: &mut Edit<'_, '_>,
    now_ms: u64,
    counted: bool,
    f: &mut Option<F>,
) -> Option<Result<R, E>>
where
    E: From<&'static str> + From<Error>,
    F: FnOnce(&mut Hash<'_, '_, '_>) -> Result<(bool, R), E>,
{
    if edit.tree().is_some_and(|tree| tree.has_dead(now_ms)) {
        if edit.remove_dead() {
            return None;
        }
        if let Err(error) = tidy(edit) {
            return Some(Err(error.into()));
        }
    }
    let f = f.take()?;
    let kind = edit.item().map(|item| item.kind);
    Some(match kind {
        Some(HASH_TREE) => {
            let result = f(&mut Hash::Tree(edit, now_ms));
            let tidied = tidy(edit);
            if counted && matches!(result, Ok((true, _))) {
                edit.written();
            }
            result.and_then(|(_, result)| Ok(tidied.map(|()| result)?))
        }
        None | Some(HASH) => change_packed(edit, now_ms, f),
        Some(_) => Err(WRONG_TYPE.into()),
    })
}

fn change_packed<R, E: From<Error>>(
    edit: &mut Edit<'_, '_>,
    now_ms: u64,
    f: impl FnOnce(&mut Hash<'_, '_, '_>) -> Result<(bool, R), E>,
) -> Result<R, E> {
    let packed = edit.item().map_or_else(Packed::default, |item| Packed::of(&item, now_ms));
    let mut hash = Hash::Packed(packed);
    let (changed, result) = f(&mut hash)?;
    let Hash::Packed(packed) = hash else {
        return Ok(result);
    };
    if !changed {
        return Ok(result);
    }
    if !packed.is_large() {
        let change = packed.change();
        edit.apply(&change)?;
        return Ok(result);
    }
    let (tree, life) = (packed.tree(), packed.expires);
    let expires = ends(life, tree.ends());
    edit.make_tree(tree, HASH, &note(life), expires)?;
    edit.written();
    Ok(result)
}

/// Removes an empty tree. Otherwise sets the item's expiry to that of the key or of the last field.
fn tidy(edit: &mut Edit<'_, '_>) -> Result<(), Error> {
    let (Some(item), Some(tree)) = (edit.item(), edit.tree()) else {
        return Ok(());
    };
    if tree.is_empty() {
        return edit.apply(&Change::Remove);
    }
    let life = life(&item);
    let expires = ends(life, tree.ends());
    edit.note(&note(life), expires)
}
