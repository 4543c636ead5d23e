//! Finds the requests for some keys.
//!
//! A sample of one key in a thousand skips nearly all requests, so this code determines the time of
//! sampling a trace. A skipped request matters only by its flags, its place and the number of its
//! fields. The state of a place is one byte, so that the whole table stays in a near cache, and the
//! text of an unwanted key is kept nowhere.

use super::layout::{FIELDS, FLAGS, NEW, NEXT, PENALTY, PLACE, TENANT, TIMES, TTL, VALUE};
use super::read::{ABSENT, Compact, op};
use super::table::{Damage, PLACES, Sifted, place};
use super::varint::unzigzag;
use crate::source::seek_by_reading;
use crate::{Passed, Sought};
use base::{Access, hash};

impl Compact {
    /// [`Source::seek`]: skipped requests are decoded only as far as needed to find the next one.
    pub(super) fn look_for(&mut self, keeps: &mut dyn FnMut(u64) -> bool, most: u64) -> Sought {
        if self.sample.is_some() {
            // A sample would have to report the omissions within the requests that it skips.
            return seek_by_reading(self, keeps, most);
        }
        if self.sifted.is_empty() {
            self.begin_to_sift(keeps);
        }
        let mut passed = Passed::default();
        let found = loop {
            match self.has_more() {
                Ok(true) if passed.requests < most => {}
                Ok(_) => break None,
                Err(error) => break Some(Err(error)),
            }
            match self.sift(keeps, most, &mut passed) {
                Ok(None) => {}
                Ok(Some(access)) => break Some(Ok(access)),
                Err(damage) => break Some(Err(self.damaged(damage))),
            }
        };
        self.read += passed.requests + u64::from(found.is_some());
        Sought { passed, is_over: found.is_none() && self.ended, found }
    }

    /// Goes on within the block to the next request for a wanted key.
    fn sift(
        &mut self,
        keeps: &mut dyn FnMut(u64) -> bool,
        most: u64,
        passed: &mut Passed,
    ) -> Result<Option<Access>, Damage> {
        while self.left > 0 && passed.requests < most {
            let before = self.columns;
            let delta = unzigzag(self.number(TIMES)?);
            let flag = self.plain[self.columns[FLAGS].0];
            self.columns[FLAGS].0 += 1;
            let at =
                if flag & NEW != 0 { self.sift_key(keeps)? } else { self.number(PLACE)? as usize };
            match self.sifted.get(at) {
                Some(Sifted::LeftOut) => {}
                Some(Sifted::Wanted) => {
                    self.columns = before;
                    self.left -= 1;
                    return self.read_access();
                }
                _ => return Err(ABSENT),
            }
            self.time = self.time.wrapping_add(delta as u64);
            for _ in 0..(flag & (VALUE | TENANT | TTL | PENALTY | NEXT)).count_ones() {
                self.number(FIELDS)?;
            }
            passed.count(op(flag)?);
            self.left -= 1;
        }
        Ok(None)
    }

    /// Skips a new object unless it is wanted; returns its place.
    fn sift_key(&mut self, keeps: &mut dyn FnMut(u64) -> bool) -> Result<usize, Damage> {
        let text = self.text()?;
        let key = hash::bytes(0, &self.plain[text]);
        self.number(FIELDS)?;
        let sifted = if keeps(key) { Sifted::Wanted } else { Sifted::LeftOut };
        self.sifted[place(key)] = sifted;
        Ok(place(key))
    }

    /// Notes which objects in the table are wanted.
    fn begin_to_sift(&mut self, keeps: &mut dyn FnMut(u64) -> bool) {
        let known = |at: usize| match self.table.get(at) {
            None => Sifted::Empty,
            Some(recent) if keeps(recent.key) => Sifted::Wanted,
            Some(_) => Sifted::LeftOut,
        };
        self.sifted = (0..PLACES).map(known).collect();
    }
}
