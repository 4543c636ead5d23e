//! The classes of a tenant, of which most hold nothing: there are some thirty, and values of a
//! tenant are of a few sizes. So a class is there, and charged, from its first page on; the others
//! share one that is empty. A tenant without items has not even the list.

use super::Class;
use std::ops::{Index, IndexMut};
use std::sync::LazyLock;

static EMPTY: LazyLock<Class> = LazyLock::new(Class::default);

/// Classes by index.
#[derive(Debug)]
pub(super) struct Held {
    /// Empty, or of all classes.
    list: Box<[Option<Box<Class>>]>,
    len: usize,
}

impl Held {
    /// So many classes, none of which is there.
    pub(super) fn new(len: usize) -> Self {
        Self { list: Box::default(), len }
    }

    /// Bytes that they take, without pages.
    pub(super) fn bytes(&self) -> u64 {
        let list = size_of_val(&*self.list);
        (list + self.list.iter().flatten().count() * size_of::<Class>()) as u64
    }

    /// Bytes that one more takes: none if it is there.
    pub(super) fn cost(&self, at: usize) -> u64 {
        match self.list.get(at) {
            Some(Some(_)) => 0,
            Some(None) => size_of::<Class>() as u64,
            None => (size_of::<Class>() + self.len * size_of::<Option<Box<Class>>>()) as u64,
        }
    }

    /// A class, which is there from now on.
    pub(super) fn make(&mut self, at: usize) -> &mut Class {
        if self.list.is_empty() {
            self.list = (0..self.len).map(|_| None).collect();
        }
        self.list[at].get_or_insert_default()
    }

    /// A class that is there.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Class> {
        self.list.get_mut(at)?.as_deref_mut()
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Class> {
        (0..self.list.len()).map(|at| &self[at])
    }

    /// The classes that are there.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Class> {
        self.list.iter_mut().flatten().map(|class| &mut **class)
    }
}

impl Index<usize> for Held {
    type Output = Class;
    #[inline]
    fn index(&self, at: usize) -> &Class {
        match self.list.get(at) {
            Some(Some(class)) => class,
            _ => &EMPTY,
        }
    }
}

impl IndexMut<usize> for Held {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Class {
        self.get_mut(at).expect("a class that has pages is there")
    }
}
