//! The packaged alert rules: each has its runbook, and fires when it should.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn every_alert_has_a_runbook() {
    let root = super::root();
    let rules = fs::read_to_string(root.join("packaging/alerts.yml")).unwrap();
    let page = fs::read_to_string(root.join("docs/book/runbooks.md")).unwrap();
    let alerts: Vec<&str> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(alerts, sections, "the sections of the runbooks stand in the order of the alerts");
    for alert in alerts {
        let link = format!("docs/book/runbooks.md#{}\"", alert.to_ascii_lowercase());
        assert!(rules.contains(&link), "{alert} has no link to {link}");
    }
    for part in ["Meaning", "Look", "Do", "Check"] {
        let count = page.matches(&format!("\n**{part}.** ")).count();
        assert_eq!(count, sections.len(), "sections with a part '{part}'");
    }
}

/// Prometheus' own tool plays the rules: each alert fires in its situation, and in no other.
#[test]
fn alerts_fire_when_they_should() {
    let Ok(output) = Command::new("promtool")
        .args(["test", "rules", "packaging/alerts-test.yml"])
        .current_dir(Path::new(&super::root()))
        .output()
    else {
        skip::skip("promtool", "apt-get install prometheus");
        return;
    };
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
