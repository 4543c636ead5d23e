//! The pilot of a cache in process, and the state that it holds between two ticks.

use live::{Known, Live};
use store::{Now, Store};
use tune::{Pilot, Recipe};

/// The pilot, the store as the pilot steers it, and the parts as the pilot knows them.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) pilot: Pilot,
    live: Live,
    known: Vec<Known>,
}

impl Loop {
    /// Starts the pilot with a recipe.
    pub(crate) fn new(recipe: Recipe, seed: u64, names: &[String], store: &Store) -> Self {
        let mut live = Live::default();
        live.follow(store, &recipe);
        let known = names.iter().map(|name| Known::named(name)).collect();
        Self { pilot: Pilot::new(recipe, seed), live, known }
    }

    /// Runs one tick of the pilot, and at the end of an epoch the plan that follows.
    pub(crate) fn tick(&mut self, store: &Store, now: Now) {
        let Self { pilot, live, known } = self;
        live::tick(pilot, &mut live.on(store, known, now));
    }
}
