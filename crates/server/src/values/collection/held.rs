//! A collection to write, under the lock of its key.

use super::flat::{self, Flat};
use super::shape::Shape;
use super::view::View;
use crate::values::kind::WRONG_TYPE;
use store::{Change, Edit, Error, TREE, Tree};

/// A collection that is being changed.
#[derive(Debug)]
pub(crate) enum Held<'h, 's, 'k> {
    Flat(Flat),
    Tree(&'h mut Edit<'s, 'k>),
}

impl Held<'_, '_, '_> {
    /// The collection as it is now.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Flat(flat) => View::Flat(flat.bytes()),
            Self::Tree(edit) => edit.tree().map_or(View::EMPTY, View::Tree),
        }
    }

    /// Refuses a growth by `growth` bytes if the collection can never be that large.
    pub(crate) fn check_growth(&self, growth: u64) -> Result<(), Error> {
        match self {
            Self::Flat(_) => Ok(()),
            Self::Tree(edit) => edit.check_growth(growth),
        }
    }

    /// Removes the body at `position`, and shows it first. Returns whether there was one.
    pub(crate) fn remove_at<S: Shape>(
        &mut self,
        position: u64,
        mut visit: impl FnMut(&[u8]),
    ) -> bool {
        match self {
            Self::Flat(flat) => {
                if let Some(body) = flat::bodies(flat.bytes()).nth(position as usize) {
                    visit(body);
                }
                flat.remove_span(position, 1) == 1
            }
            Self::Tree(edit) => {
                let first = edit.tree().map_or(0, S::first);
                edit.remove_at(first + position, visit)
            }
        }
    }

    /// Removes `count` bodies from `position` on. From a tree it removes the last of them first,
    /// and perhaps fewer than `count`: the caller calls it again. Returns how many it removed.
    pub(crate) fn remove_span<S: Shape>(&mut self, position: u64, count: u64) -> u64 {
        match self {
            Self::Flat(flat) => flat.remove_span(position, count),
            Self::Tree(edit) => {
                let first = edit.tree().map_or(0, S::first);
                edit.remove_span(first + position, count)
            }
        }
    }
}

/// Lets `f` change a collection, an empty one if there is no item; `f` returns whether it did.
/// `counted` is false for each further step of one write, so that the write counts once.
pub(crate) fn change<S: Shape, R, E: From<&'static str> + From<store::Error>>(
    edit: &mut Edit<'_, '_>,
    counted: bool,
    f: impl FnOnce(&mut Held<'_, '_, '_>) -> Result<(bool, R), E>,
) -> Result<R, E> {
    let kind = edit.item().map(|item| item.kind);
    if kind == Some(S::KIND | TREE) {
        let result = f(&mut Held::Tree(edit));
        if edit.tree().is_some_and(Tree::is_empty) {
            edit.apply(&Change::Remove)?;
        } else if counted && matches!(result, Ok((true, _))) {
            edit.written();
        }
        return result.map(|(_, result)| result);
    }
    if kind.is_some_and(|kind| kind != S::KIND) {
        return Err(WRONG_TYPE.into());
    }
    let (bytes, expires) =
        edit.item().map_or((vec![], None), |item| (item.value.to_vec(), item.expires));
    let mut held = Held::Flat(Flat::new(bytes));
    let (changed, result) = f(&mut held)?;
    let Held::Flat(flat) = held else {
        return Ok(result);
    };
    if !changed {
        return Ok(result);
    }
    if flat.is_empty() {
        edit.apply(&Change::Remove)?;
    } else if flat.is_large() {
        let mut tree = Tree::default();
        flat::bodies(flat.bytes()).try_for_each(|body| S::add(&mut tree, body))?;
        edit.make_tree(tree, S::KIND, &[], expires)?;
        edit.written();
    } else {
        let value = flat.into_bytes().into();
        edit.apply(&Change::Set { value, kind: S::KIND, expires })?;
    }
    Ok(result)
}
