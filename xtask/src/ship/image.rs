//! `cargo x image [FOLDER]`: an OCI archive of the static binaries, made without a daemon.
//!
//! The image has one layer: the two binaries and the settings. Its other properties (user, ports,
//! health) come from the last stage of `packaging/Dockerfile`, so that both make the same image.
//! Every file has the same owner and no time, so the same binaries give the same digest.
//!
//! `podman load -i`, `skopeo copy oci-archive:` and `docker load` take the archive.

mod stage;
#[cfg(test)]
mod tests;

use super::archive::{Member, digest, packed, tarred};
use super::platform::MUSL;
use super::{dist, root, target};
use anyhow::{Context, Result};
use oci_spec::image::{
    Arch, ConfigBuilder, Descriptor, ImageConfigurationBuilder, ImageIndexBuilder,
    ImageManifestBuilder, MediaType, OciLayoutBuilder, Os, PlatformBuilder, RootFsBuilder,
    Sha256Digest,
};
use stage::Stage;
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let folder = target()?.join("shipped/musl");
    let folder = match words.next() {
        Some(path) => PathBuf::from(path),
        None => dist::parted(&MUSL, &dist::build(&MUSL)?, &folder).map(|_| folder)?,
    };
    let archive = target()?.join("shipped/larder-oci.tar");
    fs::create_dir_all(target()?.join("shipped"))?;
    write(&folder, fs::File::create(&archive)?)?;
    println!("{}: {:.1} MB", archive.display(), fs::metadata(&archive)?.len() as f64 / 1e6);
    Ok(())
}

/// Writes the archive of an image with the binaries of a folder.
fn write(folder: &Path, out: impl Write) -> Result<()> {
    let stage = Stage::read(&fs::read_to_string(root().join("packaging/Dockerfile"))?)?;
    let read = |name| {
        fs::read(folder.join(name)).with_context(|| format!("no {name} in {}", folder.display()))
    };
    let (larder, lab) = (read("larder")?, read("larder-lab")?);
    let settings = fs::read(root().join("packaging/image/larder.conf"))?;
    let files: &[Member<'_>] = &[
        ("usr/local/bin/larder", &larder, 0o755),
        ("usr/local/bin/larder-lab", &lab, 0o755),
        ("etc/larder/larder.conf", &settings, 0o644),
    ];
    let layer = packed(files)?;
    let config = config(&stage, &digest(&tarred(files)?))?;
    let manifest = ImageManifestBuilder::default()
        .schema_version(2u32)
        .media_type(MediaType::ImageManifest)
        .config(descriptor(MediaType::ImageConfig, &config)?)
        .layers(vec![descriptor(MediaType::ImageLayerGzip, &layer)?])
        .build()?;
    let manifest = serde_json::to_vec(&manifest)?;
    let mut named = descriptor(MediaType::ImageManifest, &manifest)?;
    named
        .set_platform(Some(PlatformBuilder::default().architecture(arch()).os(Os::Linux).build()?));
    let name = format!("larder:{}", env!("CARGO_PKG_VERSION"));
    named.set_annotations(Some(HashMap::from([(
        "org.opencontainers.image.ref.name".to_owned(),
        name,
    )])));
    let index = ImageIndexBuilder::default()
        .schema_version(2u32)
        .media_type(MediaType::ImageIndex)
        .manifests(vec![named])
        .build()?;
    let layout = OciLayoutBuilder::default().image_layout_version("1.0.0".to_owned()).build()?;
    let (index, layout) = (serde_json::to_vec(&index)?, serde_json::to_vec(&layout)?);
    let blob = |bytes: &[u8]| format!("blobs/sha256/{}", digest(bytes));
    let files = [
        ("oci-layout".to_owned(), &layout, 0o644),
        ("index.json".to_owned(), &index, 0o644),
        (blob(&config), &config, 0o644),
        (blob(&layer), &layer, 0o644),
        (blob(&manifest), &manifest, 0o644),
    ];
    let files: Vec<Member<'_>> =
        files.iter().map(|(name, bytes, mode)| (name.as_str(), bytes.as_slice(), *mode)).collect();
    let mut out = out;
    out.write_all(&tarred(&files)?)?;
    Ok(())
}

/// The configuration of a container. OCI defines no health check, so Docker's own field is added.
fn config(stage: &Stage, layer: &str) -> Result<Vec<u8>> {
    let inner = ConfigBuilder::default()
        .user(stage.user.clone())
        .exposed_ports(stage.ports.clone())
        .entrypoint(stage.entrypoint.clone())
        .cmd(stage.command.clone())
        .stop_signal(stage.stop_signal.clone())
        .labels(stage.labels.clone())
        .build()?;
    let files =
        RootFsBuilder::default().typ("layers").diff_ids([format!("sha256:{layer}")]).build()?;
    let whole = ImageConfigurationBuilder::default()
        .architecture(arch())
        .os(Os::Linux)
        .config(inner)
        .rootfs(files)
        .build()?;
    let mut whole = serde_json::to_value(&whole)?;
    whole["config"]["Healthcheck"] = stage.health.clone();
    Ok(serde_json::to_vec(&whole)?)
}

fn arch() -> Arch {
    if cfg!(target_arch = "aarch64") { Arch::ARM64 } else { Arch::Amd64 }
}

fn descriptor(kind: MediaType, bytes: &[u8]) -> Result<Descriptor> {
    Ok(Descriptor::new(kind, bytes.len() as u64, Sha256Digest::from_str(&digest(bytes))?))
}
