//! The section `larder` of INFO.

use crate::commands::STOPPED;
use crate::ffi::InfoCtx;
use crate::load::{is_stopped, with};
use crate::memory;
use crate::server::api;
use std::ffi::{CStr, CString, c_int};
use std::sync::atomic::Ordering::Relaxed;

/// Writes the section. In the report of a crash, for which `is_crash` is not zero, it writes
/// nothing.
pub(crate) unsafe extern "C" fn on_info(ctx: *mut InfoCtx, is_crash: c_int) {
    if is_crash != 0 {
        return;
    }
    // SAFETY: INFO is being written; names and texts end with zero bytes and are copied.
    let text = |name: &CStr, value: &str| unsafe {
        let value = CString::new(value).unwrap_or_default();
        (api().info_add_text)(ctx, name.as_ptr(), value.as_ptr());
    };
    // SAFETY: as above.
    let number = |name: &CStr, value: u64| unsafe {
        (api().info_add_number)(ctx, name.as_ptr(), value);
    };
    // SAFETY: as above; the server puts its name of the module in front.
    if unsafe { (api().info_section)(ctx, c"".as_ptr()) } != 0 {
        return;
    }
    if is_stopped() {
        text(c"state", STOPPED);
    }
    with(|module| {
        let shown = module.exchange.shown();
        let status = shown.status.as_ref();
        text(c"recipe", &module.settings.borrow().recipe.to_string());
        text(c"state", &module.hand.says());
        // SAFETY: as above.
        unsafe {
            (api().info_add_ratio)(ctx, c"sampled".as_ptr(), module.eye.filter().rate());
        }
        number(c"samples", module.eye.samples.get());
        number(c"samples_dropped", module.exchange.dropped.load(Relaxed));
        number(c"epochs", status.map_or(0, |status| status.epoch));
        number(c"divided", shown.report.server.divided);
        number(c"used_memory", memory::used());
        number(c"evicted_keys", module.hand.evicted.get());
        if module.hand.ranks() {
            let room = &module.hand.room;
            number(c"server_evictions", room.server_evicted.get());
            // SAFETY: as above.
            unsafe {
                let share = room.work().share();
                (api().info_add_ratio)(ctx, c"server_evictions_share".as_ptr(), share);
            }
            number(c"reserve", room.reserve());
            number(c"stamps_memory", module.eye.keys.bytes());
            number(c"watched_keys", shown.watched as u64);
            number(c"learning_memory", shown.learning);
        }
        number(c"evictions_put_off", module.hand.spared.get());
        number(c"longest_tick_us", module.hand.longest_us.get());
        number(c"ticks", module.hand.ticks.get());
        number(c"ticks_us", module.hand.ticks_us.get());
        for tenant in module.tenants.borrow().reading() {
            let name = CString::new(format!("tenant_{}", tenant.name)).unwrap_or_default();
            let evicted = module.tenants.borrow().all[usize::from(tenant.id)].evicted;
            let fields = format!(
                "items={},used={},budget={},gets={},misses={},evicted={evicted},penalty_us={}",
                tenant.items,
                tenant.used.0,
                module.hand.budget(tenant.id).map_or(0, |budget| budget.0),
                tenant.gets,
                tenant.misses,
                tenant.penalty.unwrap_or_default().0
            );
            text(&name, &fields);
        }
    });
}
