//! A random item of a shard.

use crate::contents::contents::Contents;
use crate::items::item::Ref;
use crate::items::table::item_table::{END, Slot};
use crate::tenant::tenant::TenantShard;
use crate::{Now, Scope};
use base::TenantId;

/// Draws for a random key before a walk looks for one.
const DRAWS: usize = 64;

impl Contents {
    /// A random live item of `scope`, if a few draws or a walk find one here.
    pub(crate) fn draw(&mut self, scope: Scope, now: Now) -> Option<(TenantId, Slot)> {
        let len = |at: usize, tenant: &TenantShard| match scope.tenant {
            Some(only) if usize::from(only) != at => 0,
            _ => tenant.len(scope.db).items,
        };
        let lens: Vec<_> = self.tenants.iter().enumerate().map(|(at, t)| len(at, t)).collect();
        let total = lens.iter().sum::<u64>();
        if total == 0 {
            return None;
        }
        let prng = &mut self.clock.prng;
        let mut r = prng.below(total);
        let at = lens.iter().position(|&len| {
            let is_mine = r < len;
            r = r.wrapping_sub(len);
            is_mine
        })?;
        let fits =
            |item: Ref| scope.db.is_none_or(|db| item.db() == db) && !item.is_dead(now.unix_ms);
        let table = &self.tenants[at].table;
        for _ in 0..DRAWS {
            let (place, word) = table.draw(prng);
            if word != 0 && fits(table.get(place)) {
                return Some((at as TenantId, place));
            }
        }
        for start in [prng.below(END), 0] {
            let mut position = start;
            while position < END {
                if let Some(place) = table.find_at(position, |item, _| fits(item)) {
                    return Some((at as TenantId, place));
                }
                position = table.next(position);
            }
        }
        None
    }
}
