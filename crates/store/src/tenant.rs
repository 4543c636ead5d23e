//! Who owns items: an [`Account`] shared by all shards, and in each shard a [`Tenant`] with its
//! dictionary.

use crate::Bounds;
use crate::classes::{Classes, SLOTS};
use crate::departed::{self, Cause, Departures};
use crate::dump::Away;
use crate::item::{Owned, Ref};
use crate::memory::{Padded, try_add};
use crate::penalty::Measured;
use crate::sizes::heap_class;
use crate::slab::Slabs;
use crate::stats::{Counters, Len};
use crate::sync::{AtomicBool, AtomicU64, Mutex};
use crate::table::{Place, Table};
use crate::wheel::Wheel;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The bytes of one tenant in all shards, its bounds, and what its fetches took.
#[derive(Debug)]
pub(crate) struct Account {
    used: Padded<AtomicU64>,
    min: AtomicU64,
    /// `u64::MAX` for none.
    max: AtomicU64,
    /// Bytes of items by class of penalty, while they are counted.
    classes: [AtomicU64; SLOTS],
    /// Whether classes are told, and not measured.
    hinted: AtomicBool,
    /// A leaf lock: taken under a shard's lock, and nothing is taken under it.
    pub(crate) measured: Mutex<Measured>,
}

impl Account {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        let account = Self {
            used: Padded::default(),
            min: AtomicU64::new(0),
            max: AtomicU64::new(0),
            classes: std::array::from_fn(|_| AtomicU64::new(0)),
            hinted: AtomicBool::new(false),
            measured: Mutex::default(),
        };
        account.set_bounds(bounds);
        Arc::new(account)
    }

    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        self.min.store(bounds.min.0, Relaxed);
        self.max.store(bounds.max.map_or(u64::MAX, |max| max.0), Relaxed);
    }

    /// Bytes of the items of a class.
    #[inline]
    pub(crate) fn class(&self, class: u8) -> &AtomicU64 {
        &self.classes[usize::from(class).min(SLOTS - 1)]
    }

    pub(crate) fn set_hinted(&self, hinted: bool) {
        self.hinted.store(hinted, Relaxed);
    }

    pub(crate) fn is_hinted(&self) -> bool {
        self.hinted.load(Relaxed)
    }

    #[inline]
    pub(crate) fn used(&self) -> u64 {
        self.used.0.load(Relaxed)
    }

    #[inline]
    pub(crate) fn max(&self) -> u64 {
        self.max.load(Relaxed)
    }

    /// Bytes in use beyond the max, after it was lowered.
    pub(crate) fn excess(&self) -> u64 {
        self.used().saturating_sub(self.max())
    }

    /// Bytes that others can never make it lose.
    pub(crate) fn protected(&self) -> u64 {
        self.used().min(self.min.load(Relaxed))
    }

    /// Bytes that others may make it lose.
    #[inline]
    pub(crate) fn loose(&self) -> u64 {
        self.used().saturating_sub(self.min.load(Relaxed))
    }

    /// Takes `bytes` that do not depend on any write.
    pub(crate) fn take(&self, bytes: u64) {
        self.used.0.fetch_add(bytes, Relaxed);
    }

    /// Reserves `bytes`, or nothing if the max does not allow it.
    #[inline]
    pub(crate) fn try_take(&self, bytes: u64) -> bool {
        match self.max() {
            u64::MAX => {
                self.used.0.fetch_add(bytes, Relaxed);
                true
            }
            max => try_add(&self.used.0, bytes, max),
        }
    }

    /// Gives `bytes` back.
    #[inline]
    pub(crate) fn give(&self, bytes: u64) {
        if bytes > 0 {
            self.used.0.fetch_sub(bytes, Relaxed);
        }
    }

    /// Gives `bytes` back for the sake of another tenant, or nothing if the min forbids it.
    #[inline]
    pub(crate) fn try_give(&self, bytes: u64) -> bool {
        let min = self.min.load(Relaxed);
        let above = |used: u64| used.checked_sub(bytes).filter(|&rest| rest >= min);
        self.used.0.fetch_update(Relaxed, Relaxed, above).is_ok()
    }
}

/// Bytes that an item takes, in pages or by itself.
pub(crate) fn charge_in(slabs: Option<&Slabs>, item: Ref) -> u64 {
    match slabs {
        None => heap_class(item.contents()),
        Some(slabs) => slabs.classes().charge(item.contents()),
    }
}

/// One tenant in one shard.
pub(crate) struct Tenant {
    pub(crate) table: Table,
    /// The pages that the table's items stand in, in the slab layout: dropped after the table.
    pub(crate) slabs: Option<Slabs>,
    pub(crate) counters: Counters,
    pub(crate) account: Arc<Account>,
    /// What its classes of penalties hold and do, while pools are made of them.
    pub(crate) classes: Option<Box<Classes>>,
    /// When its items die, once it has items that do.
    pub(crate) wheel: Option<Box<Wheel>>,
    /// By database.
    lens: Box<[Len]>,
    /// Tells of items that leave, while somebody wants to hear of them.
    pub(crate) departures: Option<Box<Departures>>,
    /// Copies of items that are kept elsewhere, while there are any.
    pub(crate) away: Option<Box<Away>>,
}

impl Tenant {
    /// Bytes that a tenant takes in a shard before it has an item.
    pub(crate) const fn fixed_bytes(databases: usize) -> u64 {
        (size_of::<Self>() + databases * size_of::<Len>()) as u64
    }

    pub(crate) fn new(account: Arc<Account>, databases: usize, slabs: Option<Slabs>) -> Self {
        Self {
            table: Table::default(),
            slabs,
            counters: Counters::default(),
            account,
            classes: None,
            wheel: None,
            lens: vec![Len::default(); databases].into(),
            departures: None,
            away: None,
        }
    }

    /// Counts an item that is about to come.
    #[inline]
    pub(crate) fn enters(&mut self, db: u8, expires: bool) {
        if let Some(len) = self.lens.get_mut(usize::from(db)) {
            len.items += 1;
            len.expires += u64::from(expires);
        }
    }

    /// Removes an item; returns the bytes that are free now: its own, or those of its page if that
    /// was given back, and those of the table that went with it. Giving them back is up to the
    /// caller.
    pub(crate) fn remove(&mut self, place: Place) -> u64 {
        let (item, bytes) = self.take(place);
        bytes + self.discard(item)
    }

    /// Bytes that an item takes.
    pub(crate) fn charge_of(&self, item: Ref) -> u64 {
        charge_in(self.slabs.as_ref(), item)
    }

    /// Drops an item that was taken out; returns the bytes that are free now.
    pub(crate) fn discard(&mut self, item: Owned) -> u64 {
        match &mut self.slabs {
            None => heap_class(item.view().contents()),
            Some(slabs) => slabs.free(item),
        }
    }

    /// Takes an item out; returns with it the bytes of the table that are free now.
    pub(crate) fn take(&mut self, place: Place) -> (Owned, u64) {
        let (item, bytes) = self.table.remove(place);
        let view = item.view();
        if let Some(len) = self.lens.get_mut(usize::from(view.db())) {
            len.items -= 1;
            len.expires -= u64::from(view.expires().is_some());
        }
        let class = view.stamps().penalty_class();
        let charge = self.charge_of(view);
        self.class_leaves(class, charge);
        (item, bytes)
    }

    /// Removes a dead item, and returns the bytes, which the account has back already.
    pub(crate) fn expire(&mut self, place: Place) -> u64 {
        departed::leaves(&mut self.departures, self.table.get(place), Cause::Expired, 0);
        let bytes = self.remove(place);
        self.account.give(bytes);
        self.counters.expired += 1;
        bytes
    }

    /// Counts an item whose expiry came or went.
    #[inline]
    pub(crate) fn expiry_changes(&mut self, db: u8, from: bool, to: bool) {
        if let Some(len) = self.lens.get_mut(usize::from(db))
            && from != to
        {
            len.expires = if to { len.expires + 1 } else { len.expires - 1 };
        }
    }

    /// Bytes of what is noted of expiries.
    pub(crate) fn wheel_bytes(&self) -> u64 {
        self.wheel.as_ref().map_or(0, |wheel| wheel.bytes())
    }

    /// Bytes that noting one expiry more may take.
    pub(crate) fn wheel_cost(&self) -> u64 {
        let new = || Wheel::default().bytes() + Wheel::default().enter_cost();
        self.wheel.as_ref().map_or_else(new, |wheel| wheel.enter_cost())
    }

    /// Leaves the tenant without items, table, wheel and pages, and hands out all but the wheel.
    /// Giving their bytes back is up to the caller.
    pub(crate) fn take_table(&mut self) -> (Table, Option<Slabs>) {
        self.wheel = None;
        self.lens.fill(Len::default());
        self.classes_empty();
        let empty = self.slabs.as_ref().map(Slabs::without_pages);
        (std::mem::take(&mut self.table), std::mem::replace(&mut self.slabs, empty))
    }

    pub(crate) fn len(&self, db: Option<u8>) -> Len {
        match db {
            Some(db) => self.lens.get(usize::from(db)).copied().unwrap_or_default(),
            None => self.lens.iter().fold(Len::default(), |mut sum, &len| {
                sum += len;
                sum
            }),
        }
    }
}
