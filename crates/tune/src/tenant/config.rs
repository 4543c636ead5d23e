//! The configuration of a tenant: the rules for its keys, its bounds and its promise.
//!
//! A line of configuration describes a tenant:
//!
//! ```text
//!   tenant NAME [match db N | prefix P | user U | listener PORT]… [min SIZE] [max SIZE] [weight W]
//!               [penalty auto|hint] [target RATIO|TIME] [priority N]
//! ```
//!
//! A target is a promise: at most this share of the tenant's reads misses (0.2), or their mean wait
//! for misses is at most this long (500us, 2ms). Where memory cannot keep all promises, higher
//! priorities come first.
//!
//! One match suffices, and the first tenant in the order of configuration wins. A key without a
//! match belongs to the tenant `default`, which may have a line of its own without a match. A
//! database or a prefix is a property of the key: all clients find the same items there. A user or
//! a listener is a property of the client: such a tenant has a key space of its own.

use crate::Target;
use base::{Bytes, TenantId};
use std::fmt;

/// The number of the tenant for all keys without a match.
pub const DEFAULT: TenantId = 0;
/// The name of that tenant.
pub const DEFAULT_NAME: &str = "default";

/// A rule by which a key, or a client, belongs to a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Keys of a database.
    Db(u32),
    /// Keys that begin with these bytes.
    Prefix(Vec<u8>),
    /// All requests of a user.
    User(String),
    /// All requests through a port.
    Listener(u16),
}

/// The configuration of a tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantConfig {
    /// Its name in reports and configuration.
    pub name: String,
    /// Its rules; one match suffices.
    pub matches: Vec<Match>,
    /// Bytes that no other tenant may take from it.
    pub min: Bytes,
    /// Bytes that it never exceeds.
    pub max: Option<Bytes>,
    /// Weight of its misses against the misses of others.
    pub weight: f64,
    /// Whether its penalties come from its clients' hints, and not from measurements.
    pub hinted: bool,
    /// The miss ratio, or the mean wait, that it is promised.
    pub target: Option<Target>,
    /// Its priority: promises of higher priority are kept first.
    pub priority: u32,
}

impl TenantConfig {
    /// The tenant for all keys without a match, without bounds.
    pub fn fallback() -> Self {
        Self {
            name: DEFAULT_NAME.into(),
            matches: vec![],
            min: Bytes(0),
            max: None,
            weight: 1.0,
            hinted: false,
            target: None,
            priority: 0,
        }
    }

    /// Reads the words after `tenant`.
    ///
    /// # Errors
    /// A sentence with the expected form.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let [name, rest @ ..] = words else { return Err(form("a tenant needs a name")) };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(form(&format!(
                "'{name}' is not a valid name: use letters, digits and any of : - _ ."
            )));
        }
        let mut tenant = Self { name: name.clone(), ..Self::fallback() };
        let (mut rest, mut seen) = (rest.iter(), vec![]);
        while let Some(word) = rest.next() {
            let known = word.to_ascii_lowercase();
            let is_rule = ["match", "db", "prefix", "user", "listener"].contains(&&*known);
            if !is_rule && seen.contains(&known) {
                return Err(form(&format!("'{word}' is given twice")));
            }
            let mut value =
                |what: &str| rest.next().ok_or_else(|| form(&format!("'{word}' needs a {what}")));
            match known.as_str() {
                // `match` may be repeated, and may be left out between two matches.
                "match" => {}
                "db" => {
                    let db = value("number")?;
                    let db = db
                        .parse()
                        .map_err(|_| form(&format!("'{db}' is not a database number")))?;
                    tenant.matches.push(Match::Db(db));
                }
                "prefix" => tenant.matches.push(Match::Prefix(value("prefix")?.clone().into())),
                "user" => tenant.matches.push(Match::User(value("name")?.clone())),
                "listener" => {
                    let port = value("port")?;
                    let port =
                        port.parse().map_err(|_| form(&format!("'{port}' is not a port")))?;
                    tenant.matches.push(Match::Listener(port));
                }
                "min" => tenant.min = Bytes::parse(value("size")?)?,
                "max" => tenant.max = Some(Bytes::parse(value("size")?)?).filter(|max| max.0 > 0),
                "weight" => {
                    let weight = value("number")?;
                    tenant.weight = match weight.parse::<f64>() {
                        Ok(number) if number > 0.0 && number.is_finite() => number,
                        _ => return Err(form(&format!("'{weight}' is not a number above 0"))),
                    };
                }
                "penalty" => {
                    tenant.hinted = match value("word, auto or hint")?.to_ascii_lowercase().as_str()
                    {
                        "auto" => false,
                        "hint" => true,
                        other => {
                            return Err(form(&format!("'{other}' is not auto or hint")));
                        }
                    };
                }
                "target" => tenant.target = Some(target(value("miss ratio or time")?)?),
                "priority" => {
                    let number = value("number")?;
                    let read = number.parse();
                    tenant.priority =
                        read.map_err(|_| form(&format!("'{number}' is not a priority")))?;
                }
                _ => return Err(form(&format!("'{word}' is unknown"))),
            }
            seen.push(known);
        }
        if let Some(max) = tenant.max
            && max < tenant.min
        {
            let min = tenant.min;
            return Err(format!(
                "tenant {name} has max {max} below its min {min}: raise the one or lower the other"
            ));
        }
        if name != DEFAULT_NAME && tenant.matches.is_empty() {
            return Err(form(&format!("tenant {name} matches nothing")));
        }
        Ok(tenant)
    }

    /// Whether only certain clients find some of its items.
    pub fn is_private(&self) -> bool {
        self.matches.iter().any(|rule| matches!(rule, Match::User(_) | Match::Listener(_)))
    }
}

fn form(what: &str) -> String {
    format!(
        "{what}: write tenant NAME match db N, prefix P, user U or listener PORT, then min SIZE, \
         max SIZE, weight W, penalty auto or hint, target RATIO or TIME, priority N as needed"
    )
}

/// Reads the target of a promise: a miss ratio, or a time.
fn target(word: &str) -> Result<Target, String> {
    let number = |text: &str, most: f64| {
        text.parse::<f64>().ok().filter(|&number| number > 0.0 && number < most)
    };
    let text = word.to_ascii_lowercase();
    let found = if let Some(text) = text.strip_suffix("us") {
        number(text, 1e12).map(Target::MeanUs)
    } else if let Some(text) = text.strip_suffix("ms") {
        number(text, 1e9).map(|ms| Target::MeanUs(1e3 * ms))
    } else if let Some(percent) = text.strip_suffix('%') {
        number(percent, 100.0).map(|percent| Target::MissRatio(percent / 100.0))
    } else {
        number(&text, 1.0).map(Target::MissRatio)
    };
    let fix = "is not a target: write a miss ratio such as 20% or 0.2, or a mean wait such as 2ms";
    found.ok_or_else(|| form(&format!("'{word}' {fix}")))
}

impl fmt::Display for Match {
    /// The words after `match`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Db(db) => write!(f, "db {db}"),
            Self::Prefix(prefix) => {
                write!(f, "prefix {}", super::quoted(&String::from_utf8_lossy(prefix)))
            }
            Self::User(user) => write!(f, "user {}", super::quoted(user)),
            Self::Listener(port) => write!(f, "listener {port}"),
        }
    }
}

impl fmt::Display for TenantConfig {
    /// The words after `tenant`, in the form that `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for rule in &self.matches {
            write!(f, " match {rule}")?;
        }
        if self.min.0 > 0 {
            write!(f, " min {}", self.min.written())?;
        }
        if let Some(max) = self.max {
            write!(f, " max {}", max.written())?;
        }
        if self.weight != 1.0 {
            write!(f, " weight {}", self.weight)?;
        }
        if self.hinted {
            f.write_str(" penalty hint")?;
        }
        match self.target {
            Some(Target::MissRatio(ratio)) => write!(f, " target {ratio}")?,
            Some(Target::MeanUs(time)) => write!(f, " target {time}us")?,
            None => {}
        }
        if self.priority > 0 {
            write!(f, " priority {}", self.priority)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<TenantConfig, String> {
        TenantConfig::parse(&super::super::words(line))
    }

    #[test]
    fn a_line_prints_as_it_is_read() {
        for line in [
            "web match db 3",
            "web match prefix user: match prefix \"a b\" min 1mb max 2mb weight 2.5",
            "team match user alice match listener 7001",
            "default min 100",
            "told match db 1 penalty hint",
            "kept match db 1 target 0.2 priority 3",
            "quick match db 1 target 500us",
        ] {
            assert_eq!(parse(line).unwrap().to_string(), line);
        }
        assert_eq!(
            parse("w db 1 prefix a:").unwrap(),
            parse("w match db 1 match prefix a:").unwrap()
        );
        assert_eq!(parse("w db 1 target 5%").unwrap(), parse("w db 1 target 0.05").unwrap());
        assert_eq!(parse("w MATCH DB 1 MIN 1mb").unwrap().min, Bytes::MIB);
    }

    #[test]
    fn a_wrong_line_is_told_what_to_write() {
        for line in [
            "",
            "web",
            "web match",
            "web match db x",
            "web match prefix",
            "web match colour red",
            "web match db 1 min 2mb max 1mb",
            "web match db 1 weight 0",
            "web match db 1 target 1.5",
            "web match db 1 target 150%",
            "web match db 1 target soon",
            "web match db 1 priority high",
            "web match db 1 min 1mb MIN 2mb",
            "web match db 1 weight 2 weight 3",
            "'a b' match db 1",
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains("write ") || error.contains("raise"), "{line}: {error}");
        }
    }
}
