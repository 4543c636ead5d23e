//! The syntax of a policy's name: `lru`, `klru:16`, `klru:k=16:pool=16`, `lru+adaptsize`.

use crate::param::defaults;
use crate::{ALL, Choice, Param, Spec, admit};

/// Reads a policy's name and parameters, with a filter before or behind a `+`. Case, hyphens and
/// underscores make no difference.
///
/// # Errors
/// A sentence that names the known policies, filters or parameters.
pub fn parse(text: &str) -> Result<Choice, String> {
    let mut choice: Option<Choice> = None;
    let mut filter = None;
    for part in text.trim().split('+') {
        let (name, params) = part.split_once(':').map_or((part, None), |(n, p)| (n, Some(p)));
        if let Some(spec) = admit::ALL.iter().copied().find(|spec| same(spec.name, name)) {
            let values = read_params(spec.name, spec.params, params)?;
            if filter.replace((spec, values)).is_some() {
                return Err(format!("'{text}' has two admission filters: keep one"));
            }
        } else {
            let spec = find(name)?;
            let values = read_params(spec.name, spec.params, params)?;
            if choice.replace(Choice { spec, values, filter: None }).is_some() {
                return Err(format!("'{text}' has two policies: separate them with a comma"));
            }
        }
    }
    let mut choice = choice.ok_or_else(|| {
        format!("'{text}' is only an admission filter: name a policy before it, as in lru+{text}")
    })?;
    choice.filter = filter;
    Ok(choice)
}

/// The policy with this name.
fn find(name: &str) -> Result<&'static Spec, String> {
    let wanted = if same(name, "twoq") { "2q" } else { name };
    ALL.iter().copied().find(|spec| same(spec.name, wanted)).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        let filters: Vec<_> = admit::ALL.iter().map(|spec| spec.name).collect();
        format!(
            "unknown policy '{name}': choose one of {}, with +{} if you want an admission filter",
            known.join(", "),
            filters.join(" or +")
        )
    })
}

/// Whether two names differ only in case, hyphens and underscores.
fn same(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.trim().to_ascii_lowercase().replace(['-', '_'], "");
    plain(a) == plain(b)
}

fn read_params(name: &str, params: &[Param], text: Option<&str>) -> Result<Vec<f64>, String> {
    let mut values = defaults(params);
    let mut said = vec![false; params.len()];
    for (place, part) in text.into_iter().flat_map(|text| text.split(':')).enumerate() {
        let (at, value) = match part.split_once('=') {
            Some((name, value)) => (params.iter().position(|param| param.name == name), value),
            None => (Some(place), part),
        };
        let Some((at, param)) = at.and_then(|at| Some((at, params.get(at)?))) else {
            let known: Vec<_> = params.iter().map(Param::to_string).collect();
            return Err(format!(
                "'{part}' is not a parameter of {name}, which has {}",
                if known.is_empty() { "none".into() } else { known.join(", ") }
            ));
        };
        values[at] = param.read(value).map_err(|error| format!("{name}: {error}"))?;
        if std::mem::replace(&mut said[at], true) {
            return Err(format!("{name}: {} is given twice: give it once", param.name));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Bytes;

    #[test]
    fn names_are_read_back() {
        for text in [
            "lru",
            "klru",
            "klru:k=16",
            "klru:pool=16",
            "klru:k=1:pool=16",
            "lru+adaptsize",
            "klru:k=16+tinylfu",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("klru:16").unwrap().to_string(), "klru:k=16");
        assert_eq!(parse("adaptsize+LRU").unwrap().to_string(), "lru+adaptsize");
        for (text, name) in [("twoq", "2q"), ("S3-FIFO", "s3fifo"), ("wtinylfu", "w-tinylfu")] {
            assert_eq!(parse(text).unwrap().to_string(), name);
        }
    }

    #[test]
    fn what_is_not_known_is_answered_with_what_is() {
        for (text, answer) in [
            ("lfru", "klru"),
            ("klru:q=3", "k=5"),
            ("klru:-3", "k must be a whole number from 1 to 65536"),
            ("klru:nan", "from 1 to 65536"),
            ("klru:2.5", "a whole number"),
            ("klru:", "from 1 to 65536"),
            ("klru:5:3:1", "pool=0 (0 to 1024)"),
            ("klru:5:k=7", "k is given twice"),
            ("klru:k=5:k=5", "k is given twice"),
            ("2q:in=1.5", "in must be a number from 0 to 1"),
            ("lru+adaptsize:0", "from 1 to 1000000000"),
            ("lru:3", "none"),
            ("adaptsize", "lru+adaptsize"),
            ("lru+fifo", "comma"),
            ("lru+tinylfu+adaptsize", "keep one"),
            ("", "choose one of"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(answer), "{text}: {error}");
        }
    }

    /// A policy must work with every value inside a parameter's range. Any other value is refused
    /// with an error that names the range.
    #[test]
    fn every_parameter_has_its_range() {
        let filters = admit::ALL.iter().map(|spec| (format!("lru+{}", spec.name), spec.params));
        let policies = ALL.iter().map(|spec| (spec.name.to_owned(), spec.params));
        for (name, params) in policies.chain(filters) {
            for Param { name: param, default, range: (low, high), .. } in params {
                for value in [low, default, high] {
                    let choice = parse(&format!("{name}:{param}={value}")).unwrap();
                    let mut cache = crate::Cache::new(&choice, Bytes(10), 1);
                    for key in 0..100 {
                        cache.access(&crate::Access::get(key % 13, 1));
                    }
                    assert!(cache.used() <= Bytes(10), "{name}:{param}={value}");
                }
                for value in [low - 1.0, high + 1.0] {
                    let error = parse(&format!("{name}:{param}={value}")).unwrap_err();
                    assert!(error.contains(&format!("from {low} to {high}")), "{error}");
                }
            }
        }
    }

    #[test]
    fn every_name_is_its_own() {
        for spec in ALL {
            assert_eq!(parse(spec.name).unwrap().spec.name, spec.name);
        }
    }
}
