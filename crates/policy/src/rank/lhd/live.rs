//! LHD as a rank of the live store: the densities of one moment, by item or by tag.

use super::ranks::{AGE_MAX, AGE_MIN, Ranks, place};
use crate::Evictor;
use crate::rank::{Learnt, Lessons, Meta, Rank, Tag};
use base::{TenantId, Tick};
use std::sync::Arc;

/// Tags ranked side by side.
const SIDE: usize = 16;

impl Evictor {
    /// LHD: evicts, of `k` candidates, the one with the fewest expected hits for its bytes. The
    /// store learns the expected hits.
    pub fn lhd(k: u8) -> Self {
        Self { rank: Arc::new(Ranks::default()), k, pool: false }
    }
}

impl Rank for Ranks {
    fn rank(&self, item: &Meta, now: Tick) -> f32 {
        self.rank_in(0, 0, item, now)
    }

    #[inline]
    fn rank_in(&self, tenant: TenantId, class: u8, item: &Meta, now: Tick) -> f32 {
        let age = item.age.min(u64::from(u32::MAX));
        if self.explores(age, now) {
            return f32::INFINITY;
        }
        let age = (age as u32).clamp(AGE_MIN, AGE_MAX);
        self.table(tenant).at(place(class, age)) / item.size.max(1) as f32
    }

    fn rank_tags(
        &self,
        tenant: TenantId,
        tags: &[Tag],
        sizes: &[u32],
        now: Tick,
        into: &mut [f32],
    ) -> bool {
        let table = self.table(tenant);
        let place = |tag: Tag| place(tag.hit_class(), tag.age(now.0));
        let score = |tag: Tag, place: u32| {
            if tag.is_item() { table.at(place) } else { f32::INFINITY }
        };
        let (lines, rest) = tags.as_chunks::<SIDE>();
        let (mut line_by_line, scored) = (into.iter_mut(), tags.len());
        for line in lines {
            // All places first: a processor computes several at once.
            let places = line.map(place);
            for ((&tag, place), into) in line.iter().zip(places).zip(&mut line_by_line) {
                *into = score(tag, place);
            }
        }
        for (&tag, into) in rest.iter().zip(line_by_line) {
            *into = score(tag, place(tag));
        }
        let into = &mut into[..scored];
        if let [size] = sizes {
            let by_byte = 1.0 / (*size).max(1) as f32;
            for score in into {
                *score *= by_byte;
            }
        } else {
            for (score, &size) in into.iter_mut().zip(sizes) {
                *score /= size.max(1) as f32;
            }
        }
        true
    }

    fn learns(&self) -> Option<Lessons> {
        Some(Lessons::Lifetimes)
    }

    fn renewed(&self, learnt: &Learnt) -> Option<Arc<dyn Rank>> {
        learnt.lifetimes.clone().map(|ranks| ranks as _)
    }
}
