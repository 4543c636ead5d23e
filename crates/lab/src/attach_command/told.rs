//! Statistics of a memcached about its memory: `stats`, `stats slabs` and `stats items`, as
//! numbers.

use crate::capture_command::memcached::Control;
use std::collections::HashMap;
use tune::SlabClass;

/// Bytes of a page. It is a constant of memcached, independent of the largest item.
pub(crate) const PAGE: u64 = 1 << 20;

/// All figures at one moment. Counts are since the server started.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MemcachedStats {
    pub(crate) version: String,
    pub(crate) pid: u64,
    pub(crate) uptime_s: u64,
    /// Maximum number of bytes in pages.
    pub(crate) limit: u64,
    /// Pages taken from the machine, including pages that no class holds.
    pub(crate) pages: u64,
    /// Pages that moved from class to class.
    pub(crate) moved: u64,
    /// Whether a page is moving.
    pub(crate) is_moving: bool,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) items: u64,
    /// Connected clients.
    pub(crate) clients: u64,
    /// Bytes that items occupy.
    pub(crate) used: u64,
    /// Lines that watchers did not get, by both counters together.
    pub(crate) dropped: u64,
    /// Classes that have pages, the smallest chunks first.
    pub(crate) classes: Vec<ClassStats>,
}

/// A size class with its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClassStats {
    pub(crate) number: u8,
    /// Bytes that an item takes of its page.
    pub(crate) share: u64,
    pub(crate) pages: u64,
    pub(crate) free: u64,
    pub(crate) hits: u64,
    pub(crate) sets: u64,
    pub(crate) items: u64,
    pub(crate) evicted: u64,
    /// Cold items, which are evicted next, and the hits on them.
    pub(crate) cold: u64,
    pub(crate) cold_hits: u64,
    /// Seconds since the next victim was last used.
    pub(crate) age_s: u64,
}

type Table = HashMap<String, String>;

fn number(table: &Table, name: &str) -> u64 {
    table.get(name).and_then(|text| text.parse().ok()).unwrap_or_default()
}

impl MemcachedStats {
    /// Asks the server for the three tables.
    ///
    /// # Errors
    /// The connection is lost, or the server is no memcached.
    pub(crate) fn ask(control: &mut Control) -> anyhow::Result<Self> {
        let (stats, slabs) = (control.stats()?, control.table("stats slabs")?);
        Ok(Self::of(&stats, &slabs, &control.table("stats items")?))
    }

    fn of(stats: &Table, slabs: &Table, items: &Table) -> Self {
        let stat = |name| number(stats, name);
        Self {
            version: stats.get("version").cloned().unwrap_or_default(),
            pid: stat("pid"),
            uptime_s: stat("uptime"),
            limit: stat("limit_maxbytes"),
            pages: number(slabs, "total_malloced") / PAGE,
            moved: stat("slabs_moved"),
            is_moving: stat("slab_reassign_running") > 0,
            hits: stat("get_hits"),
            misses: stat("get_misses"),
            items: stat("curr_items"),
            clients: stat("curr_connections"),
            used: stat("bytes"),
            dropped: stat("log_worker_dropped") + stat("log_watcher_skipped"),
            classes: (1..=u8::MAX)
                .filter_map(|class| ClassStats::of(class, slabs, items))
                .collect(),
        }
    }

    /// Pages that the classes hold.
    pub(crate) fn held(&self) -> u64 {
        self.classes.iter().map(|class| class.pages).sum()
    }

    /// Whether all memory is in pages. Until then, a class that wants a page takes a new one.
    pub(crate) const fn is_full(&self) -> bool {
        (self.pages + 1) * PAGE > self.limit
    }

    /// A class by its number.
    pub(crate) fn class(&self, number: u8) -> Option<&ClassStats> {
        self.classes.iter().find(|class| class.number == number)
    }

    /// Whether both figures are from the same process of the server.
    pub(crate) const fn is_of_same_process(&self, before: &Self) -> bool {
        self.pid == before.pid && self.uptime_s >= before.uptime_s
    }

    /// Major, minor and patch.
    pub(crate) fn version(&self) -> (u32, u32, u32) {
        let mut parts = self.version.split(|c: char| !c.is_ascii_digit());
        let mut part = || parts.next().and_then(|text| text.parse().ok()).unwrap_or_default();
        (part(), part(), part())
    }
}

impl ClassStats {
    fn of(class: u8, slabs: &Table, items: &Table) -> Option<Self> {
        let slab = |name: &str| number(slabs, &format!("{class}:{name}"));
        let item = |name: &str| number(items, &format!("items:{class}:{name}"));
        let pages = slab("total_pages");
        (pages > 0).then(|| Self {
            number: class,
            share: PAGE / slab("chunks_per_page").max(1),
            pages,
            free: slab("free_chunks"),
            hits: slab("get_hits") + slab("touch_hits"),
            sets: slab("cmd_set"),
            items: item("number"),
            evicted: item("evicted"),
            cold: item("number_cold"),
            cold_hits: item("hits_to_cold"),
            age_s: item("age"),
        })
    }

    /// The class as a planner sees it, without the fields that need two looks.
    pub(crate) fn shown(&self) -> SlabClass {
        SlabClass {
            class: self.number,
            page: base::Bytes(PAGE),
            chunk: base::Bytes(self.share),
            pages: self.pages,
            free: self.free,
            evicted: self.evicted,
            tail_hits: self.cold_hits,
            ..SlabClass::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        let pairs = text.lines().filter_map(|line| line.trim().split_once(' '));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Answers of memcached 1.6.18 after one small item and one of 5 000 bytes.
    #[test]
    fn what_is_told_is_read() {
        let told = MemcachedStats::of(
            &table(
                "pid 15815\nuptime 3\nversion 1.6.18\nlimit_maxbytes 8388608\nget_hits 1\n\
                    get_misses 2\nslab_reassign_running 1\nslabs_moved 4\ncurr_items 2\n\
                    log_worker_dropped 3\nlog_watcher_skipped 4",
            ),
            &table(
                "1:chunks_per_page 10922\n1:total_pages 1\n1:free_chunks 10921\n1:get_hits 1\n\
                    1:cmd_set 1\n19:chunks_per_page 184\n19:total_pages 2\ntotal_malloced 3145728",
            ),
            &table(
                "items:1:age 7\nitems:1:number_cold 1\nitems:1:hits_to_cold 5\n\
                    items:19:evicted 9",
            ),
        );
        assert_eq!((told.version(), told.pid, told.pages, told.held()), ((1, 6, 18), 15_815, 3, 3));
        assert!(told.is_moving && !told.is_full());
        assert_eq!((told.dropped, told.moved), (7, 4));
        let small = told.class(1).unwrap();
        assert_eq!((small.share, small.free, small.hits, small.age_s), (96, 10_921, 1, 7));
        let large = told.class(19).unwrap();
        assert_eq!((large.share, large.evicted, large.pages), (5_698, 9, 2));
        assert_eq!(told.classes.len(), 2);
        let later = MemcachedStats { uptime_s: 1, ..told.clone() };
        assert!(!later.is_of_same_process(&told) && told.is_of_same_process(&later));
    }
}
