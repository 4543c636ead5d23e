//! Registers the settings with the server, which reads its file, serves CONFIG SET and CONFIG
//! REWRITE, and asks the module.

use crate::ffi::{ERR, OK, Text};
use crate::load::with;
use crate::name::{Name, OwnName};
use crate::server::{Context, api};
use crate::settings::RECIPE;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;

/// Registers all settings and loads their values.
pub(crate) fn register(context: Context<'_>) -> bool {
    let (api, ctx) = (api(), context.raw());
    let recipe = CString::new(RECIPE).unwrap_or_default();
    // SAFETY: the context lives, texts end with zero bytes and are copied, and the functions live
    // until the server has forgotten the settings.
    unsafe {
        let (none, apply) = (null_mut(), None);
        (api.register_flag)(ctx, c"act".as_ptr(), 0, 0, get_act, set_act, apply, none) == OK
            && (api.register_text)(
                ctx,
                c"recipe".as_ptr(),
                recipe.as_ptr(),
                0,
                get_text,
                set_text,
                apply,
                none,
            ) == OK
            && (api.register_text)(
                ctx,
                c"tenants".as_ptr(),
                c"".as_ptr(),
                0,
                get_text,
                set_text,
                apply,
                none,
            ) == OK
            && (api.load_configs)(ctx) == OK
    }
}

/// The name of a setting without the module's prefix.
///
/// # Safety
/// `name` ends with a zero byte and lives through the server's call.
unsafe fn short<'a>(name: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    name.strip_prefix(b"larder.").unwrap_or(name)
}

unsafe extern "C" fn get_act(_: *const c_char, _: *mut c_void) -> c_int {
    let mut act = false;
    with(|module| act = module.settings.borrow().act);
    act.into()
}

unsafe extern "C" fn set_act(
    _: *const c_char,
    act: c_int,
    _: *mut c_void,
    _: *mut *mut Text,
) -> c_int {
    with(|module| module.settings.borrow_mut().act = act != 0);
    OK
}

unsafe extern "C" fn get_text(name: *const c_char, _: *mut c_void) -> *mut Text {
    // SAFETY: the server passes the setting's name.
    let name = unsafe { short(name) };
    let mut raw = null_mut();
    with(|module| {
        let settings = module.settings.borrow();
        let text = match name {
            b"recipe" => settings.recipe.to_string(),
            _ => settings.tenants_text(),
        };
        let text = OwnName::of(text.as_bytes());
        raw = text.raw();
        // The server reads the text, and the module keeps it.
        *module.given.borrow_mut() = Some(text);
    });
    raw
}

unsafe extern "C" fn set_text(
    name: *const c_char,
    value: *mut Text,
    _: *mut c_void,
    error: *mut *mut Text,
) -> c_int {
    // SAFETY: the server passes the setting's name and its value, which live through the call.
    let (name, value) = unsafe { (short(name), Name::new(value).bytes()) };
    let value = String::from_utf8_lossy(value);
    let mut result = Ok(());
    with(|module| {
        let mut settings = module.settings.borrow_mut();
        result = match name {
            b"recipe" => settings.set_recipe(&value),
            _ => settings.set_tenants(&value),
        };
    });
    let Err(sentence) = result else { return OK };
    if !error.is_null() {
        // SAFETY: the server takes the sentence that it finds here, and releases it.
        unsafe { *error = OwnName::of(sentence.as_bytes()).into_raw() };
    }
    ERR
}
