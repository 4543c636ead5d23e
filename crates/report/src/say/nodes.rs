//! Several servers that share the keys, in sentences.

use crate::nodes::{self, Gain, Node};
use crate::words::{percent, size, wait, wrap};

/// A key with this share of a node's requests is named.
const HOT: f64 = 0.05;

/// What the nodes have, who is short, what is hot, and what more memory would buy.
pub fn nodes(all: &[Node], slot_of: impl Fn(&[u8]) -> u16) -> Vec<String> {
    let mut lines = vec![];
    let memory: u64 = all.iter().map(|node| node.report.server.divided).sum();
    let sum = |of: fn(&Node) -> f64| all.iter().map(of).sum::<f64>();
    let reads = sum(|node| node.report.recent.reads_per_s());
    let misses = sum(|node| {
        node.report.recent.reads_per_s() * node.report.recent.miss_ratio().unwrap_or_default()
    });
    let waits = sum(|node| node.report.recent.wait_ms_per_s());
    let say = |lines: &mut Vec<String>, text: String| lines.extend(wrap(&text, super::COLUMNS, 0));
    say(
        &mut lines,
        format!(
            "{} nodes hold {} together. Of {reads:.0} reads a second {} miss, and clients wait {} \
             in every second for that.",
            all.len(),
            size(memory),
            percent(misses / reads.max(f64::MIN_POSITIVE)),
            wait(1e3 * waits)
        ),
    );
    lines.push(String::new());
    let width = all.iter().map(|node| node.name.chars().count()).max().unwrap_or(4).max(4);
    lines.push(format!(
        "  {:width$}  {:>9}  {:>7}  {:>8}  {:>7}  {:>9}  {:>10}",
        "node", "memory", "slots", "reads/s", "missed", "waits/s", "a MiB more"
    ));
    for node in all {
        let recent = &node.report.recent;
        let saves = node.mib_saves_ms().map_or("-".into(), |saves| wait(1e3 * saves.max(0.0)));
        lines.push(format!(
            "  {:width$}  {:>9}  {:>7}  {:>8.0}  {:>7}  {:>9}  {:>10}",
            node.name,
            size(node.report.server.divided),
            node.slots,
            recent.reads_per_s(),
            recent.miss_ratio().map_or("-".into(), percent),
            wait(1e3 * recent.wait_ms_per_s()),
            saves
        ));
    }
    lines.push(String::new());
    for node in nodes::short(all) {
        let saves = wait(1e3 * node.mib_saves_ms().unwrap_or_default());
        let name = &node.name;
        say(
            &mut lines,
            format!(
                "{name} is short of memory: a MiB more there saves {saves} in every second, more \
                 than twice what it saves elsewhere. Give it more, or move some of its slots."
            ),
        );
    }
    for line in hot(all, slot_of) {
        say(&mut lines, line);
    }
    let gib = "One GiB more on each node";
    for (what, gain) in [
        (gib, nodes::more_each(all, 1 << 30)),
        ("One node more, as large as the others,", nodes::one_more(all)),
    ] {
        say(&mut lines, bought(what, gain));
    }
    lines
}

fn bought(what: &str, gain: Option<Gain>) -> String {
    match gain {
        None => format!("{what}: nobody knows yet what it would save; ask again in some minutes."),
        Some(Gain { saves_ms, band_ms }) if saves_ms <= band_ms => {
            format!("{what} would save nothing that can be told from chance.")
        }
        Some(Gain { saves_ms, band_ms }) => format!(
            "{what} would save {} in every second, give or take {}.",
            wait(1e3 * saves_ms),
            wait(1e3 * band_ms)
        ),
    }
}

/// Keys that much of a node's requests are for, with their slots.
fn hot(all: &[Node], slot_of: impl Fn(&[u8]) -> u16) -> Vec<String> {
    let mut lines = vec![];
    for node in all {
        let reads = node.report.recent.reads_per_s().max(f64::MIN_POSITIVE);
        for tenant in &node.report.tenants {
            let of_node = tenant.recent.reads_per_s() / reads;
            for hot in tenant.hot_keys.iter().filter(|hot| hot.share * of_node >= HOT) {
                let (key, slot) = (&hot.key, slot_of(hot.key.as_bytes()));
                lines.push(format!(
                    "Slot {slot} is hot: {} of the requests to {} are for the key {key}.",
                    percent(hot.share * of_node),
                    node.name
                ));
            }
        }
    }
    lines
}
