//! `maxmemory auto` and `maxmemory 80%`: a share of the memory of the machine or the container.
//!
//! A container may be resized while it runs, so the share is computed again once a second. It is a
//! share of the lowest of the machine's memory and the limits of the process's control groups, from
//! its own up to the root.

use crate::text::os;
use base::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// The share that `auto` means. The rest is for clients' buffers, models and the program itself.
pub(crate) const AUTO: f64 = 0.8;

/// Reads a share; `None` if the word is none.
pub(crate) fn parse(word: &str) -> Option<f64> {
    if word.eq_ignore_ascii_case("auto") {
        return Some(AUTO);
    }
    let percent: f64 = word.strip_suffix('%')?.parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
}

/// The bytes of a share; zero (no limit) if the system does not tell.
pub(crate) fn bytes_of(share: f64) -> Bytes {
    let machine = os::machine_memory();
    let group = group_limit(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    let given =
        group.map_or(machine, |group| if machine == 0 { group } else { group.min(machine) });
    Bytes((given as f64 * share) as u64)
}

/// The lowest limit of the control groups that the file `membership` names.
fn group_limit(membership: &Path, root: &Path) -> Option<u64> {
    let text = fs::read_to_string(membership).ok()?;
    let mut lowest = None;
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (base, file): (PathBuf, _) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            list if list.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container the path may be missing; then the root is the container's own group.
        let below = base.join(path.trim_start_matches('/'));
        for group in below.ancestors().take_while(|group| group.starts_with(&base)) {
            let limit = fs::read_to_string(group.join(file)).ok();
            if let Some(limit) = limit.and_then(|limit| limit.trim().parse::<u64>().ok()) {
                lowest = Some(lowest.map_or(limit, |lowest: u64| lowest.min(limit)));
            }
        }
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(parse("auto"), Some(AUTO));
        assert_eq!(parse("50%"), Some(0.5));
        for word in ["", "%", "0%", "101%", "-5%", "x%", "5", "nan%"] {
            assert_eq!(parse(word), None, "{word}");
        }
        assert!(bytes_of(0.5) > Bytes(1 << 20));
    }

    /// The lowest limit counts, at any level between the process and the root.
    #[test]
    fn limits_of_groups() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let limit = || group_limit(&dir.path().join("cgroup"), dir.path());
        write("cgroup", "0::/a/b\n");
        assert_eq!(limit(), None);
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "2000\n");
        assert_eq!(limit(), Some(2_000));
        write("a/b/memory.max", "1000\n");
        assert_eq!(limit(), Some(1_000));
        write("cgroup", "5:cpu,cpuacct:/x\n4:memory:/not/there\n");
        write("memory/memory.limit_in_bytes", "3000\n");
        assert_eq!(limit(), Some(3_000));
    }
}
