//! Lists: elements in the order in which they were put there, at either end or between.

use super::{Grows, Held, Shape};
use crate::value::LIST;
use store::Error;

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
