//! Moves pages of a memcached, one at a time.
//!
//! ```text
//!   held and wanted ─▶ slabs reassign SRC DST ── OK ──▶ in flight ─▶ slabs_moved rose ─▶ next
//!                            │                              └─ not within some seconds ─┐
//!                            └─ BUSY, UNSAFE ───────────────────────▶ wait, longer ◀────┘
//!                               NOSPARE, BADCLASS, NOTFULL ─▶ not this class until the next plan
//! ```
//!
//! An accepted order is not a moved page: a later order overwrites one that has not begun. Of forty
//! orders sent at once, the server carried out nine. So a page is in flight until the server counts
//! it.

use super::told::MemcachedStats;
use crate::capture_command::memcached::Control;
use anyhow::bail;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Time between two pages: at most ten pages a second.
const PACE: Duration = Duration::from_millis(100);
/// The longest wait after a refusal.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Time after which a page that has not moved is given up.
const FLIGHT_MAX: Duration = Duration::from_secs(5);
/// Minimum distance of a class from its plan, in pages. Below half a page, pages would go back and
/// forth.
const OFF_MIN: f64 = 0.51;

/// The page in flight, and counts of moved pages and refused orders.
#[derive(Debug)]
pub(super) struct Mover {
    flight: Option<Flight>,
    next: Instant,
    wait: Duration,
    /// Classes that give no page, and classes that take none, under the present plan.
    keeps: HashSet<u8>,
    full: HashSet<u8>,
    wanted: Vec<(u8, f64)>,
    /// Pages that the server has moved.
    pub(super) moved: u64,
    /// Orders that were refused, or never carried out.
    pub(super) refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    moved_before: u64,
    since: Instant,
}

/// The server's answer to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReassignReply {
    Accepted,
    /// The server cannot move a page now.
    Later,
    /// The source class gives no page.
    Keeps,
    /// The destination class takes no page.
    Full,
    /// The server moves no pages at all.
    Never,
}

impl ReassignReply {
    fn of(line: &str) -> Self {
        match line.split(' ').next().unwrap_or_default() {
            "OK" => Self::Accepted,
            "BUSY" | "UNSAFE" => Self::Later,
            "NOSPARE" => Self::Keeps,
            "NOTFULL" | "BADCLASS" | "SAME" => Self::Full,
            _ => Self::Never,
        }
    }
}

impl Mover {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            flight: None,
            next: now,
            wait: PACE,
            keeps: HashSet::new(),
            full: HashSet::new(),
            wanted: vec![],
            moved: 0,
            refused: 0,
        }
    }

    /// Checks the page in flight, or orders the next one, if it is time. Only classes in `hungry`
    /// get pages. Returns the server's figures if it was asked.
    ///
    /// # Errors
    /// The connection is lost, or the server moves no pages.
    pub(super) fn step(
        &mut self,
        control: &mut Control,
        wanted: &[(u8, f64)],
        hungry: &HashSet<u8>,
        known: &MemcachedStats,
    ) -> anyhow::Result<Option<MemcachedStats>> {
        let now = Instant::now();
        if self.wanted != wanted {
            self.wanted = wanted.to_vec();
            self.keeps.clear();
            self.full.clear();
        }
        if now < self.next || self.flight.is_none() && self.choose(hungry, known).is_none() {
            return Ok(None);
        }
        self.next = now + PACE;
        let told = MemcachedStats::ask(control)?;
        if let Some(flight) = self.flight {
            if told.moved > flight.moved_before && !told.is_moving {
                self.moved += told.moved - flight.moved_before;
                (self.flight, self.wait) = (None, PACE);
            } else if now.duration_since(flight.since) > FLIGHT_MAX && !told.is_moving {
                self.flight = None;
                self.back_off(now);
            } else {
                return Ok(Some(told));
            }
        }
        if self.next <= now + PACE
            && !told.is_moving
            && let Some((from, to)) = self.choose(hungry, &told)
        {
            let line = control.say(&format!("slabs reassign {from} {to}"))?;
            match ReassignReply::of(&line) {
                ReassignReply::Accepted => {
                    self.flight = Some(Flight { moved_before: told.moved, since: now });
                }
                ReassignReply::Later => self.back_off(now),
                ReassignReply::Keeps => {
                    self.refused += 1;
                    self.keeps.insert(from);
                }
                ReassignReply::Full => {
                    self.refused += 1;
                    self.full.insert(to);
                }
                ReassignReply::Never => bail!(
                    "the server moves no pages ({line}): start it with -o slab_reassign, the \
                     default since 1.5, or leave --act out"
                ),
            }
        }
        Ok(Some(told))
    }

    fn back_off(&mut self, now: Instant) {
        self.refused += 1;
        self.wait = (2 * self.wait).min(WAIT_MAX);
        self.next = now + self.wait;
    }

    /// Source and destination of the next page, if one should move. A class that evicts nothing
    /// needs no page, even where an older plan gives it one.
    fn choose(&self, hungry: &HashSet<u8>, told: &MemcachedStats) -> Option<(u8, u8)> {
        let pages = |class: u8| told.class(class).map_or(0, |class| class.pages);
        let have: f64 = self.wanted.iter().map(|&(class, _)| pages(class) as f64).sum();
        let wanted: f64 = self.wanted.iter().map(|(_, wanted)| wanted).sum();
        // The classes may hold a page more or less than when the plan was made.
        let scale = if wanted > 0.0 { have / wanted } else { 1.0 };
        let off = self.wanted.iter().map(|&(class, wanted)| {
            let has = pages(class);
            (class, has, has as f64 - scale * wanted)
        });
        let off: Vec<_> = off.collect();
        let gives = |&&(class, has, off): &&(u8, u64, f64)| {
            has > 1 && off >= OFF_MIN && !self.keeps.contains(&class)
        };
        let takes = |&&(class, _, off): &&(u8, u64, f64)| {
            off <= -OFF_MIN && hungry.contains(&class) && !self.full.contains(&class)
        };
        let from = off.iter().filter(gives).max_by(|a, b| a.2.total_cmp(&b.2))?;
        let to = off.iter().filter(takes).min_by(|a, b| a.2.total_cmp(&b.2))?;
        Some((from.0, to.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::told::ClassStats;
    use super::*;

    fn choose(held: &[u64], wanted: &[f64], keeps: &[u8], hungry: u8) -> Option<(u8, u8)> {
        let class = |(number, &pages)| ClassStats { number, pages, ..ClassStats::default() };
        let told = MemcachedStats {
            classes: (1..).zip(held).map(class).collect(),
            ..MemcachedStats::default()
        };
        let mut mover = Mover::new(Instant::now());
        mover.wanted = (1..).zip(wanted.iter().copied()).collect();
        mover.keeps = keeps.iter().copied().collect();
        mover.choose(&(1..=hungry).collect(), &told)
    }

    #[test]
    fn the_class_with_most_too_much_gives_to_the_one_with_most_too_little() {
        assert_eq!(choose(&[9, 2, 1], &[4.0, 4.0, 4.0], &[], 3), Some((1, 3)));
        assert_eq!(choose(&[4, 4, 4], &[4.0, 4.0, 4.0], &[], 3), None);
        assert_eq!(choose(&[5, 4], &[4.5, 4.5], &[], 3), None, "half a page is nothing");
        assert_eq!(choose(&[9, 5, 1], &[4.0, 4.0, 7.0], &[1], 3), Some((2, 3)));
        assert_eq!(choose(&[1, 5], &[0.0, 6.0], &[], 3), None, "the last page stays");
        // The classes hold half of the planned pages.
        assert_eq!(choose(&[6, 2], &[8.0, 8.0], &[], 3), Some((1, 2)));
        assert_eq!(choose(&[6, 2], &[], &[], 3), None);
        assert_eq!(choose(&[6, 2], &[4.0, 4.0], &[], 1), None, "the second evicts nothing");
    }

    #[test]
    fn every_answer_is_understood() {
        for (line, answer) in [
            ("OK", ReassignReply::Accepted),
            ("BUSY currently processing reassign request", ReassignReply::Later),
            ("UNSAFE source class is in an unsafe state", ReassignReply::Later),
            ("NOSPARE source class has no spare pages", ReassignReply::Keeps),
            ("NOTFULL dest class has spare memory", ReassignReply::Full),
            ("BADCLASS invalid src or dst class id", ReassignReply::Full),
            ("SAME src and dst class are identical", ReassignReply::Full),
            ("CLIENT_ERROR slab reassignment disabled", ReassignReply::Never),
            ("ERROR", ReassignReply::Never),
        ] {
            assert_eq!(ReassignReply::of(line), answer, "{line}");
        }
    }
}
