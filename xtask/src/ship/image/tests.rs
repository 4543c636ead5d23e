//! The archive is consistent: every digest matches its bytes, down to the binary.

use super::*;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// Content and mode of the files of a tar; folders have no content.
fn files(tar: impl Read) -> BTreeMap<String, (Vec<u8>, u32)> {
    let mut all = BTreeMap::new();
    for entry in tar::Archive::new(tar).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        assert_eq!((entry.header().uid().unwrap(), entry.header().mtime().unwrap()), (0, 0));
        let mut bytes = vec![];
        entry.read_to_end(&mut bytes).unwrap();
        all.insert(name, (bytes, entry.header().mode().unwrap()));
    }
    all
}

fn archive(binary: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("larder"), binary).unwrap();
    fs::write(folder.path().join("larder-lab"), b"the lab").unwrap();
    let mut archive = vec![];
    write(folder.path(), &mut archive).unwrap();
    archive
}

#[test]
fn an_archive_holds_what_it_names() {
    let binary: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    let archive = archive(&binary);
    let all = files(archive.as_slice());
    let named = |descriptor: &Value| {
        let sum = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let (bytes, _) = &all[&format!("blobs/sha256/{sum}")];
        assert_eq!(digest(bytes), sum);
        assert_eq!(descriptor["size"], bytes.len());
        bytes.clone()
    };
    let json = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap() };
    assert_eq!(json(&all["oci-layout"].0)["imageLayoutVersion"], "1.0.0");
    let index = json(&all["index.json"].0);
    let manifest = json(&named(&index["manifests"][0]));
    let config = json(&named(&manifest["config"]));
    let mut layer = vec![];
    GzDecoder::new(named(&manifest["layers"][0]).as_slice()).read_to_end(&mut layer).unwrap();
    assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", digest(&layer)));
    let inside = files(layer.as_slice());
    assert_eq!(inside["usr/local/bin/larder"], (binary, 0o755));
    assert_eq!(inside["usr/local/bin/larder-lab"], (b"the lab".to_vec(), 0o755));
    assert_eq!(inside["etc/larder/larder.conf"].1, 0o644);

    assert_eq!(config["config"]["User"], "65532:65532", "nobody's, and not root's");
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/local/bin/larder");
    let health = &config["config"]["Healthcheck"];
    assert_eq!(health["Test"], serde_json::json!(["CMD", "/usr/local/bin/larder", "ping"]));
    assert_eq!(health["Interval"], 10_000_000_000u64);
    assert_eq!(config["config"]["ExposedPorts"]["6379/tcp"], serde_json::json!({}));
}

#[test]
fn the_same_binary_makes_the_same_archive() {
    assert!(archive(b"one") == archive(b"one"));
    assert!(archive(b"one") != archive(b"another"));
}

#[test]
fn what_the_image_would_lack_is_refused() {
    let stage = |text: &str| Stage::read(&format!("FROM a AS build\n\nFROM {text}"));
    assert_eq!(stage("scratch\nUSER 1:1\n").unwrap().user, "1:1");
    for refused in
        ["debian\n", "scratch\nVOLUME /data\n", "scratch\nHEALTHCHECK --retries=3 CMD []"]
    {
        assert!(stage(refused).is_err(), "{refused}");
    }
}
