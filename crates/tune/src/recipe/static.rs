//! A plain cache: one shared pool, five candidates and a pool of sixteen, as in Redis. Nothing is
//! sampled, modelled or moved. The baseline of every experiment.

use super::Recipe;

pub(super) const RECIPE: Recipe = Recipe { name: "static", ..Recipe::COMMON };
