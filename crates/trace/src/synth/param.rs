//! The parameters of generators.

/// A parameter of a generator.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name used on the command line.
    pub name: &'static str,
    /// The default value.
    pub default: &'static str,
    /// The meaning, in one line.
    pub about: &'static str,
}

impl Param {
    pub(super) const fn new(
        name: &'static str,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, default, about }
    }
}

/// The parameters of every generator.
pub const COMMON: &[Param] = &[
    Param::new("requests", "1000000", "number of requests"),
    Param::new("seed", "1", "the same seed gives the same trace"),
    Param::new("rate", "1000", "requests per second"),
    Param::new("arrivals", "constant", "constant gaps, or poisson"),
    Param::new("size", "const/512", "bytes of a value: a distribution, one draw for each object"),
    Param::new(
        "key-size",
        "const/0",
        "minimum bytes of a key: a distribution; keys are padded to it",
    ),
    Param::new(
        "penalty",
        "const/0",
        "cost of a miss in microseconds: a distribution over the objects",
    ),
    Param::new("ttl", "const/0", "time to live in seconds: a distribution over the objects"),
    Param::new("set", "0", "share of the requests that write"),
    Param::new("delete", "0", "share of the requests that delete"),
    Param::new("tenant", "0", "number of the tenant"),
    Param::new("prefix", "", "start of every key"),
];
