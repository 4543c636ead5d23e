//! The platforms that programs are shipped for: an entry each.

use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;

/// A platform: the name of its files, its build, and how its programs run here.
pub(super) struct Platform {
    /// The flag of `cargo x dist`; empty for this machine's own platform.
    pub(super) flag: &'static str,
    /// The folder of its programs, and the end of the names of its archives.
    pub(super) name: &'static str,
    /// The processor in the names of its archives.
    pub(super) machine: &'static str,
    /// Rust's name of it; `None` for this machine's own.
    pub(super) target: Option<&'static str>,
    /// The tools for its build, for the message that names them.
    pub(super) needs: &'static str,
    /// More variables for its build.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The start of the names of its binary tools.
    pub(super) tools: &'static str,
    /// The emulator that runs its programs here.
    pub(super) emulator: &'static [&'static str],
    /// Whether it is linked as this machine's own programs are.
    is_packed: bool,
}

/// This machine's own platform.
pub(super) const OWN: Platform = Platform {
    flag: "",
    name: "gnu",
    machine: std::env::consts::ARCH,
    target: None,
    needs: "a C compiler and make",
    variables: &[],
    tools: "",
    emulator: &[],
    is_packed: cfg!(all(target_arch = "x86_64", target_os = "linux")),
};

/// Static programs, which link no library of the system.
pub(super) const MUSL: Platform = Platform {
    flag: "--musl",
    name: "musl",
    machine: "x86_64",
    target: Some("x86_64-unknown-linux-musl"),
    needs: "`rustup target add x86_64-unknown-linux-musl` and Debian's musl-tools",
    is_packed: true,
    ..OWN
};

/// Processors of 64 bits by Arm, built across. Their kernels may have pages of up to 64 KB.
pub(super) const ARM64: Platform = Platform {
    flag: "--arm64",
    name: "gnu",
    machine: "aarch64",
    target: Some("aarch64-unknown-linux-gnu"),
    needs: "`rustup target add aarch64-unknown-linux-gnu` and Debian's gcc-aarch64-linux-gnu, \
            libc6-dev-arm64-cross and qemu-user-static",
    variables: &[
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
        ("JEMALLOC_SYS_WITH_LG_PAGE", "16"),
    ],
    tools: "aarch64-linux-gnu-",
    emulator: &["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"],
    is_packed: false,
};

/// Packs the relocations, a twentieth of the binary. The first glibc that applies packed
/// relocations is version 2.36, of 2022.
const PACKED: &str = "-C link-arg=-Wl,-z,pack-relative-relocs";

/// Merges identical code. Rust's own linker does that.
const FOLDED: &str = "-C link-arg=-Wl,--icf=all";

impl Platform {
    /// The platform with this flag.
    pub(super) fn of(flag: Option<&str>) -> Result<&'static Self> {
        let all: [&'static Self; 3] = [&OWN, &MUSL, &ARM64];
        let flag = flag.unwrap_or_default();
        all.into_iter().find(|platform| platform.flag == flag).with_context(|| {
            format!("'{flag}' is unknown: write {}, {} or nothing", MUSL.flag, ARM64.flag)
        })
    }

    /// The folder of its programs within that of all shipped ones.
    pub(super) fn folder(&self) -> String {
        if self.emulator.is_empty() { self.name.into() } else { self.machine.into() }
    }

    /// The arguments of `cargo rustc` for it, behind the common ones.
    pub(super) fn arguments(&self) -> Result<String> {
        let target = self.target.map_or_else(String::new, |target| format!(" --target {target}"));
        Ok(match (self.is_packed, self.target) {
            (false, _) => target,
            (true, None) => format!(" -- {PACKED} {FOLDED}"),
            (true, Some(_)) => format!("{target} -- {PACKED} {} {FOLDED}", own_linker()?),
        })
    }

    /// A command that runs one of its programs here.
    pub(super) fn command(&self, program: &Path) -> Command {
        let Some((emulator, arguments)) = self.emulator.split_first() else {
            return Command::new(program);
        };
        let mut command = Command::new(emulator);
        command.args(arguments).arg(program);
        command
    }
}

/// Arguments that make the C compiler link with Rust's own linker, where that is not the default.
fn own_linker() -> Result<String> {
    let told = Command::new("rustc").args(["--print", "sysroot", "--print", "host-tuple"]).output();
    let told = String::from_utf8(told.context("rustc is not installed")?.stdout)?;
    let Some((sysroot, host)) = told.trim().split_once('\n') else {
        bail!("rustc does not print its folder: {told:?}");
    };
    let folder = Path::new(sysroot).join("lib/rustlib").join(host).join("bin/gcc-ld");
    ensure!(folder.join("ld.lld").exists(), "there is no linker in {}", folder.display());
    Ok(format!("-C link-arg=-B{} -C link-arg=-fuse-ld=lld", folder.display()))
}
