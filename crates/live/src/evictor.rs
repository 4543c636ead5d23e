//! Turns the policy of a step into a policy of the store.

use store::Evictor;

/// The store's form of a step's policy.
///
/// # Panics
/// If the policy has no live form; recipes name no such policy.
pub fn evictor(step: tune::Evictor) -> Evictor {
    let live = policy::parse(&step.to_string()).and_then(|choice| choice.evictor());
    live.unwrap_or_else(|error| panic!("a recipe's policy has a live form: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recipe with a policy that the store cannot follow would be another recipe there.
    #[test]
    fn every_recipe_flies() {
        for recipe in tune::recipe::ALL {
            for &step in recipe.evictors {
                let live = evictor(step);
                if step.k > 0 {
                    assert_eq!((live.k, live.pool), (step.k, step.pool), "{}", recipe.name);
                }
            }
        }
    }
}
