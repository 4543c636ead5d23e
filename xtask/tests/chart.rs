//! The Helm chart: linted and rendered where helm is installed.

use std::path::Path;
use std::process::Command;

fn helm(args: &[&str]) -> Option<String> {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/helm/larder");
    let output = Command::new("helm").args(args).arg(chart).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Some(text)
}

/// Every slot belongs to exactly one node.
#[test]
fn the_chart_deals_out_all_slots() {
    let Some(_) = helm(&["lint"]) else {
        println!("skipped: helm is not installed");
        return;
    };
    for nodes in [2usize, 3, 7] {
        let set = format!("nodes={nodes},serviceMonitor.enabled=true");
        let text = helm(&["template", "cache", "--set", &set]).unwrap();
        assert!(text.contains("cluster-config /etc/larder/slots") && text.contains("/readyz"));
        assert!(text.contains("kind: ServiceMonitor"));
        let slots = text.lines().filter_map(|line| {
            let line = line.trim().strip_prefix("cache-larder-")?;
            let (_, range) = line.split_once(":6379 ")?;
            let (first, last) = range.split_once('-')?;
            Some(first.parse::<u32>().ok()?..last.parse::<u32>().ok()? + 1)
        });
        let all: Vec<u32> = slots.flatten().collect();
        assert_eq!(all, (0..16_384).collect::<Vec<_>>(), "{nodes} nodes");
    }
    let one = helm(&["template", "cache"]).unwrap();
    assert!(!one.contains("cluster-config") && !one.contains("kind: ServiceMonitor"));
}
