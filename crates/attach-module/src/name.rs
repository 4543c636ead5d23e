//! The server's strings: keys, words of commands, texts of settings.
//!
//! One that the server holds lives as long as the call that brought it; one of the module's own is
//! released when it is dropped.

use crate::ffi::Text;
use crate::server::api;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// A string that somebody else holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    raw: *mut Text,
    life: PhantomData<&'a ()>,
}

/// A string that is released when it is dropped.
#[derive(Debug)]
pub(crate) struct OwnName(*mut Text);

impl<'a> Name<'a> {
    /// # Safety
    /// `raw` is a string of the server that lives for `'a`.
    pub(crate) const unsafe fn new(raw: *mut Text) -> Self {
        Self { raw, life: PhantomData }
    }

    /// The string as the server knows it.
    pub(crate) const fn raw(self) -> *mut Text {
        self.raw
    }

    /// Its bytes.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the string lives for 'a, and the server writes its length.
        let at = unsafe { (api().text)(self.raw, &raw mut length) };
        if at.is_null() {
            return &[];
        }
        // SAFETY: the server says where the bytes of the string begin and how many there are; it
        // changes none while the module runs.
        unsafe { std::slice::from_raw_parts(at.cast(), length) }
    }
}

impl OwnName {
    /// A string of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // SAFETY: the server copies the bytes; a string without a context is the module's own.
        Self(unsafe { (api().create_text)(null_mut(), bytes.as_ptr().cast(), bytes.len()) })
    }

    /// The string, borrowed.
    pub(crate) const fn name(&self) -> Name<'_> {
        Name { raw: self.0, life: PhantomData }
    }

    /// Hands the string to the server.
    pub(crate) const fn into_raw(self) -> *mut Text {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }

    /// The string as the server wants to see it, which stays the module's.
    pub(crate) const fn raw(&self) -> *mut Text {
        self.0
    }
}

impl Drop for OwnName {
    fn drop(&mut self) {
        // SAFETY: it was the module's, and is not used any more.
        unsafe { (api().free_text)(null_mut(), self.0) };
    }
}
