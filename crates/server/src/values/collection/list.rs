//! Lists: elements in the order in which clients put them, at either end or between.

use super::held::Held;
use super::shape::{Grows, Shape};
use crate::values::kind::LIST;
use store::Error;

/// The shape of lists: the kind of their items, and how elements are added.
pub(crate) enum List {}

impl Shape for List {
    const KIND: u8 = LIST;

    fn add(to: &mut dyn Grows, body: &[u8]) -> Result<(), Error> {
        to.push(body)
    }
}

/// Inserts an element at `position`, or at the end if there are fewer elements.
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

/// Replaces the element at `position`.
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
