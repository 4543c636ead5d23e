//! Compression of a page's items, in two steps under the lock, with zstd between them.
//!
//! ```text
//!   lot       the items of a page that are worth compressing are copied          (locked)
//!   zstd      the copies shrink                                                  (no lock)
//!   put       items that are still the same move to smaller chunks; pages        (locked)
//!             that their class no longer needs become free memory
//! ```
//!
//! A page at a time, because only whole pages become memory for other classes: the items that stay
//! plain move to the chunks that became free on other pages of the class.

use crate::Now;
use crate::bytes::freed::Freed;
use crate::compression::decision::Facts;
use crate::compression::form::{dictionary_of, plain_len};
use crate::contents::contents::Contents;
use crate::items::sizes::size_class::SizeClass;
use crate::items::sizes::size_classes::SizeClasses;
use crate::items::table::item_table::Slot;
use crate::items::trees::trees::has_tree;
use crate::room::compression_state::Position;
use crate::room::offer::{Judge, Offer, Verdict};
use crate::room::room::Room;
use crate::sync::shim::lock;
use crate::victims::budget::{Around, RoomRequest};
use base::TenantId;
use std::ops::Range;

/// Most pages that one lot frees while the shard is locked.
const FREED_MAX: usize = 4;
/// Most items of a lot that become plain again.
const PLAIN_MAX: usize = 8;

/// An item of a lot, as it was when it was copied.
#[derive(Clone, Debug)]
pub(crate) struct Picked {
    hash: u64,
    addr: usize,
    /// Its value as it is stored, among the bytes of the lot.
    pub(crate) value: Range<usize>,
    pub(crate) is_compressed: bool,
    pub(crate) is_sample: bool,
    /// Facts for the decision, which it passed with the estimated savings.
    pub(crate) facts: Facts,
    /// Bytes of its contents without the value, and its charge.
    head: u64,
    charge: u64,
}

/// Items of one page that are worth compressing.
#[derive(Debug)]
pub(crate) struct Lot {
    pub(crate) of: SizeClass,
    /// The price of a byte there, and what is known of an item of average use.
    pub(crate) facts: Facts,
    pub(crate) values: Vec<u8>,
    pub(crate) items: Vec<Picked>,
    /// Compressed items there that are used too often.
    hot: Vec<(u64, usize)>,
    classes: SizeClasses,
}

/// The result for an item of a lot.
#[derive(Debug)]
pub(crate) enum Shrunk {
    /// Its stored form.
    To(Vec<u8>),
    /// It does not shrink enough.
    Not,
    /// It stays as it is: it was only a sample, or has the best form already.
    Stays,
}

impl Picked {
    /// Bytes charged for it as it is.
    pub(crate) const fn charge(&self) -> u64 {
        self.charge
    }
}

impl Lot {
    /// Whether no item of the page changes its form.
    pub(crate) const fn is_empty(&self) -> bool {
        self.items.is_empty() && self.hot.is_empty()
    }

    /// Bytes that an item saves if its value is stored in `len` bytes.
    pub(crate) fn saved(&self, item: &Picked, len: usize) -> u64 {
        self.freed(item, len).max(0) as u64
    }

    /// Bytes that it frees; negative if the item grows.
    fn freed(&self, item: &Picked, len: usize) -> i64 {
        item.charge as i64 - self.classes.charge(item.head + len as u64) as i64
    }
}

impl Room {
    /// The next page from `position` on, with those of its items that should change their form.
    /// `None` at the end of the walk.
    pub(crate) fn next_lot(
        &mut self,
        contents: &mut Contents,
        position: &mut Position,
        now: Now,
        judge: &mut dyn Judge,
    ) -> Option<Lot> {
        loop {
            let Position { tenant: at, class, page } = *position;
            let tenant = contents.tenants.get(at)?;
            let classes = tenant.pages.classes();
            if class > classes.large() || !judge.wants(at as TenantId) {
                *position = Position { tenant: at + 1, class: 0, page: 0 };
            } else if page >= tenant.pages.held[class].pages.len() {
                *position = Position { tenant: at, class: class + 1, page: 0 };
            } else {
                position.page += 1;
                let of = SizeClass { tenant: at as TenantId, class };
                let price = self.price_of_a_byte(contents, of, now);
                return Some(lot(contents, of, page, price, now, judge));
            }
        }
    }

    /// Microseconds of waiting that a byte of a class saves per access to the shard: the worth of
    /// its victims; 0 if none was evicted or no miss was timed. Also the microseconds that a miss
    /// makes its client wait.
    fn price_of_a_byte(&mut self, contents: &mut Contents, of: SizeClass, now: Now) -> (f64, f64) {
        let tenant = contents.tenant(of.tenant);
        let mean = lock(&tenant.account.measured).stats().mean.as_f64();
        let has_evicted = contents.tenants.iter().any(|tenant| tenant.counters.evicted > 0);
        if !has_evicted || mean <= 0.0 {
            return (0.0, mean);
        }
        let victims = self.asked(contents, of, true, now).victims;
        if victims.count == 0 {
            return (0.0, mean);
        }
        let rank = &self.pools.evictor(of.tenant).rank;
        let price = match (rank.is_worth(), rank.is_priced()) {
            (true, true) => victims.density,
            (true, false) => victims.density * mean,
            (false, _) => {
                let pages = &contents.tenant(of.tenant).pages;
                victims.density * mean / pages.classes().share(of.class) as f64
            }
        };
        (price, mean)
    }

    /// Moves the items of a lot that are still the same to the chunks of their stored forms, and
    /// frees pages. Returns how many items moved.
    pub(crate) fn put_lot(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        lot: &Lot,
        shrunk: &[Shrunk],
        credit: &mut i64,
        now: Now,
    ) -> usize {
        let want = RoomRequest { tenant: Some(lot.of.tenant), own: true, pinned: 0, now };
        let mut moved = 0;
        for (item, shrunk) in lot.items.iter().zip(shrunk) {
            let find = |contents: &Contents| find(contents, lot, item);
            match shrunk {
                Shrunk::Stays => {}
                Shrunk::Not => {
                    if let Some(place) = find(contents) {
                        contents.tenant_mut(lot.of.tenant).table.get_mut(place).set_dense();
                    }
                }
                Shrunk::To(stored) => {
                    let bytes = item.head + stored.len() as u64;
                    let has_chunk = if item.is_compressed {
                        // Nothing is evicted for another form.
                        let tenant = lot.of.tenant;
                        contents.has_chunk(tenant, bytes)
                            || add_page(contents, around, tenant, bytes)
                    } else {
                        self.has_chunk_for(contents, around, lot.of, bytes, &want, credit)
                    };
                    match (has_chunk, item.is_compressed) {
                        (true, _) => {}
                        (false, true) => continue,
                        (false, false) => break,
                    }
                    // The evictions may have moved it.
                    let Some(place) = find(contents) else { continue };
                    let at = (place, item.hash);
                    let freed = contents.put_form(lot.of.tenant, at, stored, true);
                    around.budget.memory.take_back(freed);
                    moved += 1;
                    *credit += lot.freed(item, stored.len());
                }
            }
        }
        for &(hash, addr) in &lot.hot {
            make_plain(contents, around, lot.of.tenant, (hash, addr));
        }
        for _ in 0..FREED_MAX {
            let pages = &contents.tenant(lot.of.tenant).pages;
            let is_chunk = lot.of.class != pages.classes().large();
            if !is_chunk || !pages.fits_a_page_less(lot.of.class) {
                break;
            }
            let freed = self.take_page(contents, lot.of, &want);
            if freed.is_nothing() {
                break;
            }
            around.budget.memory.take_back(freed);
        }
        moved
    }

    /// Ensures that there is a chunk for `bytes` bytes of contents: a free one, one of a new page
    /// in free memory, or one in a page that the lot's class no longer needs. At last a page is
    /// evicted, on credit: only if the items so far saved as many bytes as were evicted for them.
    fn has_chunk_for(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        of: SizeClass,
        bytes: u64,
        want: &RoomRequest,
        credit: &mut i64,
    ) -> bool {
        if contents.has_chunk(of.tenant, bytes) || add_page(contents, around, of.tenant, bytes) {
            return true;
        }
        let pages = &contents.tenant(of.tenant).pages;
        let mut freed = Freed::NOTHING;
        if of.class != pages.classes().large() && pages.fits_a_page_less(of.class) {
            freed += self.take_page(contents, of, want);
        }
        if freed.is_nothing() && *credit >= 0 {
            freed += self.evict_page(contents, want);
            *credit -= freed.bytes() as i64;
        }
        around.budget.memory.take_back(freed);
        contents.has_chunk(of.tenant, bytes) || add_page(contents, around, of.tenant, bytes)
    }
}

/// Stores the plain value of a compressed item, if that needs no eviction.
fn make_plain(
    contents: &mut Contents,
    around: &Around<'_>,
    at: TenantId,
    (hash, addr): (u64, usize),
) {
    let Some(place) = contents.tenant(at).table.find_address(hash, addr) else { return };
    let item = contents.tenant(at).table.get(place);
    let Some(Ok(plain)) = contents.plain(at, item) else { return };
    let bytes = item.contents() - item.value().len() as u64 + plain.len() as u64;
    if contents.has_chunk(at, bytes) || add_page(contents, around, at, bytes) {
        let freed = contents.put_form(at, (place, hash), &plain, false);
        around.budget.memory.take_back(freed);
    }
}

/// The items of a page that are worth compressing, or that are used too often.
fn lot(
    contents: &Contents,
    of: SizeClass,
    page: usize,
    (price, wait): (f64, f64),
    now: Now,
    judge: &mut dyn Judge,
) -> Lot {
    let tenant = contents.tenant(of.tenant);
    let classes = tenant.pages.classes().clone();
    let (tick, seed) = (contents.clock.tick, contents.seed());
    let reads = tenant.counters.hits.max(1);
    let facts = Facts {
        price,
        wait,
        saved: 0,
        reads: 1.0 / tenant.table.len().max(1) as f64,
        writes_per_read: tenant.counters.sets as f64 / reads as f64,
        compress_us: 0.0,
        decompress_us: 0.0,
        items: tenant.table.len(),
        weight: 0.0,
    };
    let mut lot = Lot { of, facts, values: vec![], items: vec![], hot: vec![], classes };
    if price <= 0.0 {
        return lot;
    }
    for slot in 0..tenant.pages.classes().slots(of.class) {
        let Some(met) = tenant.pages.met(of.class, page, slot, seed, now.unix_ms) else { continue };
        let Some(place) = tenant.table.find_address(met.hash, met.addr) else { continue };
        let item = tenant.table.get(place);
        if met.is_dead || has_tree(item.kind()) || item.is_dense() {
            continue;
        }
        let stamps = item.stamps();
        let life = f64::from(stamps.life(tick)) + 1.0;
        let facts = Facts { reads: (f64::from(stamps.hits) + 0.5) / life, ..facts };
        let (stored, charge) = (item.value().len(), lot.classes.charge(item.contents()));
        let is_compressed = item.is_compressed();
        let len = if is_compressed { plain_len(item.value()) } else { stored };
        let head = item.contents() - stored as u64;
        let classes = &lot.classes;
        let dictionary = if is_compressed { dictionary_of(item.value()) } else { 0 };
        let tenant = of.tenant;
        let offer = Offer { tenant, len, stored, is_compressed, dictionary, facts, head, classes };
        match judge.judge(&offer) {
            None => {}
            Some(Verdict::Plain) if lot.hot.len() >= PLAIN_MAX => {}
            Some(Verdict::Plain) => lot.hot.push((met.hash, met.addr)),
            Some(Verdict::Work { facts, is_sample }) => {
                let from = lot.values.len();
                lot.values.extend_from_slice(item.value());
                let value = from..lot.values.len();
                let (hash, addr) = (met.hash, met.addr);
                lot.items.push(Picked {
                    hash,
                    addr,
                    value,
                    is_compressed,
                    is_sample,
                    facts,
                    head,
                    charge,
                });
            }
        }
    }
    lot
}

/// The place of an item of a lot, if it is still as it was when it was copied.
fn find(contents: &Contents, lot: &Lot, item: &Picked) -> Option<Slot> {
    let table = &contents.tenant(lot.of.tenant).table;
    let place = table.find_address(item.hash, item.addr)?;
    let now = table.get(place);
    let is_same = now.is_compressed() == item.is_compressed
        && !has_tree(now.kind())
        && now.contents() == item.head + item.value.len() as u64
        && now.value() == &lot.values[item.value.clone()];
    is_same.then_some(place)
}

/// Adds a page for `bytes` bytes of contents in free memory. Returns whether it did.
fn add_page(contents: &mut Contents, around: &Around<'_>, at: TenantId, bytes: u64) -> bool {
    let memory = &around.budget.memory;
    let pages = &contents.tenant(at).pages;
    let (class, page) = (pages.classes().of(bytes), pages.page_for(bytes));
    let cost = page + pages.class_cost(class);
    if !contents.try_take(memory, at, cost) {
        return false;
    }
    let is_added = contents.tenant_mut(at).pages.add_page(class, page);
    if !is_added {
        contents.give(memory, at, cost);
    }
    is_added
}
