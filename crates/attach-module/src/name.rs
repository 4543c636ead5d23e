//! The server's strings: keys, words of commands, texts of settings.
//!
//! A string that the server holds lives as long as the call that passed it. A string of the
//! module's own is released when it is dropped.

use crate::ffi::{Api, Text};
use crate::server::api;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// A string that the server or another value holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    raw: *mut Text,
    life: PhantomData<&'a ()>,
}

/// A string of the module's own, released when it is dropped.
#[derive(Debug)]
pub(crate) struct OwnName(*mut Text);

impl<'a> Name<'a> {
    /// # Safety
    /// `raw` is a string of the server that lives for `'a`.
    pub(crate) const unsafe fn new(raw: *mut Text) -> Self {
        Self { raw, life: PhantomData }
    }

    /// The server's pointer to the string.
    pub(crate) const fn raw(self) -> *mut Text {
        self.raw
    }

    /// Its bytes.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes_by(api())
    }

    /// Its bytes, by functions at hand.
    #[inline]
    pub(crate) fn bytes_by(self, api: &Api) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the string lives for 'a, and the server writes its length.
        let at = unsafe { (api.text)(self.raw, &raw mut length) };
        if at.is_null() {
            return &[];
        }
        // SAFETY: the server returns the start of the string's bytes and their number. It changes
        // none while the module runs.
        unsafe { std::slice::from_raw_parts(at.cast(), length) }
    }
}

impl OwnName {
    /// A string of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // SAFETY: the server copies the bytes; a string without a context is the module's own.
        Self(unsafe { (api().create_text)(null_mut(), bytes.as_ptr().cast(), bytes.len()) })
    }

    /// Borrows the string.
    pub(crate) const fn name(&self) -> Name<'_> {
        Name { raw: self.0, life: PhantomData }
    }

    /// Passes the string to the server.
    pub(crate) const fn into_raw(self) -> *mut Text {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }

    /// The server's pointer to the string, which stays the module's.
    pub(crate) const fn raw(&self) -> *mut Text {
        self.0
    }
}

impl Drop for OwnName {
    fn drop(&mut self) {
        // SAFETY: the string was the module's, and is no longer in use.
        unsafe { (api().free_text)(null_mut(), self.0) };
    }
}
