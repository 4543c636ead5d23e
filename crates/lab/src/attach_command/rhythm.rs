//! The recipe for a memcached's classes, and the rhythm of watching.

use anyhow::bail;
use base::Micros;
use tune::{Recipe, recipe};

/// Length of a window, and the time from the start of one window to that of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rhythm {
    pub(super) window: Micros,
    pub(super) every: Micros,
}

/// Share of the pages that an epoch may move, unless the recipe allows more. An epoch of an
/// attached pilot is a window, a minute apart from the next. So it may move more than an epoch of a
/// second may, and there is time for ten pages a second.
const MOVE_MAX: f64 = 0.25;
/// Least gain that a plan must promise. A page that moves costs the server its items, or the work
/// to move them, and the curves of a burst are noisy.
const GAIN_MIN: f64 = 0.05;

/// Parses the recipe for the classes of a memcached. Returns it with the rhythm of watching.
pub(super) fn classes(
    text: &str,
    window: Micros,
    every: Option<Micros>,
) -> anyhow::Result<(Recipe, Rhythm)> {
    let mut recipe = recipe::parse(text).map_err(anyhow::Error::msg)?;
    if !recipe.pools.needs_pages() {
        let known = recipe::ALL.iter().filter(|recipe| recipe.pools.needs_pages());
        let known: Vec<_> = known.map(|recipe| recipe.name).collect();
        bail!(
            "recipe {} does not divide pages among size classes: choose one of {}",
            recipe.name,
            known.join(", ")
        );
    }
    let counts = recipe.model.is_none();
    let default = Micros::from_secs(if counts { 1 } else { 60 });
    let window = if counts { every.unwrap_or(default) } else { window };
    if window < Micros::from_millis(100) {
        bail!("a window lasts at least 100ms: write --window 10s");
    }
    let every = every.unwrap_or(default).max(window);
    let says = |name: &str| text.split(':').any(|part| part.split('=').next() == Some(name));
    if !says("interval") {
        (recipe.epoch, recipe.interval, recipe.turnover) = (window, 0, false);
    }
    recipe.seen_in_parts = true;
    if !says("move") {
        recipe.move_max = recipe.move_max.max(MOVE_MAX);
    }
    if !says("gain") && !counts {
        recipe.gain_min = recipe.gain_min.max(GAIN_MIN);
    }
    Ok((recipe, Rhythm { window, every }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_of_classes_keep_what_is_said() {
        let of = |text, every| classes(text, Micros::from_secs(10), every);
        let (lama, rhythm) = of("lama", None).unwrap();
        assert_eq!((lama.epoch, lama.interval, lama.gain_min), (rhythm.window, 0, GAIN_MIN));
        assert_eq!(rhythm.every, Micros::from_secs(60));
        let (lama, _) = of("lama:gain=0.005:move=0.01:interval=7", None).unwrap();
        assert_eq!((lama.gain_min, lama.move_max, lama.interval), (0.005, 0.01, 7));
        let (_, rhythm) = of("rankcache:planner=psa", None).unwrap();
        let second = Micros::from_secs(1);
        assert_eq!(rhythm, Rhythm { window: second, every: second });
        let (_, rhythm) = of("lama", Some(second)).unwrap();
        assert_eq!(rhythm.every, rhythm.window, "windows do not overlap");
        let error = of("kredis", None).unwrap_err().to_string();
        assert!(error.contains("lama, rankcache"), "{error}");
    }
}
