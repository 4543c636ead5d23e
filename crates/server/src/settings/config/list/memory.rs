//! Directives about memory: how much there is, each tenant's share, and eviction.

use crate::settings::config::directive::When::{Always, Start};
use crate::settings::config::directive::{Directive, Shape, number, word};
use crate::settings::config::value::{Value, within};
use crate::settings::config::{OutputLimit, TenantConfig};
use crate::settings::memory_limit;
use base::Bytes;
use wire::resp::parse_double;

pub(super) const ALL: &[Directive] = &[
    number!("databases", Start, databases, 1..=256, "How many databases SELECT may choose from."),
    Directive::new(
        "maxmemory",
        Always,
        "Bytes that data and its metadata may take; 0 sets no limit. As a share, such as 60%, \
         of the memory of the machine or the container, followed while it changes; auto is \
         80%. A server that starts with a low limit holds more items than one whose limit is \
         lowered while it runs.",
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
        "Who leaves when memory is full: allkeys-lru (K-LRU with a pool of candidates, K = \
         maxmemory-samples), allkeys-lhd (who promises the fewest hits for its bytes; it \
         learns), allkeys-cost-lhd (the same, times what a miss costs), allkeys-gittins (waiting \
         saved for bytes and time, at the best age to give up), allkeys-lfu, \
         allkeys-hyperbolic, allkeys-random, allkeys-lrm (the longest not written), \
         volatile-lru, volatile-lfu, volatile-random, volatile-lrm and volatile-ttl (only what \
         has an expiry), noeviction, or auto: what the recipe chooses."
    ),
    number!(
        "maxmemory-samples",
        Always,
        maxmemory_samples,
        1..=64,
        "Candidates drawn for an eviction, where the recipe does not choose."
    ),
    word!(
        "admission",
        Always,
        admission,
        "Whether a plain SET of a large new value may be declined where memory is full and what \
         would be evicted for it is worth more: it answers OK, and is not kept. With no every \
         value is kept. Only policies that can tell decline: auto and allkeys-gittins."
    ),
    Directive::new(
        "slab-page-size",
        Start,
        "Bytes of a page of one shard, a power of two; 0 for what suits maxmemory and the \
         number of tenants, up to 64kb. Items above half a page take whole pages.",
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
        "Bytes of the smallest chunk that pages are cut into; an item has a header of 13.",
        |settings| settings.slab.chunk_min.to_string(),
        Shape::Word(|settings, word| {
            settings.slab.chunk_min = within(word, 32..=1024)?;
            Ok(())
        }),
    ),
    Directive::new(
        "slab-growth-factor",
        Start,
        "What each size of chunk is larger by than the last.",
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
        "How memory is divided: static (one pool, a plain cache), dlru (one pool, whose K \
         follows its misses), kredis (a budget and a K for each tenant, from its curve and the \
         cost of its misses), predis (a budget for each class of penalties, whoever owns the \
         items), lama (pages for each class of sizes, from curves) and rankcache (LHD, and \
         pages where victims are worth most). Settings follow, as in \
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
    word!("proto-max-bulk-len", Always, proto_max_bulk_len, "Bytes in one argument of a command."),
    word!(
        "client-query-buffer-limit",
        Always,
        client_query_buffer_limit,
        "Bytes of an unfinished command; a client that sends more is closed."
    ),
    Directive::new(
        "client-output-buffer-limit",
        Always,
        "Bytes of replies that wait for a slow reader: CLASS HARD SOFT SECONDS, for the \
         classes normal and pubsub. Above HARD, or above SOFT for SECONDS, it is closed; 0 \
         sets no limit.",
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
        "Keys remembered for clients that track what they read; above it all of them are told \
         to forget everything. 0 sets no limit."
    ),
];
