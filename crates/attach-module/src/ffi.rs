//! The module API of Redis and Valkey, declared by hand: the thirty-odd functions in use, as in
//! their headers.
//!
//! A server hands a module one function, at the start of its first context, that finds all others
//! by name. Valkey accepts the names of Redis as well, so one file loads into both. Functions added
//! after Redis 7.0 may be missing.
//!
//! ```text
//!   RedisModule_OnLoad(ctx, …)      ctx: ┌──────────────┬ …
//!                                        │ GetApi       │  GetApi("RedisModule_OpenKey", &found)
//!                                        └──────────────┴ …
//! ```

use std::ffi::{c_char, c_double, c_float, c_int, c_longlong, c_uint, c_ulonglong, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            pub(crate) struct $name {
                _private: [u8; 0],
            }
        )*
    };
}

opaque! {
    /// A context, on whose behalf the module calls the server.
    Ctx,
    /// A reference-counted string of the server.
    Text,
    /// An open key.
    Key,
    /// A command before its execution.
    FilterCtx,
    /// A registered filter.
    Filter,
    /// The reply to a command that the module called.
    Reply,
    /// A section of INFO, for writing.
    InfoCtx,
    /// The data of INFO, for reading.
    ServerInfo,
    /// A position in a scan of the keys.
    Cursor,
}

/// The result of a successful call.
pub(crate) const OK: c_int = 0;
/// The result of a failed call.
pub(crate) const ERR: c_int = 1;
/// The version of the interface.
pub(crate) const API_VERSION: c_int = 1;

/// Flags for opening a key.
pub(crate) mod open {
    use std::ffi::c_int;

    pub(crate) const READ: c_int = 1;
    pub(crate) const WRITE: c_int = 1 << 1;
    pub(crate) const NO_TOUCH: c_int = 1 << 16;
    /// No event for a miss, no statistics, no expiry on access: since 7.2.
    pub(crate) const UNSEEN: c_int = 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20;
}

/// The types of a key that the module distinguishes.
pub(crate) const KEY_EMPTY: c_int = 0;
/// See [`KEY_EMPTY`].
pub(crate) const KEY_STRING: c_int = 1;

/// Event classes of keys.
pub(crate) mod notify {
    use std::ffi::c_int;

    pub(crate) const GENERIC: c_int = 1 << 2;
    pub(crate) const EXPIRED: c_int = 1 << 8;
    pub(crate) const EVICTED: c_int = 1 << 9;
    pub(crate) const KEY_MISS: c_int = 1 << 11;
    pub(crate) const NEW: c_int = 1 << 14;
}

/// Flags of a context about the state of the server.
pub(crate) mod flags {
    use std::ffi::c_int;

    pub(crate) const MASTER: c_int = 1 << 2;
    pub(crate) const LOADING: c_int = 1 << 13;
    pub(crate) const ASYNC_LOADING: c_int = 1 << 23;
}

/// Module option: the module itself signals the keys that it changed.
pub(crate) const NO_IMPLICIT_SIGNAL: c_int = 1 << 1;
/// Module option of Valkey: the module knows that keys may be there before their slot is.
pub(crate) const HANDLES_SLOTS: c_int = 1 << 5;

/// Events of the server, with the version of their data.
pub(crate) const EVENT_FLUSH: Event = Event { id: 2, version: 1 };
/// See [`EVENT_FLUSH`].
pub(crate) const EVENT_CRON: Event = Event { id: 8, version: 1 };
/// An event of Valkey: slots begin or end to arrive or to leave as a whole.
pub(crate) const EVENT_SLOTS: Event = Event { id: 19, version: 1 };
/// The parts of [`EVENT_SLOTS`] about slots that arrive: they begin, they will not, they are here.
pub(crate) const ARRIVALS: [u64; 3] = [0, 2, 4];

/// An event of the server.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) version: u64,
}

/// The data of [`EVENT_SLOTS`].
#[repr(C)]
pub(crate) struct Slots {
    pub(crate) version: u64,
    pub(crate) name: [u8; 41],
    pub(crate) ranges: *const [c_int; 2],
    pub(crate) count: u32,
}

/// The server's data about a client.
#[repr(C)]
pub(crate) struct ClientInfo {
    pub(crate) version: u64,
    pub(crate) flags: u64,
    pub(crate) id: u64,
    pub(crate) address: [u8; 46],
    pub(crate) port: u16,
    pub(crate) db: u16,
}

impl ClientInfo {
    /// An empty struct of the version that every server writes.
    pub(crate) const EMPTY: Self =
        Self { version: 1, flags: 0, id: 0, address: [0; 46], port: 0, db: 0 };
}

const _: () = assert!(size_of::<ClientInfo>() == 80);

pub(crate) type OnCommand = unsafe extern "C" fn(*mut Ctx, *mut *mut Text, c_int) -> c_int;
pub(crate) type OnFilter = unsafe extern "C" fn(*mut FilterCtx);
pub(crate) type OnKey = unsafe extern "C" fn(*mut Ctx, c_int, *const c_char, *mut Text) -> c_int;
pub(crate) type OnEvent = unsafe extern "C" fn(*mut Ctx, Event, u64, *mut c_void);
pub(crate) type OnTimer = unsafe extern "C" fn(*mut Ctx, *mut c_void);
pub(crate) type OnInfo = unsafe extern "C" fn(*mut InfoCtx, c_int);
pub(crate) type OnScan = unsafe extern "C" fn(*mut Ctx, *mut Text, *mut Key, *mut c_void);
pub(crate) type GetText = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut Text;
pub(crate) type SetText =
    unsafe extern "C" fn(*const c_char, *mut Text, *mut c_void, *mut *mut Text) -> c_int;
pub(crate) type GetFlag = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
pub(crate) type SetFlag =
    unsafe extern "C" fn(*const c_char, c_int, *mut c_void, *mut *mut Text) -> c_int;
pub(crate) type OnApply = unsafe extern "C" fn(*mut Ctx, *mut c_void, *mut *mut Text) -> c_int;

/// The function that finds all other functions.
pub(crate) type GetApi = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;

macro_rules! functions {
    (
        all { $($field:ident $name:ident ($($kind:ty),* $(; $dots:tt)?) $(-> $result:ty)?;)* }
        late { $($late:ident $late_name:ident ($($late_kind:ty),*) $(-> $late_result:ty)?;)* }
    ) => {
        /// The functions of a server.
        pub(crate) struct Api {
            $(pub(crate) $field: unsafe extern "C" fn($($kind),* $(, $dots)?) $(-> $result)?,)*
            $(pub(crate) $late: Option<unsafe extern "C" fn($($late_kind),*) $(-> $late_result)?>,)*
        }

        impl Api {
            /// Finds all functions, or says which is missing.
            ///
            /// # Safety
            /// `get` is the function at the start of a context of Redis or Valkey.
            pub(crate) unsafe fn find(get: GetApi) -> Result<Self, &'static str> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the name ends with a zero byte, and `get` is the server's.
                        let found = unsafe {
                            find(get, concat!("RedisModule_", stringify!($name), "\0"))
                        };
                        let found = found.ok_or(stringify!($name))?;
                        // SAFETY: the server keeps functions of this type, which its header
                        // declares, under this name.
                        unsafe {
                            transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($kind),* $(, $dots)?) $(-> $result)?,
                            >(found)
                        }
                    },)*
                    $($late: {
                        // SAFETY: as above.
                        let found = unsafe {
                            find(get, concat!("RedisModule_", stringify!($late_name), "\0"))
                        };
                        // SAFETY: as above.
                        found.map(|found| unsafe {
                            transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($late_kind),*) $(-> $late_result)?,
                            >(found)
                        })
                    },)*
                })
            }
        }
    };
}

/// Finds a function by its name.
///
/// # Safety
/// `name` ends with a zero byte and `get` is the function at the start of a context.
unsafe fn find(get: GetApi, name: &str) -> Option<*mut c_void> {
    let mut found = null_mut();
    // SAFETY: the name ends with a zero byte, and the server writes a pointer through the other.
    let result = unsafe { get(name.as_ptr().cast(), &raw mut found) };
    (result == OK && !found.is_null()).then_some(found)
}

/// Whether the server is a Valkey, which knows its functions by two names.
///
/// # Safety
/// `get` is the function at the start of a context.
pub(crate) unsafe fn is_valkey(get: GetApi) -> bool {
    // SAFETY: the name ends with a zero byte.
    unsafe { find(get, "ValkeyModule_Call\0") }.is_some()
}

functions! {
all {
    alloc Alloc(usize) -> *mut c_void;
    free Free(*mut c_void);
    set_attributes SetModuleAttribs(*mut Ctx, *const c_char, c_int, c_int);
    is_name_busy IsModuleNameBusy(*const c_char) -> c_int;
    set_options SetModuleOptions(*mut Ctx, c_int);
    log Log(*mut Ctx, *const c_char, *const c_char; ...);
    create_command CreateCommand(
        *mut Ctx, *const c_char, OnCommand, *const c_char, c_int, c_int, c_int) -> c_int;
    register_filter RegisterCommandFilter(*mut Ctx, OnFilter, c_int) -> *mut Filter;
    unregister_filter UnregisterCommandFilter(*mut Ctx, *mut Filter) -> c_int;
    filter_count CommandFilterArgsCount(*mut FilterCtx) -> c_int;
    filter_argument CommandFilterArgGet(*mut FilterCtx, c_int) -> *mut Text;
    text StringPtrLen(*const Text, *mut usize) -> *const c_char;
    create_text CreateString(*mut Ctx, *const c_char, usize) -> *mut Text;
    free_text FreeString(*mut Ctx, *mut Text);
    detached_context GetDetachedThreadSafeContext(*mut Ctx) -> *mut Ctx;
    free_context FreeThreadSafeContext(*mut Ctx);
    context_flags GetContextFlags(*mut Ctx) -> c_int;
    avoids_replica_traffic AvoidReplicaTraffic() -> c_int;
    client_info GetClientInfoById(*mut c_void, u64) -> c_int;
    select_db SelectDb(*mut Ctx, c_int) -> c_int;
    selected_db GetSelectedDb(*mut Ctx) -> c_int;
    db_size DbSize(*mut Ctx) -> c_ulonglong;
    used_ratio GetUsedMemoryRatio() -> c_float;
    open_key OpenKey(*mut Ctx, *mut Text, c_int) -> *mut Key;
    close_key CloseKey(*mut Key);
    key_type KeyType(*mut Key) -> c_int;
    value_length ValueLength(*mut Key) -> usize;
    get_expire GetExpire(*mut Key) -> c_longlong;
    get_lru GetLRU(*mut Key, *mut c_longlong) -> c_int;
    get_lfu GetLFU(*mut Key, *mut c_longlong) -> c_int;
    unlink_key UnlinkKey(*mut Key) -> c_int;
    signal_modified SignalModifiedKey(*mut Ctx, *mut Text) -> c_int;
    replicate Replicate(*mut Ctx, *const c_char, *const c_char; ...) -> c_int;
    notify NotifyKeyspaceEvent(*mut Ctx, c_int, *const c_char, *mut Text) -> c_int;
    subscribe_keys SubscribeToKeyspaceEvents(*mut Ctx, c_int, OnKey) -> c_int;
    subscribe_server SubscribeToServerEvent(*mut Ctx, Event, OnEvent) -> c_int;
    create_timer CreateTimer(*mut Ctx, c_longlong, OnTimer, *mut c_void) -> u64;
    cursor_create ScanCursorCreate() -> *mut Cursor;
    cursor_destroy ScanCursorDestroy(*mut Cursor);
    scan Scan(*mut Ctx, *mut Cursor, OnScan, *mut c_void) -> c_int;
    call Call(*mut Ctx, *const c_char, *const c_char; ...) -> *mut Reply;
    reply_integer CallReplyInteger(*mut Reply) -> c_longlong;
    reply_text CallReplyStringPtr(*mut Reply, *mut usize) -> *const c_char;
    reply_element CallReplyArrayElement(*mut Reply, usize) -> *mut Reply;
    free_reply FreeCallReply(*mut Reply);
    server_info GetServerInfo(*mut Ctx, *const c_char) -> *mut ServerInfo;
    free_server_info FreeServerInfo(*mut Ctx, *mut ServerInfo);
    info_number ServerInfoGetFieldUnsigned(*mut ServerInfo, *const c_char, *mut c_int)
        -> c_ulonglong;
    info_text ServerInfoGetFieldC(*mut ServerInfo, *const c_char) -> *const c_char;
    register_info RegisterInfoFunc(*mut Ctx, OnInfo) -> c_int;
    info_section InfoAddSection(*mut InfoCtx, *const c_char) -> c_int;
    info_add_text InfoAddFieldCString(*mut InfoCtx, *const c_char, *const c_char) -> c_int;
    info_add_number InfoAddFieldULongLong(*mut InfoCtx, *const c_char, c_ulonglong) -> c_int;
    info_add_ratio InfoAddFieldDouble(*mut InfoCtx, *const c_char, c_double) -> c_int;
    register_text RegisterStringConfig(
        *mut Ctx, *const c_char, *const c_char, c_uint, GetText, SetText, Option<OnApply>,
        *mut c_void) -> c_int;
    register_flag RegisterBoolConfig(
        *mut Ctx, *const c_char, c_int, c_uint, GetFlag, SetFlag, Option<OnApply>, *mut c_void)
        -> c_int;
    load_configs LoadConfigs(*mut Ctx) -> c_int;
    reply_error ReplyWithError(*mut Ctx, *const c_char) -> c_int;
    reply_array ReplyWithArray(*mut Ctx, std::ffi::c_long) -> c_int;
    reply_line ReplyWithSimpleString(*mut Ctx, *const c_char) -> c_int;
    reply_bulk ReplyWithStringBuffer(*mut Ctx, *const c_char, usize) -> c_int;
}
late {
    filter_client CommandFilterGetClientId(*mut FilterCtx) -> c_ulonglong;
    open_modes GetOpenKeyModesAll() -> c_int;
}
}
