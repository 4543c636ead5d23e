//! Recipes: the choices of observation, model, planner and steps, as values of a few lines.
//!
//! The loop is general, and a recipe configures it. If a recipe needed a branch of its own anywhere
//! else, the loop would not be general enough.

mod definition;
mod pools;
mod text;

pub use definition::Recipe;
pub use pools::Pools;
pub(crate) use pools::WantedPool;
pub use text::parse;

macro_rules! recipes {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every recipe, in the order of reports.
        pub const ALL: &[&Recipe] = &[$(&$name::RECIPE,)*];
    };
}

recipes! { auto, r#static, dlru, kredis, predis, lama, rankcache }
