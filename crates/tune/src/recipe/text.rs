//! Recipes as text: a name, and the settings that differ from those of the recipe of that name.

use super::{ALL, Recipe};
use crate::{Evictor, Objective};
use base::Micros;
use std::fmt;

impl fmt::Display for Recipe {
    /// The shortest text that [`parse`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.name.to_owned();
        let plain = ALL.iter().find(|recipe| recipe.name == self.name);
        for (name, value) in settings(self) {
            let changed =
                plain.is_none_or(|plain| settings(plain).all(|(n, v)| n != name || v != value));
            if changed {
                text.extend([":", name, "=", &value]);
            }
        }
        f.pad(&text)
    }
}

fn settings(recipe: &Recipe) -> impl Iterator<Item = (&'static str, String)> {
    let k = match recipe.evictors {
        [single] if !single.pool && single.k > 0 => single.k.to_string(),
        _ => String::new(),
    };
    [
        ("objective", recipe.objective.to_string()),
        ("model", recipe.model.unwrap_or_default().to_owned()),
        ("k", k),
        ("planner", recipe.planner.to_owned()),
        ("epoch", format!("{}", recipe.epoch.as_f64() / 1e6)),
        ("interval", recipe.interval.to_string()),
        ("grain", recipe.grain.to_string()),
        ("rate", recipe.rate.map_or(String::new(), |rate| rate.to_string())),
        ("gain", recipe.gain_min.to_string()),
        ("move", recipe.move_max.to_string()),
        ("keep", recipe.keep.to_string()),
    ]
    .into_iter()
}

/// The numbers of candidates that a recipe's text may choose.
static FIXED: [[Evictor; 1]; 6] = [
    [Evictor::klru(1)],
    [Evictor::klru(2)],
    [Evictor::klru(5)],
    [Evictor::klru(8)],
    [Evictor::klru(10)],
    [Evictor::klru(16)],
];

/// Policies that always draw `k` candidates and keep none.
fn fixed(k: &str) -> Result<&'static [Evictor], String> {
    let found = FIXED.iter().find(|evictors| evictors[0].k.to_string() == k);
    found.map(|evictors| &evictors[..]).ok_or_else(|| {
        let known: Vec<_> = FIXED.iter().map(|evictors| evictors[0].k.to_string()).collect();
        format!("k={k}: choose one of {}", known.join(", "))
    })
}

/// Reads a recipe's name and its changed settings: `kredis`, `kredis:model=kaet:k=5`,
/// `kredis:objective=hits:epoch=10:gain=0.02:move=0.05:planner=hull` (epochs in seconds),
/// `dlru:interval=100000:rate=0.01` (intervals in reads).
///
/// # Errors
/// A sentence that names the known recipes or settings.
pub fn parse(text: &str) -> Result<Recipe, String> {
    let mut parts = text.trim().split(':');
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let Some(&&found) = ALL.iter().find(|recipe| recipe.name == name) else {
        let known: Vec<_> = ALL.iter().map(|recipe| recipe.name).collect();
        return Err(format!("unknown recipe '{name}': choose one of {}", known.join(", ")));
    };
    let mut recipe = found;
    let mut said = vec![];
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if said.contains(&name) {
            return Err(format!("'{text}' gives {name} twice: give it once"));
        }
        said.push(name);
        let number = |low: f64, high: f64| {
            let number = value.parse::<f64>().ok().filter(|n| (low..=high).contains(n));
            number.ok_or_else(|| format!("'{part}': {name} must be a number from {low} to {high}"))
        };
        match name {
            "objective" => recipe.objective = Objective::parse(value)?,
            "model" if recipe.model.is_some() => recipe.model = Some(curve::find(value)?.name),
            "k" => recipe.evictors = fixed(value)?,
            "planner" => recipe.planner = crate::planner::find(value)?.name,
            "epoch" => {
                recipe.epoch = Micros((number(0.01, 86_400.0)? * 1e6) as u64);
                recipe.interval = 0;
                recipe.turnover = false;
            }
            "interval" => {
                recipe.interval = number(0.0, 1e15)? as u64;
                recipe.turnover = false;
            }
            "grain" => recipe.grain = number(1.0, 1e6)? as u64,
            "rate" => recipe.rate = Some(number(1e-6, 1.0)?),
            "gain" => recipe.gain_min = number(0.0, 1.0)?,
            "move" => recipe.move_max = number(0.0, 1.0)?,
            "keep" => recipe.keep = number(0.0, 1.0)?,
            _ => {
                return Err(format!(
                    "'{part}' is not a setting of a recipe: choose from objective, model, k, \
                     planner, epoch, interval, grain, rate, gain, move and keep"
                ));
            }
        }
    }
    Ok(recipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for text in [
            "static",
            "kredis",
            "kredis:objective=hits",
            "kredis:model=kaet:k=5",
            "static:k=16",
            "dlru",
            "lama",
            "lama:objective=latency:model=footprint:grain=4",
            "lama:interval=100000:move=0.1",
            "rankcache",
            "rankcache:interval=700",
            "dlru:interval=100000:rate=0.01",
            "dlru:epoch=2:interval=0",
            "kredis:planner=hull:epoch=0.5:gain=0.05:move=0.25",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for (text, names) in [
            ("lama2", "kredis"),
            ("kredis:objective=fame", "hits"),
            ("kredis:epoch=never", "epoch must be a number"),
            ("kredis:epoch=-1", "epoch must be a number"),
            ("kredis:gain=NaN", "gain must be a number"),
            ("dlru:rate=2", "rate must be a number"),
            ("kredis:colour=red", "objective, model"),
            ("static:model=krr", "not a setting"),
            ("kredis:model=guess", "kaet"),
            ("kredis:k=7", "8"),
            ("kredis:epoch=1:epoch=2", "gives epoch twice"),
            ("kredis:planner=oracle", "manual"),
        ] {
            assert!(parse(text).unwrap_err().contains(names), "{text}");
        }
    }

    /// A recipe that names a missing planner, a missing policy or a bad number would fail in the
    /// field.
    #[test]
    fn every_recipe_is_sound() {
        for recipe in ALL {
            crate::planner::find(recipe.planner).unwrap();
            assert!(!recipe.evictors.is_empty() && recipe.evictors.len() < 256);
            for evictor in recipe.evictors {
                policy::parse(&evictor.to_string()).unwrap();
            }
            assert!(recipe.epoch > Micros(0) && (0.0..=1.0).contains(&recipe.keep));
            assert!(recipe.move_max > 0.0 && recipe.move_max <= 1.0);
        }
    }
}
