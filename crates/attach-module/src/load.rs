//! Loading, unloading, and every call that the server makes.
//!
//! Each call is caught where it enters the module. If a call panics, which is a bug, the server no
//! longer calls the module, gets its own settings back, and goes on. The module is one value behind
//! one pointer, which exists from the end of loading to the beginning of unloading.

use crate::exchange::Exchange;
use crate::ffi::{
    self, Api, Ctx, ERR, EVENT_CRON, EVENT_FLUSH, EVENT_SLOTS, Event, FilterCtx, OK, Text, notify,
};
use crate::filter::CommandWords;
use crate::module::{Host, Life, Module};
use crate::name::Name;
use crate::server::{Context, api, keep};
use crate::{commands, configs, info, memory, pilot};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::JoinHandle;

/// The module's name, the prefix of its settings.
const NAME: &CStr = c"larder";

/// The most databases that the module observes.
const DATABASES_MAX: u16 = 256;

/// The module, with everything to release at its end.
struct Loaded {
    module: Module,
    filter: *mut ffi::Filter,
    thread: Option<JoinHandle<()>>,
    /// Whether a call panicked.
    is_stopped: Cell<bool>,
}

static LOADED: AtomicPtr<Loaded> = AtomicPtr::new(null_mut());

/// The loaded module, for a call by the server.
#[inline]
fn loaded() -> Option<&'static Loaded> {
    // SAFETY: the pointer is null or from `Box::into_raw` in `RedisModule_OnLoad`. Only
    // `RedisModule_OnUnload` frees it, on the server's thread, which holds no such reference then:
    // no call by the server is under way, and no other thread asks.
    unsafe { LOADED.load(Ordering::Acquire).as_ref() }
}

/// Runs `work` on the module, unless a call panicked before; a panic stops the module for good.
#[inline]
pub(crate) fn with(work: impl FnOnce(&Module)) {
    let Some(loaded) = loaded().filter(|loaded| !loaded.is_stopped.get()) else { return };
    if catch_unwind(AssertUnwindSafe(|| work(&loaded.module))).is_err() {
        loaded.is_stopped.set(true);
        loaded.module.exchange.broken.store(true, Ordering::Relaxed);
    }
}

/// Whether a call panicked, so that the module does nothing any more.
pub(crate) fn is_stopped() -> bool {
    loaded().is_some_and(|loaded| loaded.is_stopped.get())
}

/// Restores the server's settings that the module changed.
fn give_back(context: Context<'_>) {
    if let Some(loaded) = loaded() {
        _ = catch_unwind(AssertUnwindSafe(|| loaded.module.hand.restore_k(context)));
    }
}

/// Starts timers of the server.
struct Timer;

impl Host for Timer {
    fn arm(&self, context: Context<'_>, after_ms: i64) {
        // SAFETY: the context lives; `on_timer` takes no data.
        unsafe { (api().create_timer)(context.raw(), after_ms, on_timer, null_mut()) };
    }
}

/// A command as the server shows it to the filter.
struct Filtered {
    raw: *mut FilterCtx,
    api: &'static Api,
}

impl CommandWords for Filtered {
    fn count(&self) -> usize {
        // SAFETY: the filter's context lives as long as the call of the filter, and so does this
        // value.
        unsafe { (self.api.filter_count)(self.raw) as usize }
    }

    fn word(&self, at: usize) -> Name<'_> {
        // SAFETY: as above; callers ask for words below the count, which the command holds while
        // the filter runs.
        unsafe { Name::new((self.api.filter_argument)(self.raw, at as c_int)) }
    }

    #[inline]
    fn bytes(&self, at: usize) -> &[u8] {
        self.word(at).bytes_by(self.api)
    }

    fn client(&self) -> Option<u64> {
        // SAFETY: as above.
        self.api.filter_client.map(|client| unsafe { client(self.raw) })
    }
}

/// Loads the module, on a call by the server.
///
/// # Safety
/// The server calls it, with its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut c_void,
    _: *mut *mut c_void,
    count: c_int,
) -> c_int {
    let ctx = ctx.cast::<Ctx>();
    // SAFETY: a context begins with the function that finds the others.
    let get = unsafe { ctx.cast::<ffi::GetApi>().read() };
    // SAFETY: as above.
    let (found, is_valkey) = unsafe { (Api::find(get), ffi::is_valkey(get)) };
    let Ok(found) = found else { return ERR };
    // Nothing is allocated before this line.
    memory::take_from(found.alloc, found.free);
    let api = keep(found);
    // SAFETY: the name ends with a zero byte.
    unsafe {
        if (api.is_name_busy)(NAME.as_ptr()) != 0 {
            return ERR;
        }
        (api.set_attributes)(ctx, NAME.as_ptr(), 1, ffi::API_VERSION);
    }
    // SAFETY: the server's thread calls, with a context that lives through the call.
    let context = unsafe { Context::new(ctx) };
    if count > 0 {
        context.log(
            "larder: loadmodule takes no arguments: write larder.tenants, larder.recipe and \
             larder.act on lines of their own",
        );
        return ERR;
    }
    match catch_unwind(AssertUnwindSafe(|| load(context, is_valkey))) {
        Ok(true) => OK,
        Ok(false) | Err(_) => ERR,
    }
}

fn load(context: Context<'_>, is_valkey: bool) -> bool {
    // A backtrace would read all debug data of the code into the server's memory.
    std::panic::set_hook(Box::new(|panic| eprintln!("larder: {panic}")));
    let (api, ctx) = (api(), context.raw());
    // SAFETY: the context lives. The detached one has the module, lives until it is freed, and is
    // used on the server's thread only, which holds the lock whenever it calls the module.
    let detached = unsafe {
        (api.set_options)(ctx, ffi::NO_IMPLICIT_SIGNAL);
        Context::new((api.detached_context)(ctx))
    };
    let databases = (0..DATABASES_MAX).take_while(|&db| detached.select(db)).count() as u16;
    let exchange = Arc::new(Exchange::default());
    let module = Module::new(Box::new(Timer), detached, exchange.clone(), databases);
    module.eye.untouching.learn(&context.clients().unwrap_or_default());
    let Ok(thread) = pilot::start(exchange) else {
        context.log("larder: the system started no thread: raise its limit of processes");
        return false;
    };
    let loaded =
        Loaded { module, filter: null_mut(), thread: Some(thread), is_stopped: Cell::new(false) };
    LOADED.store(Box::into_raw(Box::new(loaded)), Ordering::Release);
    let is_ready = register(context) && configs::register(context);
    if is_valkey {
        // SAFETY: the context lives, and the function until the server has unregistered it. Before
        // Valkey 9 there is no such event.
        unsafe {
            if (api.subscribe_server)(ctx, EVENT_SLOTS, on_event) == OK {
                (api.set_options)(ctx, ffi::NO_IMPLICIT_SIGNAL | ffi::HANDLES_SLOTS);
            }
        }
    }
    if !is_ready {
        context.log("larder: the server refused a command, a setting or an event");
        take_down();
    }
    is_ready
}

/// Registers all functions that the server calls.
fn register(context: Context<'_>) -> bool {
    let (api, ctx) = (api(), context.raw());
    let events =
        notify::GENERIC | notify::EXPIRED | notify::EVICTED | notify::KEY_MISS | notify::NEW;
    // SAFETY: the context lives, names end with zero bytes, and the functions live until the server
    // has unregistered them, which it does before it unloads the library.
    unsafe {
        let are_there = commands::ALL.iter().all(|name| {
            let flags = c"readonly".as_ptr();
            (api.create_command)(ctx, name.as_ptr(), on_command, flags, 0, 0, 0) == OK
        });
        let filter = (api.register_filter)(ctx, on_filter, 0);
        if let Some(loaded) = LOADED.load(Ordering::Acquire).as_mut() {
            loaded.filter = filter;
        }
        are_there
            && !filter.is_null()
            && (api.subscribe_keys)(ctx, events, on_key) == OK
            && (api.subscribe_server)(ctx, EVENT_CRON, on_event) == OK
            && (api.subscribe_server)(ctx, EVENT_FLUSH, on_event) == OK
            && (api.register_info)(ctx, info::on_info) == OK
    }
}

/// Ends the thread and frees the module.
fn take_down() {
    let loaded = LOADED.swap(null_mut(), Ordering::AcqRel);
    if loaded.is_null() {
        return;
    }
    // SAFETY: it came from `Box::into_raw`, and later calls find a null pointer.
    let mut loaded = unsafe { Box::from_raw(loaded) };
    loaded.module.exchange.stop.store(true, Ordering::Relaxed);
    if let Some(thread) = loaded.thread.take() {
        thread.thread().unpark();
        _ = thread.join();
    }
    let detached = loaded.module.context.raw();
    drop(loaded);
    drop(std::panic::take_hook());
    // SAFETY: it was the module's, and nothing uses it any more.
    unsafe { (api().free_context)(detached) };
}

/// Unloads the module, on a call by the server, which has no timer of the module pending.
///
/// # Safety
/// The server calls it, with its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnUnload(ctx: *mut c_void) -> c_int {
    // SAFETY: the server's thread calls, with a context that lives through the call.
    let context = unsafe { Context::new(ctx.cast()) };
    give_back(context);
    if let Some(loaded) = loaded().filter(|loaded| !loaded.filter.is_null()) {
        // SAFETY: the context lives, and the filter is the module's.
        unsafe { (api().unregister_filter)(context.raw(), loaded.filter) };
    }
    take_down();
    OK
}

/// Filters a command before its execution.
unsafe extern "C" fn on_filter(filter: *mut FilterCtx) {
    with(|module| module.on_command(&Filtered { raw: filter, api: api() }));
}

/// Handles an event of a key.
unsafe extern "C" fn on_key(
    ctx: *mut Ctx,
    kind: c_int,
    event: *const c_char,
    key: *mut Text,
) -> c_int {
    with(|module| {
        // SAFETY: the server passes its context, a text that ends with a zero byte, and a key, all
        // of which live through the call, on its thread.
        let (context, event, key) =
            unsafe { (Context::new(ctx), CStr::from_ptr(event), Name::new(key).bytes()) };
        let db = context.db();
        match kind {
            notify::KEY_MISS => module.on_miss(db, key),
            notify::NEW => module.on_life(db, key, Life::Born),
            notify::EXPIRED => module.on_life(db, key, Life::Expired),
            notify::EVICTED => module.on_life(db, key, Life::Evicted),
            _ if matches!(event.to_bytes(), b"del" | b"rename_from" | b"move_from") => {
                module.on_life(db, key, Life::Removed);
            }
            _ => {}
        }
    });
    OK
}

/// Handles a tenth of a second that passed, or a flush of keys.
unsafe extern "C" fn on_event(ctx: *mut Ctx, event: Event, part: u64, data: *mut c_void) {
    // SAFETY: the server's thread calls, with a context that lives through the call.
    let context = unsafe { Context::new(ctx) };
    if event.id == EVENT_CRON.id {
        with(|module| module.on_cron(context));
        if is_stopped() {
            give_back(context);
        }
    } else if event.id == EVENT_FLUSH.id && part == 1 && !data.is_null() {
        // SAFETY: the event's data are a version, whether the flush blocks, and the database: a
        // number of 64 bits and two of 32.
        let db = unsafe { data.cast::<i32>().add(3).read() };
        with(|module| module.on_flush(u16::try_from(db).ok()));
    } else if event.id == EVENT_SLOTS.id && ffi::ARRIVALS.contains(&part) && !data.is_null() {
        // SAFETY: the event's data are of this type, with as many ranges as they say, and live
        // through the call.
        let ranges = unsafe {
            let slots = &*data.cast::<ffi::Slots>();
            std::slice::from_raw_parts(slots.ranges, slots.count as usize)
        };
        let ranges: Vec<_> =
            ranges.iter().map(|ends| ends.map(|slot| slot as u16).into()).collect();
        with(|module| {
            let arriving = &module.hand.draws.arriving;
            if part == ffi::ARRIVALS[0] { arriving.begin(&ranges) } else { arriving.end(&ranges) }
        });
    }
}

/// A tick of the timer.
unsafe extern "C" fn on_timer(ctx: *mut Ctx, _: *mut c_void) {
    // SAFETY: the server's thread calls, with a context that lives through the call.
    let context = unsafe { Context::new(ctx) };
    with(|module| module.on_timer(context));
}

/// Answers a command of the module.
unsafe extern "C" fn on_command(ctx: *mut Ctx, words: *mut *mut Text, count: c_int) -> c_int {
    // SAFETY: the server's thread calls, with a context that lives through the call, and with
    // `count` words.
    let (context, words) =
        unsafe { (Context::new(ctx), std::slice::from_raw_parts(words, count as usize)) };
    // SAFETY: the words live through the call.
    let text = |&word: &*mut Text| unsafe {
        String::from_utf8_lossy(Name::new(word).bytes()).into_owned()
    };
    let words: Vec<String> = words.iter().map(text).collect();
    let mut answer = Err(commands::STOPPED.to_owned());
    with(|module| answer = commands::answer(&words, &module.exchange));
    match answer {
        Ok(commands::CommandAnswer::Lines(lines)) => context.reply_lines(&lines),
        Ok(commands::CommandAnswer::Document(value)) => context.reply_bulk(&value.to_string()),
        Err(sentence) => context.reply_error(&sentence),
    }
    OK
}
