//! The last word of `cargo test --workspace`: the tests that were skipped, and what to install.
//!
//! Cargo runs the packages' tests in the order of their names, this package's last. The list is no
//! test of its own, so it does without a harness, which would hide what it prints.

use std::collections::BTreeMap;

fn main() {
    let mut needs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for skipped in skip::taken() {
        needs.entry((skipped.need, skipped.remedy)).or_default().push(skipped.test);
    }
    for ((need, remedy), tests) in needs {
        println!("skipped for want of {need} ({remedy}): {}", tests.join(", "));
    }
}
