//! Events of the loads of tenants: a load that begins, and a lasting change of one.
//!
//! A load begins with the first reads of a tenant, or with reads after a silence. Loads that begin
//! together make one event, as after a restart. A load that rises in steps makes one event, too:
//! the steps that follow the first within the stretch that its effect is measured in are a part of
//! it.

use crate::effects::EFFECT_S;
use crate::loads::{NotedLoad, Reads};
use crate::shift::LoadShift;
use crate::words::count;
use crate::{Change, ChangeKind, History};

/// A tenant is silent after so many seconds without a read.
const SILENT_S: u64 = 30;

/// A load has begun once it is this old, in seconds, with so many reads.
const BEGUN_S: u64 = 30;
const READS_MIN: u64 = 100;

/// Tenants that the text of an event names, at most.
const NAMED_MAX: usize = 4;

impl History {
    /// Seconds since the last read of a tenant, if that is long ago; otherwise 0. A tenant that was
    /// never read in this run is not silent: it has no figures.
    pub fn silent_s(&self, tenant: &str, now_unix_s: u64) -> u64 {
        let last = self.loads.reads.get(tenant).map(|reads| reads.last_unix_s);
        let silent_s = last.map_or(0, |last| now_unix_s.saturating_sub(last));
        if silent_s >= SILENT_S { silent_s } else { 0 }
    }

    /// Notes the loads that began, in one event if several did.
    pub(crate) fn note_begun(&mut self, now_unix_s: u64) {
        let begun = |(name, reads): (&String, &Reads)| {
            let from = reads.begins_unix_s?;
            let is_old = from + BEGUN_S <= now_unix_s;
            let is_read = reads.last_unix_s + SILENT_S > now_unix_s;
            let sum = self.between(Some(name), from, now_unix_s);
            let is_load = is_old && is_read && sum.reads >= READS_MIN;
            is_load.then(|| (name.clone(), from, sum.reads_per_s()))
        };
        let begun: Vec<_> = self.loads.reads.iter().filter_map(begun).collect();
        let Some(unix_s) = begun.iter().map(|(_, from, _)| *from).min() else { return };
        let all: f64 = begun.iter().map(|(_, _, rate)| rate).sum();
        let rate = count(all.round() as u64);
        let text = if let [(name, ..)] = &begun[..] {
            format!("{} load began: {rate} reads per second", of(name))
        } else {
            let named = begun.iter().take(NAMED_MAX).map(|(name, ..)| name.as_str());
            let rest = begun.len().saturating_sub(NAMED_MAX);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let named = named.collect::<Vec<_>>().join(", ");
            format!("the loads of {named}{more} began: {rate} reads per second in all")
        };
        let is_shared = begun.len() > 1;
        for (name, from, rate) in begun {
            let shift = LoadShift { unix_s: from, before: 0.0, since: rate };
            let noted = NotedLoad { unix_s, until_unix_s: from, shift, is_shared };
            if let Some(reads) = self.loads.reads.get_mut(&name) {
                reads.begins_unix_s = None;
            }
            self.loads.noted.insert(name, noted);
        }
        self.insert(Change { unix_s, kind: ChangeKind::Load, text, ..Change::default() });
    }

    /// Notes a lasting change of a tenant's load: as an event of its own, or as a part of the last
    /// one.
    pub(crate) fn note_load(&mut self, name: &str, shift: LoadShift) {
        let last = self.loads.noted.get(name).copied();
        let is_part = |last: &NotedLoad| {
            shift.unix_s <= last.unix_s + EFFECT_S && last.shift.rises() == shift.rises()
        };
        let text = |shift: &LoadShift| format!("{} load {shift}", of(name));
        if let Some(last) = last.filter(is_part) {
            let whole = LoadShift { since: shift.since, ..last.shift };
            let is_own = |change: &&mut Change| {
                change.unix_s == last.unix_s
                    && change.kind == ChangeKind::Load
                    && change.text == text(&last.shift)
            };
            if !last.is_shared
                && let Some(change) = self.changes.iter_mut().find(is_own)
            {
                change.text = text(&whole);
            }
            // Figures are of the time since the last step.
            self.settled_unix_s = self.settled_unix_s.max(shift.unix_s);
            let noted = NotedLoad { until_unix_s: shift.unix_s, shift: whole, ..last };
            self.loads.noted.insert(name.to_owned(), noted);
            return;
        }
        let unix_s = shift.unix_s;
        let noted = NotedLoad { unix_s, until_unix_s: unix_s, shift, is_shared: false };
        self.loads.noted.insert(name.to_owned(), noted);
        let text = text(&shift);
        self.insert(Change { unix_s, kind: ChangeKind::Load, text, ..Change::default() });
    }
}

/// The genitive of a name; names that end in s have an apostrophe alone.
fn of(name: &str) -> String {
    if name.ends_with('s') { format!("{name}'") } else { format!("{name}'s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Point;

    /// The changes of load when tenants are read as `rates` says, second by second.
    fn told(seconds: u64, rates: impl Fn(u64) -> Vec<(&'static str, u32)>) -> Vec<(u64, String)> {
        let (mut history, begin) = (History::default(), 1_795_700_000);
        for second in 1..=seconds {
            let unix_s = begin + second;
            let point = |reads| Point { unix_s: unix_s as u32, reads, ..Point::default() };
            let points: Vec<_> =
                rates(second).into_iter().map(|(name, reads)| (name, point(reads))).collect();
            history.push(points.into_iter());
            if second % 10 == 0 {
                history.note_shifts(unix_s);
            }
        }
        let changes = history.changes().filter(|change| change.kind == ChangeKind::Load);
        changes.map(|change| (change.unix_s - begin, change.text.clone())).collect()
    }

    #[test]
    fn a_load_that_begins_is_an_event() {
        let all = told(900, |second| {
            let web = match second {
                301..=500 | 701.. => 100,
                _ => 0,
            };
            vec![("jobs", 50), ("kv", 50), ("web", web)]
        });
        let began = |at: u64| (at, "web's load began: 100 reads per second".to_owned());
        let together = "the loads of jobs, kv began: 100 reads per second in all";
        assert_eq!(all[0], (0, together.to_owned()));
        assert_eq!(all[1], began(300), "{all:?}");
        assert!(all[2].1.starts_with("web's load ended"), "{all:?}");
        assert_eq!(all[3..], [began(700)], "{all:?}");
    }

    /// A load that rises in two steps, a minute apart, has one event. Half an hour later, another
    /// rise is another event.
    #[test]
    fn steps_of_one_rise_are_one_event() {
        let all = told(3_000, |second| {
            let web = match second {
                ..=600 => 100,
                601..=660 => 200,
                661..=2_400 => 400,
                _ => 900,
            };
            vec![("web", web)]
        });
        let rises: Vec<_> = all.iter().skip(1).map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            rises,
            [
                "web's load rose to 4.0 times: 400 reads per second, 100 before",
                "web's load rose to 2.2 times: 900 reads per second, 400 before"
            ],
            "{all:?}"
        );
    }

    /// A few reads are no load.
    #[test]
    fn a_few_reads_are_no_load() {
        let all = told(900, |second| vec![("web", u32::from(second % 90 == 0)), ("kv", 50)]);
        assert_eq!(all.len(), 1, "{all:?}");
    }
}
