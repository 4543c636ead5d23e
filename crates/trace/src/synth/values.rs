//! The values of a generator's parameters.

use super::{COMMON, Distribution, Param};
use base::Bytes;

/// The values of a generator's parameters, as text.
#[derive(Clone, Debug)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    /// The defaults of a generator with these parameters of its own.
    pub(super) fn of(params: &[Param]) -> Self {
        let own = params.iter();
        let common = COMMON.iter().filter(|c| params.iter().all(|own| own.name != c.name));
        Self(own.chain(common).map(|param| (param.name, param.default.to_owned())).collect())
    }

    /// Sets a parameter; `key_size` means `key-size`.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let name = name.replace('_', "-");
        let known = |values: &Self| {
            let known: Vec<_> = values.0.iter().map(|(n, value)| format!("{n}={value}")).collect();
            known.join(", ")
        };
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, held)) => value.clone_into(held),
            None => {
                return Err(format!("no parameter '{name}': the parameters are {}", known(self)));
            }
        }
        Ok(())
    }

    /// The value as text; empty for a parameter that the generator does not list.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(n, _)| *n == name).map_or("", |(_, value)| value)
    }

    /// A whole number; `10k` and `2m` are thousands and millions.
    pub fn number(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name);
        let scaled = || Bytes::parse(text).ok().map(|bytes| bytes.0);
        text.parse()
            .ok()
            .or_else(scaled)
            .ok_or_else(|| format!("{name}={text}: write a whole number, such as 1000, 10k or 2m"))
    }

    /// A whole number above zero.
    pub fn count(&self, name: &str) -> Result<u64, String> {
        match self.number(name)? {
            0 => Err(format!("{name}=0: write at least 1")),
            count => Ok(count),
        }
    }

    /// A number not below `least`.
    pub fn at_least(&self, name: &str, least: f64) -> Result<f64, String> {
        let text = self.text(name);
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= least => Ok(value),
            _ if least == f64::MIN_POSITIVE => {
                Err(format!("{name}={text}: write a number above 0"))
            }
            _ => Err(format!("{name}={text}: write a number of at least {least}")),
        }
    }

    /// A number from 0 to 1.
    pub fn share(&self, name: &str) -> Result<f64, String> {
        match self.at_least(name, 0.0) {
            Ok(share) if share <= 1.0 => Ok(share),
            _ => Err(format!("{name}={}: write a share from 0 to 1", self.text(name))),
        }
    }

    /// A distribution.
    pub fn distribution(&self, name: &str) -> Result<Distribution, String> {
        Distribution::parse(self.text(name)).map_err(|problem| format!("{name}: {problem}"))
    }
}
