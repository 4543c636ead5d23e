//! The processor time of each thread, looked at once a second.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Looks that are kept: a thread's share of a processor is that of the last ten seconds.
const LOOKS: usize = 11;

/// The threads of the process: their names and processor seconds, by thread number.
type Threads = BTreeMap<u64, (String, f64)>;

/// The last looks at the threads.
#[derive(Debug, Default)]
pub(crate) struct ThreadTimes(Mutex<VecDeque<(Instant, Threads)>>);

impl ThreadTimes {
    /// Takes a look.
    pub(crate) fn look(&self) {
        let look = (Instant::now(), threads());
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.push_back(look);
        if looks.len() > LOOKS {
            looks.pop_front();
        }
    }

    /// Name, processor seconds since the start, and share of a processor of each thread; the share
    /// is not known before the second look.
    pub(crate) fn shown(&self) -> Vec<(String, f64, Option<f64>)> {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some((then, before)), Some((now, last))) = (looks.front(), looks.back()) else {
            return vec![];
        };
        let seconds = (*now - *then).as_secs_f64();
        let thread = |(number, (name, used)): (&u64, &(String, f64))| {
            let known = before.get(number).filter(|_| seconds > 0.0);
            (name.clone(), *used, known.map(|(_, was)| (used - was) / seconds))
        };
        last.iter().map(thread).collect()
    }
}

/// Every thread of this process, as the system tells it; empty if it tells nothing.
fn threads() -> Threads {
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let thread = |task: std::fs::DirEntry| {
        let number = task.file_name().to_str()?.parse().ok()?;
        let text = std::fs::read_to_string(task.path().join("stat")).ok()?;
        Some((number, parse(&text, ticks)?))
    };
    tasks.filter_map(thread).collect()
}

/// Name and processor seconds in a line of `stat`. The name stands in brackets, and may have
/// brackets itself.
fn parse(line: &str, ticks: f64) -> Option<(String, f64)> {
    let (head, rest) = line.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let used = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((name.to_owned(), (used(11)? + used(12)?) / ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_system_is_read() {
        let line = "7 (a) (b) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0";
        assert_eq!(parse(line, 100.0), Some(("a) (b".to_owned(), 2.0)));
        assert_eq!(parse("7 (x) R 1", 100.0), None);
    }

    #[test]
    fn a_busy_thread_is_seen() {
        let times = ThreadTimes::default();
        times.look();
        assert!(times.shown().iter().all(|(_, _, busy)| busy.is_none()));
        let before = crate::text::os::cpu_seconds().0;
        let mut x = 1u64;
        while crate::text::os::cpu_seconds().0 < before + 0.1 {
            x = base::hash::mix(x);
        }
        times.look();
        let busy = times.shown().iter().filter_map(|(_, _, busy)| *busy).fold(0.0, f64::max);
        assert!(busy > 0.0 && x != 0, "{busy}");
    }
}
