//! A group of servers that share the keys, in sentences.

use super::lines::COLUMNS;
use crate::nodes::{self, Gain, Node};
use crate::words::{percent, size, wait, wrap};

/// A key with at least this share of a node's requests is named.
const HOT: f64 = 0.05;

/// Lines on the memory and waiting of the nodes, nodes short of memory, hot slots, and the gain
/// from more memory.
pub fn nodes(all: &[Node], slot_of: impl Fn(&[u8]) -> u16) -> Vec<String> {
    let mut lines = vec![];
    let memory: u64 = all.iter().map(|node| node.report.server.divided).sum();
    let sum = |of: fn(&Node) -> f64| all.iter().map(of).sum::<f64>();
    let reads = sum(|node| node.report.recent.reads_per_s());
    let misses = sum(|node| {
        node.report.recent.reads_per_s() * node.report.recent.miss_ratio().unwrap_or_default()
    });
    let waits = sum(|node| node.report.recent.wait_ms_per_s());
    let say = |lines: &mut Vec<String>, text: String| lines.extend(wrap(&text, COLUMNS, 0));
    let asked = if reads < 1.0 {
        "There are almost no reads.".to_owned()
    } else {
        let (missed, waits) = (percent(misses / reads), wait(1e3 * waits));
        format!(
            "Of {reads:.0} reads per second {missed} miss, and clients wait {waits} per second for \
             them."
        )
    };
    say(&mut lines, format!("{} nodes hold {} together. {asked}", all.len(), size(memory)));
    lines.push(String::new());
    let width = all.iter().map(|node| node.name.chars().count()).max().unwrap_or(4).max(4);
    lines.push(format!(
        "  {:width$}  {:>9}  {:>7}  {:>8}  {:>7}  {:>9}  {:>10}",
        "node", "memory", "slots", "reads/s", "missed", "waits/s", "1 MiB more"
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
                "{name} is short of memory: 1 MiB more there saves {saves} per second, more than \
                 twice as much as elsewhere. Give it more memory, or move some of its slots."
            ),
        );
    }
    for line in hot(all, slot_of) {
        say(&mut lines, line);
    }
    let gib = "1 GiB more on each node";
    for (what, gain) in [
        (gib, nodes::more_each(all, 1 << 30)),
        ("One more node of the same size", nodes::one_more(all)),
    ] {
        say(&mut lines, bought(what, gain));
    }
    lines
}

fn bought(what: &str, gain: Option<Gain>) -> String {
    match gain {
        None => format!("{what}: the saving is not known yet; ask again in some minutes."),
        Some(Gain { saves_ms, band_ms }) if saves_ms <= band_ms => {
            format!("{what} would save nothing beyond chance.")
        }
        Some(Gain { saves_ms, band_ms }) => format!(
            "{what} would save {} per second, give or take {}.",
            wait(1e3 * saves_ms),
            wait(1e3 * band_ms)
        ),
    }
}

/// A line for each hot key, with its slot and node.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::tests::tenant;
    use crate::{HotKey, Report, Server};

    #[test]
    fn the_answer_comes_first_and_lines_are_short() {
        let node = |name: &str, used: u64, end: u64| {
            let mut one = tenant("t", used, end, 1e3, 1.0 - 0.9 * used as f64 / end as f64);
            one.recent.wait_ms = 64_000.0;
            one.hot_keys = vec![HotKey { key: "foo".into(), share: 0.3 }];
            let server = Server { divided: used, ..Server::default() };
            let recent = one.recent;
            let report = Report { server, recent, tenants: vec![one], ..Report::default() };
            Node { name: name.into(), slots: 5461, report }
        };
        let mib = 1 << 20;
        let all = [
            node("10.0.0.1:6379", 20 * mib, 2_000 * mib),
            node("10.0.0.2:6379", 20 * mib, 60 * mib),
            node("10.0.0.3:6379", 20 * mib, 2_000 * mib),
        ];
        let lines = nodes(&all, |_| 12_182);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        let text = lines.join(" ");
        assert!(lines[0].starts_with("3 nodes hold 60.0 MiB together. Of 3000 reads"), "{text}");
        assert!(text.contains("10.0.0.2:6379 is short of memory"), "{text}");
        assert!(
            text.contains("Slot 12182 is hot: 30 % of the requests to 10.0.0.1:6379"),
            "{text}"
        );
        assert!(text.contains("One more node of the same size would save"), "{text}");
        let idle = Node { report: Report::default(), ..all[0].clone() };
        let text = nodes(&[idle], |_| 0).join(" ");
        assert!(
            text.contains("There are almost no reads.") && text.contains("not known yet"),
            "{text}"
        );
    }
}
