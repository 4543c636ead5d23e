//! Changes and their effects: lasting changes of load are noted automatically, and each change gets
//! the figures measured before and after it.
//!
//! The text of a change is final: its words are written when it is noted, and its figures when the
//! stretch after it is over.

use crate::history::{CHANGES_MAX, History};
use crate::{Change, ChangeKind, Effect, Fared, Shift};

/// The longest and the shortest stretch measured on each side of a change, in seconds.
pub(crate) const EFFECT_S: u64 = 120;
const EFFECT_MIN_S: u64 = 30;

/// Tenants whose effects are kept for each change.
const EFFECTS_MAX: usize = 6;

/// How many seconds back the search for a change goes.
const SHIFT_S: u64 = 1_800;

/// The effects of a change are measured until it is this old, in seconds.
pub(crate) const OPEN_S: u64 = SHIFT_S + 4 * EFFECT_S;

impl History {
    /// Measures the effects of changes whose stretch is over by now. The stretch ends early where
    /// another change begins. Effects once measured are final.
    pub fn complete(&mut self, now_unix_s: u64) {
        let moments: Vec<u64> = self.changes.iter().map(|change| change.unix_s).collect();
        for (at, &when) in moments.iter().enumerate() {
            // A lasting change of load is found long after it, and stands before later changes.
            if now_unix_s.saturating_sub(when) > OPEN_S || !self.changes[at].effects.is_empty() {
                continue;
            }
            let next = moments[at + 1..].iter().copied().find(|next| *next >= when + EFFECT_MIN_S);
            let end = next.unwrap_or(u64::MAX).min(when + EFFECT_S);
            let last = moments[..at].iter().rev().copied().find(|last| last + EFFECT_MIN_S <= when);
            let begin = last.unwrap_or(0).max(when.saturating_sub(EFFECT_S));
            if end <= now_unix_s {
                self.changes[at].effects = self.effects(begin, when, end);
            }
        }
    }

    /// The effects of a change at `when` on all tenants together, and on the tenants that wait
    /// most.
    fn effects(&self, begin: u64, when: u64, end: u64) -> Vec<Effect> {
        let effect = |tenant: Option<&str>| Effect {
            tenant: tenant.map(str::to_owned),
            before: self.fared(tenant, begin, when),
            after: self.fared(tenant, when, end),
        };
        let all = effect(None);
        if all.before.reads_per_s <= 0.0 {
            // Nothing was read before this change.
            return vec![Effect { before: Fared::default(), ..all }];
        }
        let mut each: Vec<_> = self.tenants.keys().map(|name| effect(Some(name))).collect();
        each.retain(|effect| effect.before.reads_per_s + effect.after.reads_per_s > 0.0);
        let most = |one: &Effect| one.before.wait_ms_per_s.max(one.after.wait_ms_per_s);
        each.sort_by(|a, b| most(b).total_cmp(&most(a)));
        each.truncate(EFFECTS_MAX);
        std::iter::once(all).chain(each).collect()
    }

    fn fared(&self, tenant: Option<&str>, from: u64, to: u64) -> Fared {
        let recent = self.between(tenant, from, to);
        let small = u32::try_from(to).unwrap_or(u32::MAX);
        let points = self.since(tenant, from);
        let last = points.iter().rev().find(|point| point.unix_s <= small);
        Fared {
            reads_per_s: recent.reads_per_s(),
            miss_ratio: recent.miss_ratio().unwrap_or_default(),
            wait_ms_per_s: recent.wait_ms_per_s(),
            used: last.map_or(0, |point| u64::from(point.used_kib) << 10),
        }
    }

    /// Notes loads that began, and lasting changes of the load or the misses of each tenant, each
    /// once.
    pub fn note_shifts(&mut self, now_unix_s: u64) {
        self.note_begun(now_unix_s);
        let from = now_unix_s.saturating_sub(SHIFT_S);
        let names: Vec<String> = self.tenants.keys().cloned().collect();
        for name in names {
            let since = self.last_noted(&name).max(from);
            let points = self.since(Some(&name), since);
            if let Some(shift) = Shift::of_load(&points) {
                self.note_load(&name, shift);
            } else if let Some((shift, text)) = Shift::of_misses(&points) {
                self.note_misses(&name, &shift, &text, now_unix_s);
            }
        }
    }

    /// Notes a lasting change of a tenant's misses, unless it is the consequence of a change close
    /// to it.
    fn note_misses(&mut self, name: &str, shift: &Shift, text: &str, now_unix_s: u64) {
        let unix_s = shift.unix_s;
        let rose = shift.since > shift.before;
        let is_known = self.changes.iter().rev().take(16).any(|change| {
            change.kind.begins_a_window() && change.unix_s.abs_diff(unix_s) < EFFECT_MIN_S
        });
        if is_known {
            self.settled_unix_s = self.settled_unix_s.max(unix_s);
            return;
        }
        let moves = self.moves(unix_s.saturating_sub(SHIFT_S), now_unix_s);
        let cause = match moves.full_unix_s {
            full if moves.was_filling && unix_s <= full && !rose => {
                ", because the cache was filling".to_owned()
            }
            full if moves.was_filling && rose && unix_s.abs_diff(full) <= EFFECT_MIN_S => {
                ", because the cache had become full".to_owned()
            }
            _ => {
                let [from, to] = [unix_s.saturating_sub(SHIFT_S), now_unix_s];
                let [before, since] = [(from, unix_s), (unix_s, to)]
                    .map(|(from, to)| self.between(Some(name), from, to));
                since.other_keys(&before).map_or_else(String::new, |says| format!(", {says}"))
            }
        };
        let text = format!("{name}{text}{cause}");
        self.insert(Change { unix_s, kind: ChangeKind::Misses, text, ..Change::default() });
    }

    /// Puts a change that was found late before later ones.
    pub(crate) fn insert(&mut self, change: Change) {
        let at = self.changes.partition_point(|known| known.unix_s <= change.unix_s);
        self.changes.insert(at, change);
        if self.changes.len() > CHANGES_MAX {
            self.changes.pop_front();
        }
    }

    /// The time of the last noted change of this tenant, of a setting or of a start, in Unix
    /// seconds.
    fn last_noted(&self, name: &str) -> u64 {
        let own = |change: &&Change| match change.kind {
            ChangeKind::Setting | ChangeKind::Start => true,
            ChangeKind::Load | ChangeKind::Misses => change.is_of(name),
            ChangeKind::Plan => false,
        };
        let last = self.changes.iter().rev().find(own).map_or(0, |change| change.unix_s);
        last.max(self.loads.until(name))
    }
}
