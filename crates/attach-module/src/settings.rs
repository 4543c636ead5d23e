//! The settings of the module, as lines of the server's configuration and by CONFIG SET.
//!
//! | `larder.act` | `no`: observe only; `yes`: carry plans out |
//! | `larder.recipe` | `static`, `dlru`, `kredis`, `predis` or `auto`, with changed settings |
//! | `larder.tenants` | the lines of the tenants, apart by `;` |

use crate::{learn, tenants};
use tune::recipe;
use tune::tenant::TenantConfig;
use tune::{Evictor, Recipe};

/// The default recipe.
pub(crate) const RECIPE: &str = "auto";

/// The choices of `maxmemory-samples` in a server that keeps good candidates whatever K is.
const POOLED: &[Evictor] = &[
    Evictor::klru_pool(5),
    Evictor::klru_pool(1),
    Evictor::klru_pool(2),
    Evictor::klru_pool(10),
    Evictor::klru_pool(16),
];

/// The policies of `auto`: the rank, and the server's own eviction if the rank is worse. The server
/// keeps good candidates, as `klru:pool=16` does.
const RANKED: &[Evictor] = &[Evictor::gittins(64), Evictor::klru_pool(5)];

/// The values of the settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) act: bool,
    pub(crate) recipe: Recipe,
    pub(crate) tenants: Vec<TenantConfig>,
    /// Rises with every change.
    pub(crate) generation: u64,
}

/// The recipe with the policies that a stock server can follow, if it ranks keys.
fn ranked(recipe: Recipe) -> Recipe {
    if learn::ranks(&recipe) { Recipe { evictors: RANKED, ..recipe } } else { recipe }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            act: false,
            recipe: recipe::parse(RECIPE).map_or(*recipe::ALL[0], ranked),
            tenants: vec![],
            generation: 1,
        }
    }
}

impl Settings {
    /// Sets the recipe, which this server must be able to follow.
    ///
    /// # Errors
    /// A sentence that names the fix.
    pub(crate) fn set_recipe(&mut self, text: &str) -> Result<(), String> {
        let found = recipe::parse(text)?;
        let is_k = |evictor: &Evictor| evictor.policy == "klru";
        let is_ranked = learn::ranks(&found);
        if found.pools.needs_pages() || !is_ranked && !found.evictors.iter().all(is_k) {
            return Err(format!(
                "recipe {} needs Larder's own store: choose static, dlru, kredis, predis or auto",
                found.name
            ));
        }
        self.recipe = ranked(found);
        let ks = |evictors: &[Evictor]| evictors.iter().map(|one| one.k).collect::<Vec<_>>();
        if found.pools.is_single() && ks(found.evictors) == ks(POOLED) {
            self.recipe.evictors = POOLED;
        }
        self.generation += 1;
        Ok(())
    }

    /// Sets the tenants.
    ///
    /// # Errors
    /// A sentence with the expected form.
    pub(crate) fn set_tenants(&mut self, text: &str) -> Result<(), String> {
        self.tenants = tenants::parse(text)?;
        self.generation += 1;
        Ok(())
    }

    /// The tenants as text, in the form of the setting.
    pub(crate) fn tenants_text(&self) -> String {
        let lines: Vec<_> = self.tenants.iter().map(ToString::to_string).collect();
        lines.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_read_back() {
        let mut settings = Settings::default();
        let text = "web match prefix web: min 1mb; jobs match db 1 weight 2";
        settings.set_tenants(text).unwrap();
        assert_eq!(settings.tenants_text(), text);
        settings.set_tenants("tenant web match db 1;").unwrap();
        assert_eq!(settings.tenants_text(), "web match db 1");
        settings.set_tenants("").unwrap();
        assert!(settings.tenants.is_empty());
    }

    #[test]
    fn what_this_server_cannot_do_is_refused() {
        let mut settings = Settings::default();
        for recipe in ["lama", "rankcache"] {
            assert!(settings.set_recipe(recipe).unwrap_err().contains("choose static"), "{recipe}");
        }
        for recipe in ["static", "dlru", "kredis:epoch=2", "predis", "auto"] {
            settings.set_recipe(recipe).unwrap();
        }
        for (tenants, fix) in [
            ("web match user bob", "match prefix P"),
            ("web match prefix 'a", "close it"),
            ("web", "matches nothing"),
            ("a match db 1; a match db 2", "into one"),
        ] {
            assert!(settings.set_tenants(tenants).unwrap_err().contains(fix), "{tenants}");
        }
    }
}
