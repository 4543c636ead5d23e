//! Recipes: the choices of observation, model, planner and steps, as values of a few lines.
//!
//! The loop is general, and a recipe configures it. If a recipe needed a branch of its own anywhere
//! else, the loop would not be general enough.

use crate::observe::ClassKind;
use crate::{Evictor, Objective};
use base::Micros;
use std::fmt;

/// The division of tenants' items into pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pools {
    /// One pool for all tenants.
    Whole,
    /// A pool for each tenant.
    Tenant,
    /// A pool for each class of penalties, over all tenants.
    Class,
    /// A pool for each class of sizes of each tenant, if memory is divided in pages.
    Slab,
}

impl Pools {
    /// The division of a tenant's items into classes.
    pub(crate) const fn classes(self) -> ClassKind {
        match self {
            Self::Whole | Self::Tenant => ClassKind::None,
            Self::Class => ClassKind::Penalties,
            Self::Slab => ClassKind::Sizes,
        }
    }
}

/// A configuration of the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// The name used in configuration and reports.
    pub name: &'static str,
    /// The division into pools.
    pub pools: Pools,
    /// Name of the model that watches each pool, one per policy in `evictors`; `None` switches the
    /// tap off.
    pub model: Option<&'static str>,
    /// Name of the model that draws a curve of each tenant for people, if tenants share a pool.
    pub curves: Option<&'static str>,
    /// The possible policies of a pool; it begins with the first.
    pub evictors: &'static [Evictor],
    /// Name of the planner that divides the memory.
    pub planner: &'static str,
    /// The objective that a plan minimises.
    pub objective: Objective,
    /// Time between plans.
    pub epoch: Micros,
    /// Reads between plans; zero for plans by time.
    pub interval: u64,
    /// Whether the turnover of the pools sets the time between plans, with `interval` as its
    /// maximum: see [`crate::slab::turnover`].
    pub turnover: bool,
    /// Pages in a unit of a plan, if memory is divided in pages.
    pub grain: u64,
    /// Share of the keys to watch; without a value, as many as there is time for.
    pub rate: Option<f64>,
    /// The least share of the present cost that a plan must promise to save. Below about a percent
    /// the noise of the curves alone promises that much. Without a bound the planner itself judges
    /// noise.
    pub gain_min: f64,
    /// The least share of the cost that another policy must save to replace the present one.
    pub switch_margin: f64,
    /// The most memory that moves in an epoch, as a share of the limit. Moved memory arrives before
    /// the receiver can fill it, so large steps lose hits on both sides.
    pub move_max: f64,
    /// Whether the plant is observed only at intervals. The models then take long to see all items
    /// of a class of sizes, and until then a straight line replaces their curve.
    pub seen_in_parts: bool,
    /// Epochs before a pool may change its policy again: the effect of a change takes a turnover.
    pub cooling_epochs: u32,
    /// Number of epochs in a row in which another policy must be better than the first before it
    /// replaces it.
    pub patience_epochs: u32,
    /// Weight that earlier counts of the models keep at each epoch. Nearer to one the curves are
    /// smoother and later; at zero each epoch is independent.
    pub keep: f64,
}

impl Recipe {
    /// Whether the recipe observes the cache at all. Without a model it leaves the cache plain,
    /// unless it uses the counts of slab classes.
    pub fn steers(&self) -> bool {
        self.model.is_some() || self.pools == Pools::Slab
    }

    /// Whether pages go to the class whose victims have the highest worth.
    pub fn balances_ranks(&self) -> bool {
        self.planner == crate::planner::rank_balance::SPEC.name
    }

    /// Whether tenants that share its pool have prices: the price of a tenant's waiting is then a
    /// factor of the rank.
    pub fn has_prices(&self) -> bool {
        self.pools == Pools::Whole && self.evictors[0].is_priced()
    }

    /// Whether it keeps promises to tenants, by the price of their waiting or by memory.
    pub fn keeps_promises(&self) -> bool {
        self.has_prices() || self.planner == crate::planner::qos::SPEC.name
    }

    /// The common values of recipes, so that each names only its differences.
    const COMMON: Self = Self {
        name: "",
        pools: Pools::Whole,
        model: None,
        curves: None,
        evictors: &[Evictor::klru_pool(5)],
        planner: "nothing",
        objective: Objective::Latency,
        epoch: Micros::from_secs(1),
        interval: 0,
        turnover: false,
        grain: 1,
        rate: None,
        gain_min: 0.01,
        switch_margin: 0.01,
        move_max: 0.125,
        seen_in_parts: false,
        cooling_epochs: 3,
        patience_epochs: 0,
        keep: 0.85,
    };
}

macro_rules! recipes {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every recipe, in the order of reports.
        pub const ALL: &[&Recipe] = &[$(&$name::RECIPE,)*];
    };
}

recipes! { auto, r#static, dlru, kredis, predis, lama, rankcache }

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
            return Err(format!("'{text}': {name} is said twice: say it once"));
        }
        said.push(name);
        let number = |low: f64, high: f64| {
            let number = value.parse::<f64>().ok().filter(|n| (low..=high).contains(n));
            number.ok_or_else(|| format!("'{part}': {name} is a number from {low} to {high}"))
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
                    "'{part}' is not a setting of a recipe: \
                     there are objective, model, k, planner, epoch, interval, grain, rate, \
                     gain, move and keep"
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
            ("kredis:epoch=never", "epoch is a number"),
            ("kredis:epoch=-1", "epoch is a number"),
            ("kredis:gain=NaN", "gain is a number"),
            ("dlru:rate=2", "rate is a number"),
            ("kredis:colour=red", "objective, model"),
            ("static:model=krr", "not a setting"),
            ("kredis:model=guess", "kaet"),
            ("kredis:k=7", "8"),
            ("kredis:epoch=1:epoch=2", "epoch is said twice"),
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
