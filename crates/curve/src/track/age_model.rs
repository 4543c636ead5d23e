//! A model that computes its curve from the ages of objects.

use base::{Access, Bytes};

use super::Ages;
use crate::{MissRatioCurve, Model, ModelCounts, Params, Remembered};

#[derive(Debug)]
pub(crate) struct AgeModel {
    ages: Ages,
    params: Params,
    draw: fn(&Ages, &Params) -> MissRatioCurve,
}

impl AgeModel {
    pub(crate) fn new(params: &Params, draw: fn(&Ages, &Params) -> MissRatioCurve) -> Self {
        Self { ages: Ages::new(params), params: params.clone(), draw }
    }
}

impl Model for AgeModel {
    #[inline]
    fn access(&mut self, access: &Access) {
        self.ages.access(access);
    }

    fn skip(&mut self, gets: u64) {
        self.ages.skip(gets);
    }

    fn curve(&self) -> MissRatioCurve {
        (self.draw)(&self.ages, &self.params)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.ages.bytes() as u64)
    }

    fn forget(&mut self, factor: f64) {
        self.ages.forget(factor);
    }

    fn rate(&self) -> f64 {
        self.ages.rate()
    }

    fn lower(&mut self, rate: f64) -> bool {
        self.ages.lower(rate);
        true
    }

    fn counted(&self) -> Option<ModelCounts> {
        Some(ModelCounts::Ages(self.ages.counted()))
    }

    fn take(&mut self, counts: &ModelCounts) -> bool {
        match counts {
            ModelCounts::Ages(counts) => self.ages.take(counts),
            ModelCounts::Distances(_) => false,
        }
    }

    fn remembered(&self) -> Option<Remembered> {
        Some(self.ages.remembered())
    }

    fn remember(&mut self, remembered: &Remembered) -> bool {
        self.ages.remember(remembered)
    }
}
