//! The policies that the live store supports.

use crate::{ALL, Choice, Evictor};

impl Choice {
    /// The form of the policy in the live store.
    ///
    /// # Errors
    /// A sentence that says which part the live store does not support.
    pub fn evictor(&self) -> Result<Evictor, String> {
        if self.has_filter() {
            return Err(format!(
                "'{self}': the live store has no admission filter: leave the filter out"
            ));
        }
        if let Some(k) = self.param("k").filter(|&k| k > f64::from(u8::MAX)) {
            return Err(format!("'{self}': the live store draws at most 255 candidates, not {k}"));
        }
        let live = self.spec.live.ok_or_else(|| {
            format!(
                "{} needs an order that the live store does not keep: choose one of {}",
                self.spec.name,
                live_names().join(", ")
            )
        })?;
        Ok(self.with_params(live))
    }
}

/// The names of the policies that have a live form.
pub fn live_names() -> Vec<&'static str> {
    ALL.iter().filter(|spec| spec.live.is_some()).map(|spec| spec.name).collect()
}

#[cfg(test)]
mod tests {
    use super::live_names;
    use crate::parse;

    #[test]
    fn the_live_store_says_what_it_cannot_do() {
        let choice = format!("choose one of {}", live_names().join(", "));
        for (text, answer) in [
            ("arc", "arc needs an order"),
            ("belady", choice.as_str()),
            ("klru+tinylfu", "no admission filter"),
            ("klru:300", "at most 255 candidates"),
        ] {
            let error = parse(text).unwrap().evictor().unwrap_err();
            assert!(error.contains(answer), "{error}");
        }
    }

    #[test]
    fn candidates_are_those_of_the_policy() {
        for (text, k, pool) in [
            ("klru", 5, false),
            ("klru:k=16:pool=16", 16, true),
            ("lhd", 32, false),
            ("random", 1, false),
            ("hyperbolic:cost=1", 64, false),
        ] {
            let evictor = parse(text).unwrap().evictor().unwrap();
            assert_eq!((evictor.k, evictor.pool), (k, pool), "{text}");
            assert_eq!(evictor.rank.is_priced(), text.contains("cost"), "{text}");
        }
    }
}
