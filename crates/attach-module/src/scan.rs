//! A scan of the keys of a database, in steps of a few keys.

use crate::ffi::{self, Ctx, Text};
use crate::name::Name;
use crate::server::{Context, Found, api, found};

/// A scan of the keys of a database.
#[derive(Debug)]
pub(crate) struct Scan(*mut ffi::Cursor);

impl Scan {
    /// A scan from its beginning.
    pub(crate) fn new() -> Self {
        // SAFETY: it takes nothing.
        Self(unsafe { (api().cursor_create)() })
    }

    /// Passes a few keys of the selected database to `see`; false at the end of the scan.
    pub(crate) fn go_on(
        &self,
        context: Context<'_>,
        mut see: &mut dyn FnMut(&[u8], Found),
    ) -> bool {
        // SAFETY: context and cursor live; `see` lives until the call returns, and the server
        // calls `on_key` during it only, on this thread.
        unsafe { (api().scan)(context.raw(), self.0, on_key, (&raw mut see).cast()) != 0 }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        // SAFETY: the cursor is not used afterwards.
        unsafe { (api().cursor_destroy)(self.0) };
    }
}

/// Passes one key of a scan to the closure.
unsafe extern "C" fn on_key(
    _: *mut Ctx,
    name: *mut Text,
    key: *mut ffi::Key,
    see: *mut std::ffi::c_void,
) {
    if key.is_null() {
        return;
    }
    // SAFETY: `see` is the pointer from `go_on`, which lives and is not used elsewhere during the
    // call. The key is open and its name lives as long.
    unsafe {
        let see = &mut *see.cast::<&mut dyn FnMut(&[u8], Found)>();
        if let Some(found) = found(key, true) {
            see(Name::new(name).bytes(), found);
        }
    }
}
