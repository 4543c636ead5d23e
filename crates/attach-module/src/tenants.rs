//! Tenants in a server that knows none: the owner of each key, the keys of each tenant, and their
//! size.
//!
//! The server itself counts a database whose keys all belong to one tenant. In a database that
//! several share, by prefixes, the module counts births and deaths of keys from the server's
//! events. The tenant of the remaining keys has the server's count less the keys of the others. A
//! census (`census.rs`) finds the keys that existed before, and corrects what events miss.
//!
//! The bytes of a tenant are its keys times the mean size of keys drawn at random. One factor for
//! all tenants makes the sum equal to the size of the server's data.

use crate::ring::Ring;
use base::penalty::Estimate;
use base::{Filter, TenantId};
use policy::rank::gittins::PENALTIES;
use tune::tenant::{DEFAULT, DEFAULT_NAME, Match, Origin, Owners, TenantConfig};

/// Number of draws after which the counts of a mean size are halved.
const DRAWS: f64 = 4_096.0;

/// Bytes of a key beside its name and its value, before the factor: its place in the table, its
/// object, and the headers of two strings.
pub(crate) const OVERHEAD: u64 = 72;

/// Bytes of data from which on the factor of sizes is measured rather than assumed to be 1: where
/// keys hold less, buffers of clients decide what the server has in use, and a burst of requests
/// would look like large keys.
const DATA_KNOWN: f64 = (4 << 20) as f64;

/// A tenant with a smaller share of the keys is drawn from its ring, for random keys of the server
/// rarely belong to it.
const SHARE_MIN: f64 = 0.05;

/// Looks, ten a second, after which a tenant without requests is quiet. The filter of a quiet
/// tenant's models is no reason to look up keys of other tenants.
pub(crate) const QUIET: u32 = 600;

/// A mean that follows its values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    pub(crate) count: f64,
    pub(crate) sum: f64,
}

impl Mean {
    fn add(&mut self, value: f64, count_max: f64) {
        if self.count >= count_max {
            self.count *= 0.5;
            self.sum *= 0.5;
        }
        self.count += 1.0;
        self.sum += value;
    }

    pub(crate) fn get(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// One tenant.
#[derive(Debug)]
pub(crate) struct TrackedTenant {
    pub(crate) config: TenantConfig,
    /// Number of its keys, as far as it is known.
    pub(crate) items: i64,
    /// Number of births and deaths of its keys.
    pub(crate) changes: u64,
    size: Mean,
    /// Reads that found their key. This count and that of writes are estimates.
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) sets: u64,
    /// Keys that the module evicted.
    pub(crate) evicted: u64,
    pub(crate) fetches: Mean,
    /// Fetches by the class of their cost.
    pub(crate) by_class: [Mean; PENALTIES],
    pub(crate) cost: Option<Estimate>,
    /// Keys to draw, if random draws by the server rarely meet the tenant's.
    pub(crate) ring: Ring,
    /// The filter of the keys that the models sample.
    pub(crate) filter: Filter,
    /// Requests at the last look, and the number of looks since that count changed.
    pub(crate) asked: u64,
    pub(crate) quiet: u32,
}

/// All tenants by number.
#[derive(Debug)]
pub(crate) struct Tenants {
    pub(crate) all: Vec<TrackedTenant>,
    /// Rules for the owners of keys, by database.
    owners: Vec<Owners>,
    /// Whether the owner of a key can depend on its database.
    by_db: bool,
    /// Keys of each tenant in databases that several share: by database, then by tenant.
    counted: Vec<Vec<i64>>,
    /// The factor of sizes.
    scale: f64,
    /// Databases that hold keys, with their numbers of keys.
    pub(crate) dbs: Vec<(u16, u64)>,
}

/// Reads lines of tenants, separated by semicolons.
///
/// # Errors
/// A sentence with the expected form.
pub(crate) fn parse(text: &str) -> Result<Vec<TenantConfig>, String> {
    let mut all: Vec<TenantConfig> = vec![];
    for line in text.split([';', '\n']).map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.strip_prefix("tenant ").unwrap_or(line);
        let words = wire::resp::split_line(line.as_bytes())
            .ok_or_else(|| format!("'{line}' has an unclosed quote: close it"))?;
        let words: Vec<_> =
            words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let tenant = TenantConfig::parse(&words)?;
        let name = &tenant.name;
        if tenant.is_private() {
            return Err(format!(
                "tenant {name}: this server does not report a client's user or port: write match \
                 prefix P or match db N"
            ));
        }
        if all.iter().any(|known| known.name == *name) {
            return Err(format!("tenant {name} has two lines: put all its matches into one"));
        }
        all.push(tenant);
    }
    Ok(all)
}

impl Tenants {
    /// The tenants of these lines, in a server with this number of databases.
    pub(crate) fn new(lines: &[TenantConfig], databases: u16, ring: usize) -> Self {
        let mut configs = vec![TenantConfig::fallback()];
        for line in lines {
            if line.name == DEFAULT_NAME {
                configs[usize::from(DEFAULT)] = line.clone();
            } else {
                configs.push(line.clone());
            }
        }
        let number = |name: &str| configs.iter().position(|config| config.name == name);
        let numbered: Vec<(TenantId, &TenantConfig)> = lines
            .iter()
            .map(|line| (number(&line.name).unwrap_or_default() as TenantId, line))
            .collect();
        let owners: Vec<_> = (0..databases.max(1))
            .map(|db| {
                let db = u8::try_from(db).unwrap_or(u8::MAX);
                let origin = Origin { user: None, listener: 0, db };
                Owners::new(numbered.iter().copied(), origin)
            })
            .collect();
        let mut rules = configs.iter().flat_map(|config| &config.matches);
        let count = configs.len();
        let tenant = |config: &TenantConfig| TrackedTenant {
            config: config.clone(),
            items: 0,
            changes: 0,
            size: Mean::default(),
            hits: 0,
            misses: 0,
            sets: 0,
            evicted: 0,
            fetches: Mean::default(),
            by_class: [Mean::default(); PENALTIES],
            cost: None,
            ring: Ring::new(ring / count),
            filter: Filter::NONE,
            asked: 0,
            quiet: QUIET,
        };
        Self {
            all: configs.iter().map(tenant).collect(),
            counted: vec![vec![0; count]; owners.len()],
            owners,
            by_db: rules.any(|rule| matches!(rule, Match::Db(_))),
            scale: 1.0,
            dbs: vec![],
        }
    }

    /// The owner of a key.
    #[inline]
    pub(crate) fn owner(&self, db: u16, key: &[u8]) -> TenantId {
        self.owners.get(usize::from(db)).map_or(DEFAULT, |owners| owners.of(key))
    }

    /// A tenant by its number.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: TenantId) -> Option<&mut TrackedTenant> {
        self.all.get_mut(usize::from(id))
    }

    /// Whether several tenants share a database.
    pub(crate) fn is_shared(&self, db: u16) -> bool {
        self.owners.get(usize::from(db)).is_some_and(|owners| owners.only().is_none())
    }

    /// The databases with keys that several tenants share.
    pub(crate) fn shared(&self) -> impl Iterator<Item = u16> {
        self.dbs.iter().map(|(db, _)| *db).filter(|&db| self.is_shared(db))
    }

    /// Counts the birth or death of a key.
    pub(crate) fn count(&mut self, db: u16, key: &[u8], is_born: bool) {
        let owner = self.owner(db, key);
        let by = if is_born { 1 } else { -1 };
        let is_shared = self.is_shared(db);
        if is_shared && let Some(counts) = self.counted.get_mut(usize::from(db)) {
            counts[usize::from(owner)] += by;
        }
        let is_rest = self.owners.get(usize::from(db)).is_none_or(|o| o.rest() == owner);
        let Some(tenant) = self.get_mut(owner) else { return };
        tenant.items += by;
        tenant.changes += 1;
        if is_shared && is_born && !is_rest {
            tenant.ring.push(db, key, tenant.items as u64);
        }
    }

    /// Notes that one database was emptied, or all.
    pub(crate) fn flushed(&mut self, db: Option<u16>) {
        for (at, counts) in self.counted.iter_mut().enumerate() {
            if db.is_none_or(|db| usize::from(db) == at) {
                counts.fill(0);
            }
        }
        self.dbs.retain(|(at, _)| db.is_some_and(|db| *at != db));
        let dbs = std::mem::take(&mut self.dbs);
        self.recount(dbs);
    }

    /// Replaces the count of a tenant's keys in a database by the result of a census.
    pub(crate) fn correct(&mut self, db: u16, owner: TenantId, keys: i64) {
        if let Some(counts) = self.counted.get_mut(usize::from(db)) {
            counts[usize::from(owner)] = keys;
        }
    }

    /// Keys of a tenant in a shared database, as counted.
    pub(crate) fn counted(&self, db: u16, owner: TenantId) -> i64 {
        self.counted.get(usize::from(db)).map_or(0, |counts| counts[usize::from(owner)])
    }

    /// Counts keys by the server's numbers for its databases.
    pub(crate) fn recount(&mut self, dbs: Vec<(u16, u64)>) {
        self.all.iter_mut().for_each(|tenant| tenant.items = 0);
        for &(db, keys) in &dbs {
            let Some(owners) = self.owners.get(usize::from(db)) else { continue };
            if let Some(only) = owners.only() {
                self.all[usize::from(only)].items += keys as i64;
                continue;
            }
            let (rest, counts) = (owners.rest(), &mut self.counted[usize::from(db)]);
            let mut left = keys as i64;
            for (at, count) in counts.iter_mut().enumerate() {
                if at != usize::from(rest) {
                    *count = (*count).clamp(0, left);
                    left -= *count;
                    self.all[at].items += *count;
                }
            }
            counts[usize::from(rest)] = left;
            self.all[usize::from(rest)].items += left;
        }
        self.dbs = dbs;
    }

    /// Sets the factor of sizes by the bytes of the server's data. Keys must have been drawn
    /// before: a factor for an assumed mean size is wrong once the mean is known.
    pub(crate) fn weigh(&mut self, data: u64) {
        let plain: f64 =
            (0..self.all.len()).map(|at| self.mean(at) * self.all[at].items as f64).sum();
        self.scale = ((data as f64 + DATA_KNOWN) / (plain + DATA_KNOWN)).clamp(0.25, 8.0);
    }

    /// Notes the size of a key that was drawn at random.
    pub(crate) fn drew(&mut self, owner: TenantId, plain: u64) {
        if let Some(tenant) = self.get_mut(owner) {
            tenant.size.add(plain as f64, DRAWS);
        }
    }

    /// The mean size of a tenant's keys before the factor; the mean over all tenants if none was
    /// drawn.
    fn mean(&self, at: usize) -> f64 {
        let all = || {
            let sums = self.all.iter().fold(Mean::default(), |sum, tenant| Mean {
                count: sum.count + tenant.size.count,
                sum: sum.sum + tenant.size.sum,
            });
            sums.get().unwrap_or(OVERHEAD as f64 + 64.0)
        };
        self.all[at].size.get().unwrap_or_else(all)
    }

    /// Bytes of a key whose value has this length; the tenant's mean for `None`.
    pub(crate) fn size(&self, owner: TenantId, key: usize, value: Option<usize>) -> u32 {
        let plain = match value {
            Some(value) => plain_size(key, value) as f64,
            None => self.mean(usize::from(owner).min(self.all.len() - 1)),
        };
        (plain * self.scale) as u32
    }

    /// Bytes that a tenant holds.
    pub(crate) fn used(&self, owner: TenantId) -> f64 {
        let at = usize::from(owner);
        self.all.get(at).map_or(0.0, |tenant| tenant.items.max(0) as f64 * self.each(at))
    }

    /// A tenant that holds more than its `max`, by more than a key.
    pub(crate) fn above_max(&self) -> Option<TenantId> {
        let is_above = |&id: &TenantId| {
            let at = usize::from(id);
            let max = self.all[at].config.max;
            max.is_some_and(|max| self.used(id) > max.as_f64() + self.each(at))
        };
        (0..self.all.len() as TenantId).find(is_above)
    }

    /// Whether a tenant holds less than its `min`.
    pub(crate) fn is_below_min(&self, owner: TenantId) -> bool {
        let min = self.all.get(usize::from(owner)).map_or(0.0, |one| one.config.min.as_f64());
        min > 0.0 && self.used(owner) < min
    }

    /// Mean bytes of a tenant's key.
    pub(crate) fn each(&self, at: usize) -> f64 {
        self.mean(at) * self.scale
    }

    /// The factor of sizes.
    pub(crate) const fn scale(&self) -> f64 {
        self.scale
    }

    /// Whether a tenant's keys should be drawn from its ring.
    pub(crate) fn by_ring(&self, owner: TenantId) -> bool {
        let all = self.dbs.iter().map(|(_, keys)| keys).sum::<u64>();
        let tenant = &self.all[usize::from(owner)];
        !tenant.ring.is_empty() && (tenant.items as f64) < SHARE_MIN * all as f64
    }

    /// The database of all keys, if databases do not decide owners and at most one holds keys.
    pub(crate) fn only_db(&self) -> Option<u16> {
        match self.dbs[..] {
            [] if !self.by_db => Some(0),
            [(db, _)] if !self.by_db => Some(db),
            _ => None,
        }
    }

    /// The databases with keys in which a tenant may have some, each with its number of keys.
    pub(crate) fn dbs_of(&self, owner: TenantId) -> Vec<(u16, u64)> {
        let may = |db: u16| self.owners.get(usize::from(db)).is_some_and(|o| o.has(owner));
        self.dbs.iter().copied().filter(|&(db, keys)| keys > 0 && may(db)).collect()
    }
}

/// Bytes of a key and a value, before the factor.
pub(crate) const fn plain_size(key: usize, value: usize) -> u64 {
    (key + value) as u64 + OVERHEAD
}
