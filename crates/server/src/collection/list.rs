//! Lists: elements in the order in which they were put there, at either end or between.

use super::{Grows, Held, Shape, View};
use crate::value::LIST;
use store::{Error, Tree};

/// Bytes up to which Redis would keep a list in one piece.
const LISTPACK_MAX: u64 = 8 << 10;

/// What a list is.
pub(crate) enum List {}

impl Shape for List {
    const KIND: u8 = LIST;

    fn add(to: &mut dyn Grows, body: &[u8]) -> Result<(), Error> {
        to.push(body)
    }
}

/// Puts an element behind so many, or at the end.
pub(crate) fn insert(
    held: &mut Held<'_, '_, '_>,
    position: u64,
    element: &[u8],
) -> Result<(), Error> {
    match held {
        Held::Flat(flat) if position == u64::MAX => flat.push(element),
        Held::Flat(flat) => flat.insert(position, element),
        Held::Tree(edit) => edit.insert(position, element)?,
    }
    Ok(())
}

/// Puts an element in the place of the one behind so many.
pub(crate) fn replace(
    held: &mut Held<'_, '_, '_>,
    position: u64,
    element: &[u8],
) -> Result<(), Error> {
    match held {
        Held::Flat(flat) => flat.replace(position, element),
        Held::Tree(edit) => edit.replace(position, element)?,
    }
    Ok(())
}

/// How Redis would hold it.
pub(super) fn encoding(view: View<'_>) -> &'static str {
    let bytes = match view {
        View::Flat(bytes) => bytes.len() as u64,
        View::Tree(tree) => Tree::bytes(tree),
    };
    if bytes <= LISTPACK_MAX { "listpack" } else { "quicklist" }
}
