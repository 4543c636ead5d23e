//! The server as the module uses it: its functions with Rust's types, and their rules in one place.
//!
//! Every call is on the thread that holds the server's lock: the server calls the module there, and
//! the pilot's thread has no [`Context`]. A [`Context`] lives as long as the call that passed it,
//! except the detached one, which lives as long as the module.

use crate::ffi::{self, Api, Ctx, KEY_EMPTY, KEY_STRING, OK, flags, notify, open};
use crate::name::Name;
use std::ffi::{CStr, CString, c_int, c_longlong};
use std::marker::PhantomData;
use std::sync::OnceLock;

static API: OnceLock<Api> = OnceLock::new();

/// Stores the functions of the server. A module that is loaded again finds the same ones.
pub(crate) fn keep(api: Api) -> &'static Api {
    API.get_or_init(|| api)
}

/// The server's functions.
///
/// # Panics
/// If the module is not loaded; then nothing calls it.
#[inline]
pub(crate) fn api() -> &'static Api {
    API.get().expect("the server's functions are found before it calls any of the module's")
}

/// A context, on whose behalf the module calls the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    raw: *mut Ctx,
    life: PhantomData<&'a ()>,
}

/// The value of a key, as far as the module needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Bytes of the value, if it is a string.
    pub(crate) length: Option<usize>,
    /// Elements of the value, if it is a collection.
    pub(crate) elements: usize,
    /// Time since the last use, in milliseconds; below 0 where the server does not know it.
    pub(crate) idle_ms: i64,
    /// Number of uses, where the server counts them.
    pub(crate) uses: i64,
    /// Whether it has a time to live.
    pub(crate) expires: bool,
}

/// The server's memory, in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerMemory {
    pub(crate) limit: u64,
    pub(crate) used: u64,
    /// Part of `used` that eviction does not count.
    pub(crate) uncounted: u64,
    /// Part of `used` that exists without any key.
    pub(crate) fixed: u64,
    pub(crate) resident: u64,
    pub(crate) machine: u64,
    /// `maxmemory-policy`.
    pub(crate) policy: String,
}

/// Flags to open a key without touching it. Up to 7.0 the server counts no read if the key is
/// opened for writing, and knows only one of these flags.
fn unseen() -> c_int {
    if api().open_modes.is_some() {
        open::READ | open::NO_TOUCH | open::UNSEEN
    } else {
        open::READ | open::WRITE | open::NO_TOUCH
    }
}

impl Context<'_> {
    /// # Safety
    /// `raw` is a context of the server that lives for `'a`, whose lock the thread holds for `'a`.
    pub(crate) const unsafe fn new(raw: *mut Ctx) -> Self {
        Self { raw, life: PhantomData }
    }

    /// The server's pointer to the context.
    pub(crate) const fn raw(self) -> *mut Ctx {
        self.raw
    }

    /// Selects a database; false if there is none with that number.
    pub(crate) fn select(self, db: u16) -> bool {
        // SAFETY: the context lives.
        unsafe { (api().select_db)(self.raw, db.into()) == OK }
    }

    /// The selected database.
    pub(crate) fn db(self) -> u16 {
        // SAFETY: the context lives.
        unsafe { (api().selected_db)(self.raw) as u16 }
    }

    /// Number of keys in the selected database.
    pub(crate) fn db_size(self) -> u64 {
        // SAFETY: the context lives.
        unsafe { (api().db_size)(self.raw) }
    }

    /// Looks up a key of the selected database; `for_eviction` also reads its idle time, uses and
    /// expiry.
    pub(crate) fn look(self, name: Name<'_>, for_eviction: bool) -> Option<Found> {
        let api = api();
        // SAFETY: context and name live; the key is closed below and used in between only.
        let key = unsafe { (api.open_key)(self.raw, name.raw(), unseen()) };
        if key.is_null() {
            return None;
        }
        // SAFETY: the key is open, and is not used after it is closed.
        unsafe {
            let found = found(key, for_eviction);
            (api.close_key)(key);
            found
        }
    }

    /// Evicts a key of the selected database: here, in replicas and in the append-only file, with
    /// the event of an eviction.
    pub(crate) fn evict(self, name: Name<'_>) {
        let api = api();
        let mode = open::READ | open::WRITE | open::NO_TOUCH;
        // SAFETY: context and name live; the key is closed right after it was unlinked. Each format
        // names one string, which follows it.
        unsafe {
            let key = (api.open_key)(self.raw, name.raw(), mode);
            if key.is_null() {
                return;
            }
            let is_gone = (api.key_type)(key) != KEY_EMPTY && (api.unlink_key)(key) == OK;
            (api.close_key)(key);
            if is_gone {
                (api.signal_modified)(self.raw, name.raw());
                (api.notify)(self.raw, notify::EVICTED, c"evicted".as_ptr(), name.raw());
                (api.replicate)(self.raw, c"UNLINK".as_ptr(), c"s".as_ptr(), name.raw());
            }
        }
    }

    /// Whether the server is a master that serves, and is not loading.
    pub(crate) fn is_serving_master(self) -> bool {
        // SAFETY: the context lives.
        let all = unsafe { (api().context_flags)(self.raw) };
        all & flags::MASTER != 0 && all & (flags::LOADING | flags::ASYNC_LOADING) == 0
    }

    /// A setting of the server, in the text that the server prints.
    pub(crate) fn config(self, name: &CStr) -> Option<String> {
        let api = api();
        // SAFETY: the format names two zero-terminated strings, which follow. A reply, its elements
        // and their bytes live until the reply is released.
        unsafe {
            let get = c"GET".as_ptr();
            let reply =
                (api.call)(self.raw, c"CONFIG".as_ptr(), c"cc".as_ptr(), get, name.as_ptr());
            if reply.is_null() {
                return None;
            }
            let value = (api.reply_element)(reply, 1);
            let found = if value.is_null() { None } else { text(value) };
            (api.free_reply)(reply);
            found
        }
    }

    /// The list of clients, a line for each.
    pub(crate) fn clients(self) -> Option<String> {
        let api = api();
        // SAFETY: the format names a zero-terminated string, which follows. The content of the
        // reply lives until it is freed.
        unsafe {
            let (command, format) = (c"CLIENT".as_ptr(), c"c".as_ptr());
            let reply = (api.call)(self.raw, command, format, c"LIST".as_ptr());
            if reply.is_null() {
                return None;
            }
            let found = text(reply);
            (api.free_reply)(reply);
            found
        }
    }

    /// Changes a setting of the server.
    pub(crate) fn set_config(self, name: &CStr, value: &str) {
        let Ok(value) = CString::new(value) else { return };
        let api = api();
        // SAFETY: the format names three zero-terminated strings, which follow.
        unsafe {
            let set = c"SET".as_ptr();
            let (command, format) = (c"CONFIG".as_ptr(), c"ccc".as_ptr());
            let reply = (api.call)(self.raw, command, format, set, name.as_ptr(), value.as_ptr());
            if !reply.is_null() {
                (api.free_reply)(reply);
            }
        }
    }

    /// Bytes of a key by the server's estimate, for values other than strings.
    pub(crate) fn memory_usage(self, name: Name<'_>) -> Option<u64> {
        let api = api();
        // SAFETY: the format names a zero-terminated string and one of the server's, which follow.
        unsafe {
            let (command, format) = (c"MEMORY".as_ptr(), c"cs".as_ptr());
            let reply = (api.call)(self.raw, command, format, c"USAGE".as_ptr(), name.raw());
            if reply.is_null() {
                return None;
            }
            let bytes = (api.reply_integer)(reply);
            (api.free_reply)(reply);
            u64::try_from(bytes).ok()
        }
    }

    /// Reads the section of memory in INFO.
    pub(crate) fn memory(self) -> ServerMemory {
        let api = api();
        // SAFETY: the section's name ends with a zero byte; the result lives until it is released
        // below.
        let info = unsafe { (api.server_info)(self.raw, c"memory".as_ptr()) };
        if info.is_null() {
            return ServerMemory::default();
        }
        let number = |field: &CStr| {
            let mut failed: c_int = 0;
            // SAFETY: `info` is not released yet, and the server writes whether the call failed.
            unsafe { (api.info_number)(info, field.as_ptr(), &raw mut failed) }
        };
        let fixed = [
            c"used_memory_startup",
            c"mem_clients_normal",
            c"used_memory_vm_total",
            c"mem_cluster_links",
        ];
        // SAFETY: as above; the text lives as long as `info`.
        let policy = unsafe {
            let text = (api.info_text)(info, c"maxmemory_policy".as_ptr());
            if text.is_null() {
                String::new()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        let memory = ServerMemory {
            limit: number(c"maxmemory"),
            used: number(c"used_memory"),
            uncounted: number(c"mem_not_counted_for_evict"),
            fixed: fixed.into_iter().map(number).sum(),
            resident: number(c"used_memory_rss"),
            machine: number(c"total_system_memory"),
            policy,
        };
        // SAFETY: `info` is not used afterwards.
        unsafe { (api.free_server_info)(self.raw, info) };
        memory
    }

    /// Replies with an error.
    pub(crate) fn reply_error(self, sentence: &str) {
        let text = CString::new(format!("ERR {}", plain(sentence))).unwrap_or_default();
        // SAFETY: the context lives and the text ends with a zero byte.
        unsafe { (api().reply_error)(self.raw, text.as_ptr()) };
    }

    /// Replies with lines.
    pub(crate) fn reply_lines(self, lines: &[String]) {
        // SAFETY: the context lives; the array has as many elements as its call announces.
        unsafe {
            (api().reply_array)(self.raw, lines.len() as _);
            for line in lines {
                let text = CString::new(plain(line)).unwrap_or_default();
                (api().reply_line)(self.raw, text.as_ptr());
            }
        }
    }

    /// Replies with one string.
    pub(crate) fn reply_bulk(self, text: &str) {
        // SAFETY: the context lives, and the server copies the bytes.
        unsafe { (api().reply_bulk)(self.raw, text.as_ptr().cast(), text.len()) };
    }

    /// Writes a line to the server's log.
    pub(crate) fn log(self, line: &str) {
        let text = CString::new(plain(line)).unwrap_or_default();
        // SAFETY: the format names one zero-terminated string, which follows.
        unsafe { (api().log)(self.raw, c"notice".as_ptr(), c"%s".as_ptr(), text.as_ptr()) };
    }
}

/// The text of a reply, if it has one.
///
/// # Safety
/// `reply` lives.
unsafe fn text(reply: *mut ffi::Reply) -> Option<String> {
    let mut length = 0;
    // SAFETY: the server writes the number of bytes at the returned address, and they live as long
    // as the reply.
    unsafe {
        let at = (api().reply_text)(reply, &raw mut length);
        (!at.is_null()).then(|| {
            let bytes = std::slice::from_raw_parts(at.cast::<u8>(), length);
            String::from_utf8_lossy(bytes).into_owned()
        })
    }
}

/// A line without control characters, which would break the protocol.
fn plain(line: &str) -> String {
    line.replace(|c: char| c.is_control(), " ")
}

/// The database of a client, if the server still knows the client.
pub(crate) fn db_of(client: u64) -> Option<u16> {
    let mut info = ffi::ClientInfo::EMPTY;
    // SAFETY: the server writes the version of the structure that `version` asks for.
    let result = unsafe { (api().client_info)((&raw mut info).cast(), client) };
    (result == OK).then_some(info.db)
}

/// Whether replicas must get no writes now, because clients' writes are paused.
pub(crate) fn avoids_replica_traffic() -> bool {
    // SAFETY: it takes nothing.
    unsafe { (api().avoids_replica_traffic)() != 0 }
}

/// The memory that eviction counts, as a share of `maxmemory`; 0 without a limit.
pub(crate) fn used_ratio() -> f64 {
    // SAFETY: it takes nothing.
    unsafe { (api().used_ratio)() }.into()
}

/// CPU time of this thread, in microseconds. It comes from the C library, which the server has
/// loaded anyway. To find the clock in the kernel's own page crashed a server under valgrind, which
/// hides that page.
pub(crate) fn processor_us() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written through the pointer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}

/// The data of an open key; `None` if it has no value.
///
/// # Safety
/// `key` is open.
pub(crate) unsafe fn found(key: *mut ffi::Key, for_eviction: bool) -> Option<Found> {
    let api = api();
    let mut found = Found { length: None, elements: 0, idle_ms: -1, uses: -1, expires: false };
    // SAFETY: the caller's promise; the server writes one number through each pointer.
    unsafe {
        let kind = (api.key_type)(key);
        if kind == KEY_EMPTY {
            return None;
        }
        if kind == KEY_STRING {
            found.length = Some((api.value_length)(key));
        }
        if for_eviction {
            if found.length.is_none() {
                found.elements = (api.value_length)(key);
            }
            let (mut idle_ms, mut uses): (c_longlong, c_longlong) = (-1, -1);
            (api.get_lru)(key, &raw mut idle_ms);
            (api.get_lfu)(key, &raw mut uses);
            found.expires = (api.get_expire)(key) >= 0;
            (found.idle_ms, found.uses) = (idle_ms, uses);
        }
    }
    Some(found)
}
