//! The classes of a tenant, most of which hold nothing: there are some thirty, and a tenant's
//! values have few sizes. So a class exists, and is charged, from its first page on; all others
//! share one empty class. A tenant without items has not even the list.

use crate::items::pages::class::Class;
use std::ops::{Index, IndexMut};
use std::sync::LazyLock;

static EMPTY: LazyLock<Class> = LazyLock::new(Class::default);

/// Classes by index.
#[derive(Debug)]
pub(crate) struct ClassList {
    /// Empty, or with a place for each class.
    list: Box<[Option<Box<Class>>]>,
    len: usize,
}

impl ClassList {
    /// Creates a list of `len` classes, none of which exists yet.
    pub(super) fn new(len: usize) -> Self {
        Self { list: Box::default(), len }
    }

    /// Bytes of the list and the classes, without pages.
    pub(super) fn bytes(&self) -> u64 {
        let list = size_of_val(&*self.list);
        (list + self.list.iter().flatten().count() * size_of::<Class>()) as u64
    }

    /// Bytes that one more class takes; 0 if it exists.
    pub(super) fn cost(&self, at: usize) -> u64 {
        match self.list.get(at) {
            Some(Some(_)) => 0,
            Some(None) => size_of::<Class>() as u64,
            None => (size_of::<Class>() + self.len * size_of::<Option<Box<Class>>>()) as u64,
        }
    }

    /// The class, which is created if it does not exist.
    pub(super) fn make(&mut self, at: usize) -> &mut Class {
        if self.list.is_empty() {
            self.list = (0..self.len).map(|_| None).collect();
        }
        self.list[at].get_or_insert_default()
    }

    /// The class, if it exists.
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Class> {
        self.list.get_mut(at)?.as_deref_mut()
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// All classes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Class> {
        (0..self.list.len()).map(|at| &self[at])
    }

    /// The classes that exist.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Class> {
        self.list.iter_mut().flatten().map(|class| &mut **class)
    }
}

impl Index<usize> for ClassList {
    type Output = Class;
    #[inline]
    fn index(&self, at: usize) -> &Class {
        match self.list.get(at) {
            Some(Some(class)) => class,
            _ => &EMPTY,
        }
    }
}

impl IndexMut<usize> for ClassList {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Class {
        self.get_mut(at).expect("a class that has pages is there")
    }
}
