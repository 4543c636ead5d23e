//! The end of `cargo test --workspace`: the skipped tests, and the programs to install for them.
//!
//! Cargo runs the packages' tests in the order of their names, this package's last. The list is no
//! test, so it uses no harness, which would hide its output.

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
