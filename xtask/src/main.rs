//! The project's own chores, each one command: `cargo x ci`, `cargo x golden`, `cargo x bench …`.
//!
//! A chore runs the very command that a person would type, and prints it, so that a failure needs
//! no further search.
#![forbid(unsafe_code)]

mod attach;
mod bench_network;
mod bench_server;
mod built;
mod checked;
mod cluster;
mod compression;
mod curves;
mod live;
mod process;
mod publish;
mod race;
mod ship;
mod soak;
mod suites;
mod tree;
mod walks;

use anyhow::{Context, Result, bail};
use checked::Tests;
use std::process::Command;

const HELP: &str = "\
Usage: cargo x <chore>

  ci [JOB…]
           runs the jobs of CI: form, test, speed, clients-epoll, python, loom, fuzz, walks; by name
           only: miri, clients-uring; ALLOW_MISSING names tools that may be absent
  golden   rewrites the golden files of policies' misses and of the store's victims; then look at
           the diff
  ratchet  writes the numbers of xtask/ratchets.toml that fell; `anew` also writes those that rose,
           for a change whose rise was decided
  bench    CPU time per request, compared with redis-server, with the loop on and off
  bench redis [SERVER]
           the first of these alone, compared with redis-server or SERVER, such as a valkey-server
  bench tails SERVER
           latencies, compared with SERVER, at 50 and 80 % of the load that it sustains, with
           evictions, keys that expire together, and dumps
  bench threads SERVER [MEMCACHED]
           CPU time per request with one thread and with two, compared with SERVER and memcached
  bench attach mix SERVER MEMORY TRACE TRACE TRACE
           replays three tenants to SERVER with the module and without: misses and waiting
  bench attach instructions|throughput SERVER
           instructions of a GET (valgrind), or requests per second, with the module and without
  bench attach singles|dlru SERVER TRACE@MEMORY…
           misses of each trace with the module and without, or with dlru and with each fixed K
  bench attach claims SERVER MEMORY NAME=TRACE@US…
           what an observing module claims that acting would save, and what acting saves
  bench attach versions SERVER…
           the module's tests on each of these servers, as a table
  bench store
           the library compared with quick_cache and moka: bytes per entry, operations per second,
           hits
  bench policies
           six orders of eviction: operations per second by threads and hits, GET and SET
  bench evictions
           instructions, cache misses and time of the store's evictions (valgrind)
  bench hits
           instructions and cache misses of a hit, compared with quick_cache and moka (valgrind)
  bench compression DIR…
           misses, waiting and CPU time with and without compression; the values are the files of
           the folders; BESIDE=SERVER adds a redis-server or valkey-server
  bench memcached [S]
           a memcached with lama attached, compared with its own page mover: misses within S seconds
           (600); the memcached in PATH, or the one that MEMCACHED names
  bench lhd TRACE…
           miss ratios of the store's LHD, compared with the simulator's
  cluster valkey [SERVER [MEMORY]] [-- COMMAND…]
           three masters of SERVER (valkey-server) with MEMORY (100mb) each, a replica of each, and
           the module: until Enter, or while COMMAND runs, with the address in LARDER_CLUSTER
  curves DIR [N]
           errors of the curve models on the first N requests (300000) of the traces in DIR
  live NAME|all [--quick] [--rounds N] [--traces DIR] [--peer NAME=COMMAND]
           the papers' live experiments with PostgreSQL, MariaDB, and the redis-server,
           valkey-server and memcached in PATH; a round takes minutes with --quick
  race [TRACE] [--libcachesim PATH]
           requests per second of the simulator's policies, compared with libCacheSim's `cachesim`
           at PATH
  soak [S] [shift|rough]
           S seconds (600) of mixed writes at three times maxmemory, and checks of its limits;
           `shift` changes the sizes every 20 seconds and compares hits with those of new servers;
           `rough` adds slow readers, writes that are refused, and scripts that are killed
  soak attach SERVER [S] [plain]
           random commands to SERVER with the module under valgrind, S seconds (1800): valgrind must
           find no error, and resident memory must not grow; `plain` runs without valgrind
  suites valkey|memcached|redis-py|ioredis CHECKOUT [UNIT…]
           runs that project's own tests against this server, from a checkout of its source (or
           VALKEY_CHECKOUT, MEMCACHED_CHECKOUT); takes minutes
  parsers [S]
           mutated requests for each of the server's parsers, all at once, until each had S seconds
           (1800) of CPU time
  crowd    10 000 idle and 1 000 busy connections (after `ulimit -n 20000`), a value of 512 MB
  dist [--musl|--arm64]
           builds the binaries to ship, with separate symbols, manual pages and completions, and
           sends a PING to the server; --musl: static
           (rustup target add x86_64-unknown-linux-musl, apt-get install musl-tools);
           --arm64: built across, and tried in an emulator (rustup target add
           aarch64-unknown-linux-gnu, apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross
           qemu-user-static)
  deb [try]
           builds the Debian package (cargo install cargo-deb); `try` installs, starts, upgrades and
           purges it in a clean Debian (debootstrap, as root)
  image [FOLDER]
           an OCI archive of the static binaries, or of those in a folder, made without a daemon
  release [--sign KEY]
           all that a release has, in one folder: archives, symbols, Debian package, image, chart,
           bill of materials and checksums, which gpg signs with KEY
  walks    follows the walks of CONTRIBUTING in a copy of the tree; Cargo checks each; takes minutes
  publish [verify]
           packs the crates for crates.io, under names that are free there, and sends nothing;
           `verify` builds each of them
  miri     the store's unsafe code under Miri (rustup toolchain install nightly -c miri,rust-src)
  loom     the store's locks and counters in every order of two threads
  deny     licences, sources and known faults of all dependencies (cargo install cargo-deny)
  tsan [N] N calls (10000000) of two threads to the store under ThreadSanitizer (nightly)
  fuzz [S] compares the store with a map, S seconds (60) (nightly, cargo install cargo-fuzz)
";

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("ci") => ci(words),
        Some("golden") => golden(),
        Some("ratchet") => {
            let mode = if words.next().as_deref() == Some("anew") { "anew" } else { "1" };
            run("cargo test -p xtask --test tidy ratchets", &[("LARDER_WRITE", mode)])
        }
        Some("miri") => miri(),
        Some("deny") => deny(),
        Some("parsers") => {
            let seconds = words.next().unwrap_or_else(|| "1800".to_owned());
            let fuzz = "cargo test -p wire --test fuzz -- --nocapture";
            run(fuzz, &[("FUZZ_SECONDS", &seconds)])
        }
        Some("crowd") => {
            let tests = "cargo test --release -p larder --test server robust";
            run(&format!("{tests} -- --nocapture --test-threads=1"), &[])
        }
        Some("loom") => loom(),
        Some("tsan") => {
            let calls = words.next().unwrap_or_else(|| "10000000".to_owned());
            // The standard library, too, must report its locks to the sanitizer.
            run(
                "cargo +nightly test --release -Zbuild-std --target x86_64-unknown-linux-gnu \
                 -p store --test race -- --nocapture",
                &[("RUSTFLAGS", "-Zsanitizer=thread"), ("RACE_CALLS", &calls)],
            )
        }
        Some("fuzz") => {
            let seconds = words.next().unwrap_or_else(|| "60".to_owned());
            run(
                &format!(
                    "cargo +nightly fuzz run store -- -max_total_time={seconds} -max_len=4096"
                ),
                &[],
            )
        }
        Some("bench") => match words.next().as_deref() {
            None => bench_server::run(None),
            Some("redis") => {
                bench_server::run(Some(words.next().as_deref().unwrap_or("redis-server")))
            }
            Some("tails") => bench_network::tails(&words.next().context("which SERVER?")?),
            Some("threads") => {
                let server = words.next().context("which SERVER?")?;
                bench_network::threads(&server, words.next().as_deref().unwrap_or("memcached"))
            }
            Some("attach") => attach::run(words),
            Some("compression") => compression::run(&words.collect::<Vec<_>>()),
            Some("store") => {
                run("cargo run --release --quiet --manifest-path bench/Cargo.toml", &[])
            }
            Some("memcached") => {
                let seconds = words.next().unwrap_or_else(|| "600".to_owned());
                let test = "cargo test --profile dist -p larder --test server attach::beside";
                run(&format!("{test} -- --nocapture"), &[("ATTACH_SECONDS", &seconds)])
            }
            Some(what @ ("lhd" | "victims")) => {
                let traces = words.collect::<Vec<_>>().join(" ");
                let line = "cargo run --release --quiet --manifest-path bench/Cargo.toml --";
                run(&format!("{line} {what} {traces}"), &[])
            }
            Some(what @ ("policies" | "evictions" | "hits")) => {
                let line = "cargo run --release --quiet --manifest-path bench/Cargo.toml --";
                run(&format!("{line} {what}"), &[])
            }
            Some(other) => bail!(
                "'{other}' is not a benchmark: write redis, tails, threads, attach, \
                 compression DIR…, memcached [S], store, policies, evictions, hits, \
                 lhd TRACE…, victims TRACE or nothing"
            ),
        },
        Some("curves") => {
            let folder = words.next().context("where are the traces? cargo x curves DIR [N]")?;
            let limit = words.next().map_or(Ok(300_000), |text| text.parse())?;
            curves::run(folder.as_ref(), limit)
        }
        Some("cluster") => cluster::run(words),
        Some("live") => live::run(words),
        Some("race") => race::run(words),
        Some("soak") => soak::run(words),
        Some("suites") => suites::run(words),
        Some("dist") => ship::dist(words),
        Some("deb") => ship::deb(words),
        Some("image") => ship::image(words),
        Some("release") => ship::release(words),
        Some("walks") => walks::run(),
        Some("publish") => publish::run(words),
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => bail!("there is no chore '{other}'\n\n{HELP}"),
    }
}

/// Writes the golden files anew: the policies' misses, and the victims of the store.
fn golden() -> Result<()> {
    run("cargo test -p policy --test golden", &[("UPDATE_GOLDEN", "1")])?;
    run("cargo test -p live --test victims", &[("UPDATE_GOLDEN", "1")])
}

/// Runs the named jobs of CI, or all of them.
fn ci(jobs: impl Iterator<Item = String>) -> Result<()> {
    let words = std::iter::once("bash .ci/run".to_owned()).chain(jobs);
    run(&words.collect::<Vec<_>>().join(" "), &[])
}

/// Parts of the store that contain unsafe code.
const UNSAFE: &[&str] =
    &["items::item", "items::table", "items::pages", "segments", "items::wheel", "big_reader"];

fn miri() -> Result<()> {
    let miri = |line, names| Tests { line, names, environment: &[] }.run();
    miri("cargo +nightly miri test -p store --lib", UNSAFE)?;
    miri("cargo +nightly miri test -p store --test forget", &[])
}

/// Runs in a folder of its own, because loom's flag would make Cargo rebuild everything, twice.
/// Optimised little, because the build takes far longer than the test of all orders.
fn loom() -> Result<()> {
    let environment = &[
        ("RUSTFLAGS", "--cfg loom"),
        ("CARGO_TARGET_DIR", "target/loom"),
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
        ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    ];
    let loom = |line, names| Tests { line, names, environment }.run();
    loom("cargo test --release -p store --lib", &["big_reader"])?;
    loom("cargo test --release -p store --test loom", &[])
}

/// Known faults are checked only if their list can be fetched; it is in no registry of packages.
fn deny() -> Result<()> {
    run("cargo deny check licenses bans sources", &[])?;
    if answers("cargo deny fetch db") {
        run("cargo deny check advisories", &[])
    } else {
        eprintln!("skipped: the list of advisories could not be fetched");
        Ok(())
    }
}

/// Whether a command line succeeds, whatever it prints.
fn answers(line: &str) -> bool {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// Runs one command line; no word of it contains a blank.
fn run(line: &str, environment: &[(&str, &str)]) -> Result<()> {
    eprintln!("→ {line}");
    let mut words = line.split(' ');
    let program = words.next().context("the command line is empty")?;
    let status = Command::new(program)
        .args(words)
        .envs(environment.iter().copied())
        .status()
        .with_context(|| format!("could not start {program}: is it installed?"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}
