//! The bill of materials of the shipped programs: every crate that is linked into them, with its
//! version, licence and checksum, as CycloneDX 1.5.
//!
//! `cargo metadata` resolves the crates for this platform. Crates that only tests or build scripts
//! use are not in the programs, so they are not listed.

use super::root;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::process::Command;

/// The packages of the shipped programs.
const PROGRAMS: [&str; 2] = ["larder", "lab"];

/// The bill of materials, as a document of JSON.
pub(super) fn sbom(platform: &str) -> Result<Value> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--locked", "--features", "lab/databases"])
        .args(["--filter-platform", platform])
        .current_dir(root())
        .output()
        .context("could not start cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout)?;
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    Ok(listed(&metadata, &checksums(&lock)))
}

/// Checksums of Cargo.lock, by name and version.
fn checksums(lock: &str) -> HashMap<(String, String), String> {
    let of = |block: &str, field: &str| {
        let begin = format!("{field} = \"");
        let line = block.lines().find_map(|line| line.strip_prefix(&begin))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|block| {
            Some(((of(block, "name")?, of(block, "version")?), of(block, "checksum")?))
        })
        .collect()
}

fn listed(metadata: &Value, checksums: &HashMap<(String, String), String>) -> Value {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = array(&metadata["packages"]);
    let package = |id: &str| packages.iter().find(|package| package["id"] == id);
    let mut edges = HashMap::new();
    for node in array(&metadata["resolve"]["nodes"]) {
        let is_linked =
            |dep: &&Value| array(&dep["dep_kinds"]).iter().any(|of| of["kind"].is_null());
        let deps = array(&node["deps"]);
        let linked: Vec<_> = deps.iter().filter(is_linked).map(|dep| text(&dep["pkg"])).collect();
        edges.insert(text(&node["id"]), linked);
    }
    let own = |package: &&Value| PROGRAMS.iter().any(|name| package["name"] == *name);
    let own = packages.iter().filter(|package| package["source"].is_null()).filter(own);
    let mut waiting: Vec<_> = own.map(|package| text(&package["id"])).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if found.insert(id.clone()) {
            waiting.extend(edges.get(&id).into_iter().flatten().cloned());
        }
    }
    let component = |package: &Value| {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let purl = format!("pkg:cargo/{name}@{version}");
        let mut component = json!({
            "type": "library",
            "bom-ref": purl,
            "purl": purl,
            "name": name,
            "version": version,
            "licenses": [{ "expression": package["license"] }],
        });
        if let Some(sum) = checksums.get(&(name, version)) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    };
    let components: Vec<_> = found.iter().filter_map(|id| package(id)).map(component).collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "name": "larder",
            "version": env!("CARGO_PKG_VERSION"),
        } },
        "components": components,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_with_its_checksum() {
        let bill = sbom("x86_64-unknown-linux-gnu").unwrap();
        let all = bill["components"].as_array().unwrap();
        let named = |name: &str| all.iter().find(|one| one["name"] == name);
        let zstd = named("zstd").unwrap();
        assert_eq!(zstd["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert_eq!(zstd["purl"], format!("pkg:cargo/zstd@{}", zstd["version"].as_str().unwrap()));
        assert!(all.iter().all(|one| one["licenses"][0]["expression"].is_string()));
        assert!(named("store").is_some() && named("larder").is_some());
        assert!(named("oci-spec").is_none() && named("xtask").is_none(), "chores are not shipped");
    }
}
