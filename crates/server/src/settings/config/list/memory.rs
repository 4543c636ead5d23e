//! Directives about memory: how much there is, each tenant's share, and eviction.

use crate::settings::config::directive::When::{Always, Start};
use crate::settings::config::directive::{Directive, Shape, number, word};
use crate::settings::config::value::{Value, ratio, within};
use crate::settings::config::{OutputLimit, TenantConfig};
use crate::settings::memory_limit;
use base::Bytes;
use wire::resp::parse_double;

pub(super) const ALL: &[Directive] = &[
    number!("databases", Start, databases, 1..=256, "Number of databases for SELECT."),
    Directive::new(
        "maxmemory",
        Always,
        "Bytes that data and its metadata may take; 0 sets no limit. A share, such as 60%, means \
         that share of the memory of the machine or the container, and follows its changes; auto \
         is 80%. A server that starts with a low limit holds more items than a server whose limit \
         falls while it runs.",
        |settings| settings.maxmemory.show(),
        Shape::Word(|settings, word| {
            settings.maxmemory_share = memory_limit::parse(word);
            settings.maxmemory = match settings.maxmemory_share {
                Some(share) => memory_limit::bytes_of(share),
                None => Value::parse(word)?,
            };
            Ok(())
        }),
    )
    .in_file(|settings| {
        let share = settings.maxmemory_share.map(|share| format!("{}%", share * 100.0));
        Some(share.unwrap_or_else(|| settings.maxmemory.written()))
    }),
    word!(
        "maxmemory-policy",
        Always,
        maxmemory_policy,
        "Which items the server evicts when memory is full: allkeys-lru (K-LRU with a pool of \
         candidates, K = maxmemory-samples), allkeys-lhd (the fewest expected hits per byte; it \
         learns), allkeys-cost-lhd (the same, weighted with the cost of a miss), allkeys-gittins \
         (the least waiting saved per byte and time, up to the best age to give up), allkeys-lfu, \
         allkeys-hyperbolic, allkeys-random, allkeys-lrm (not written for longest), volatile-lru, \
         volatile-lfu, volatile-random, volatile-lrm and volatile-ttl (only items with an expiry), \
         noeviction (the server refuses writes), or auto (the recipe chooses)."
    ),
    number!(
        "maxmemory-samples",
        Always,
        maxmemory_samples,
        1..=64,
        "Number of candidates for an eviction, unless the recipe chooses it."
    ),
    word!(
        "admission",
        Always,
        admission,
        "Whether the server may decline a plain SET of a large new value when memory is full and \
         the items to evict are worth more. It then answers OK, but does not store the value. With \
         no, the server stores every value. Only the policies auto and allkeys-gittins can decline \
         a value."
    ),
    Directive::new(
        "compression",
        Always,
        "Whether the server compresses values. With auto, it compresses items in the background \
         when memory is full: those for which the waiting that the freed memory saves is worth \
         more than the processor time of their reads. It compresses values of 64 bytes to 64kb, \
         with dictionaries that it trains for each tenant. Clients see plain values. With no, it \
         compresses nothing more. With always, it compresses every value when a client writes it; \
         this is for tests.",
        |settings| settings.compression.mode.show(),
        Shape::Word(|settings, word| {
            settings.compression.mode = Value::parse(word)?;
            Ok(())
        }),
    ),
    Directive::new(
        "compression-weight",
        Always,
        "Seconds of waiting that a second of processor time counts as, when the server decides \
         what to compress. A higher weight compresses fewer items.",
        |settings| settings.compression.weight.show(),
        Shape::Word(|settings, word| {
            let wrong = "argument must be a number from 0 to 1000000";
            settings.compression.weight = ratio(word, 0.0..=1e6, wrong)?;
            Ok(())
        }),
    ),
    Directive::new(
        "slab-page-size",
        Start,
        "Bytes of a page of one shard, a power of two. With 0, the server chooses a size for \
         maxmemory and the number of tenants, up to 64kb. Items above half a page take whole \
         pages.",
        |settings| settings.slab.page.to_string(),
        Shape::Word(|settings, word| match <Bytes as Value>::parse(word)?.0 {
            0 => {
                settings.slab.page = 0;
                Ok(())
            }
            page if page.is_power_of_two() && (4096..=64 << 20).contains(&page) => {
                settings.slab.page = page;
                Ok(())
            }
            _ => Err("argument must be 0 or a power of two from 4kb to 64mb".into()),
        }),
    )
    .in_file(|settings| Some(Bytes(settings.slab.page).written())),
    Directive::new(
        "slab-chunk-min",
        Start,
        "Bytes of the smallest chunk in a page; an item has a header of 13 bytes.",
        |settings| settings.slab.chunk_min.to_string(),
        Shape::Word(|settings, word| {
            settings.slab.chunk_min = within(word, 32..=1024)?;
            Ok(())
        }),
    ),
    Directive::new(
        "slab-growth-factor",
        Start,
        "Factor from each chunk size to the next larger chunk size.",
        |settings| settings.slab.factor.show(),
        Shape::Word(|settings, word| match parse_double(word.as_bytes()) {
            Some(factor) if factor > 1.0 && factor <= 4.0 => {
                settings.slab.factor = factor;
                Ok(())
            }
            _ => Err("argument must be a number above 1 and at most 4".into()),
        }),
    ),
    word!(
        "recipe",
        Always,
        recipe,
        "How the server divides memory: static (one pool, a plain cache), dlru (one pool, whose K \
         follows its misses), kredis (a budget and a K for each tenant, from its curve and the \
         cost of its misses), predis (a budget for each penalty class, for the items of all \
         tenants), lama (pages for each size class, from curves) and rankcache (LHD, with pages \
         for the size classes whose victims are worth most). Settings follow, as in \
         kredis:objective=hits:epoch=10 (seconds), dlru:interval=100000 (reads) or \
         lama:planner=automove."
    ),
    Directive::new(
        "tenant",
        Always,
        "A tenant: tenant NAME match db N | prefix P | user U | listener PORT, then min SIZE, \
         max SIZE, weight W, target RATIO|TIME, priority N as needed. Repeatable; a line for a \
         known name replaces it.",
        |settings| settings.tenants.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Shape::Named(|settings, words| {
            let tenant = TenantConfig::parse(words)?;
            match settings.tenants.iter_mut().find(|known| known.name == tenant.name) {
                Some(known) => *known = tenant,
                None => settings.tenants.push(tenant),
            }
            Ok(())
        }),
    ),
    word!(
        "proto-max-bulk-len",
        Always,
        proto_max_bulk_len,
        "Most bytes in one argument of a command."
    ),
    word!(
        "client-query-buffer-limit",
        Always,
        client_query_buffer_limit,
        "Most bytes of an unfinished command; the server closes a client that sends more."
    ),
    Directive::new(
        "client-output-buffer-limit",
        Always,
        "Most bytes of replies that wait for a slow client: CLASS HARD SOFT SECONDS, for the \
         classes normal and pubsub. The server closes a client above HARD, or above SOFT for \
         SECONDS; 0 sets no limit.",
        |settings| {
            let (normal, pubsub) = (settings.output_normal, settings.output_pubsub);
            format!("normal {normal} replica 0 0 0 pubsub {pubsub}")
        },
        Shape::Words(|settings, words| {
            if words.is_empty() || !words.len().is_multiple_of(4) {
                return Err("wrong number of arguments".into());
            }
            for group in words.chunks(4) {
                let limit = OutputLimit {
                    hard: Value::parse(&group[1])?,
                    soft: Value::parse(&group[2])?,
                    seconds: group[3].parse().map_err(|_| "the seconds must be a number")?,
                };
                match group[0].to_ascii_lowercase().as_str() {
                    "normal" => settings.output_normal = limit,
                    "pubsub" => settings.output_pubsub = limit,
                    "replica" | "slave" => {}
                    class => return Err(format!("'{class}' is not normal, replica or pubsub")),
                }
            }
            Ok(())
        }),
    )
    .in_file(|settings| {
        let (normal, pubsub) = (settings.output_normal.written(), settings.output_pubsub.written());
        Some(format!("normal {normal} replica 0 0 0 pubsub {pubsub}"))
    }),
    number!(
        "tracking-table-max-keys",
        Always,
        tracking_max_keys,
        0..=1_000_000_000,
        "Most keys that the server remembers for clients with CLIENT TRACKING. Above that number, \
         the server stops tracking some keys and invalidates them. 0 sets no limit."
    ),
];
