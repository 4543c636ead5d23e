//! The traces that Twitter published: seven columns like those of the common format, but time in
//! seconds.
//!
//! ```text
//! timestamp,key,key_size,value_size,client_id,operation,ttl
//! 0,nz:u:eeW511W3dcH3de3d15ec,22,304,5,get,0
//! ```
//!
//! Keys may contain commas, so the columns after the key are found from the right. Operations are
//! those of memcached: get, gets, set, add, replace, cas, append, prepend, delete, incr, decr.
//!
//! The common format has the same columns, with times in microseconds. The pace distinguishes the
//! two. In a trace in seconds many requests have the same second, and no clients send a cache more
//! than one request a microsecond. A trace counts as Twitter's if its times rise that slowly and it
//! has times to live, which Twitter's caches always set. A file also counts as Twitter's under a
//! name that Twitter gave (`cluster052.sort.zst`).
//!
//! Yang, Yue, Rashmi. A large scale analysis of hundreds of in-memory cache clusters at Twitter.
//! OSDI '20.

use super::FormatSpec;
use crate::error::excerpt;
use crate::lines::{spoken, whole_number};
use crate::ops::op;
use crate::tenants::tenant;
use crate::text::{self, Batch, LineFormat, LineRequest, key_size, scaled, size};
use base::Micros;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "twitter",
    about: "timestamp in seconds,key,key_size,value_size,client_id,operation,ttl",
    units: "times and times to live in seconds (--format csv reads times in microseconds)",
    extensions: &["twitter", "twitter.csv"],
    recognises: is_slow,
    open: |reader, options| Ok(text::open(reader, options, Twitter)),
    create: None,
    looks_ahead: false,
    loses: &[],
};

/// The fewest lines that show the pace of a trace.
const LINES_LEAST: usize = 8;

/// Whether the times rise by less than one second a request, and some requests have a time to live.
fn is_slow(head: &[u8]) -> bool {
    let (mut first, mut last, mut lines, mut lives) = (None, 0, 0, 0);
    // The last line may be cut off.
    let cut = memchr::memrchr(b'\n', head).map_or(&head[..0], |end| &head[..end]);
    for line in spoken(cut) {
        let Ok((_, request)) = parse(line) else { return false };
        if request.micros < last || !request.micros.is_multiple_of(1_000_000) {
            return false;
        }
        first.get_or_insert(request.micros);
        last = request.micros;
        lines += 1;
        lives += usize::from(request.ttl > Micros(0));
    }
    let seconds = (last - first.unwrap_or(0)) / 1_000_000;
    lines >= LINES_LEAST && lives > 0 && seconds <= lines as u64
}

/// Whether the first line has this form.
pub(super) fn fits(head: &[u8]) -> bool {
    spoken(head).next().is_some_and(|line| parse(line).is_ok())
}

/// Whether a file, without the endings of compression, has a name that Twitter gave: `cluster`, a
/// number, and perhaps `.sort` or the number of a part.
pub(super) fn is_own_name(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let Some(rest) = base.strip_prefix("cluster") else { return false };
    let mut parts = rest.split('.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.next().is_some_and(is_number)
        && parts.all(|part| is_number(part) || matches!(part, "sort" | "csv" | "txt"))
}

struct Twitter;

impl LineFormat for Twitter {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let (key, request) = parse(line).map_err(|column| {
            format!(
                "column {column} is missing or wrong in '{}'; a line has the columns {}",
                excerpt(line),
                SPEC.about
            )
        })?;
        batch.push(key, request);
        Ok(())
    }
}

fn parse(line: &[u8]) -> Result<(&[u8], LineRequest), &'static str> {
    let mut rest = line;
    let mut last = |name| {
        let comma = memchr::memrchr(b',', rest).ok_or(name)?;
        let column = &rest[comma + 1..];
        rest = &rest[..comma];
        Ok::<_, &'static str>(column)
    };
    let ttl = whole_number(last("ttl")?).ok_or("ttl")?;
    let op = op(last("operation")?).ok_or("operation")?;
    let client = whole_number(last("client_id")?).ok_or("client_id")?;
    let value_size = size(last("value_size")?).ok_or("value_size")?;
    let key_size = key_size(last("key_size")?).ok_or("key_size")?;
    let comma = memchr::memchr(b',', rest).ok_or("key")?;
    let micros = scaled(&rest[..comma], 1_000_000).ok_or("timestamp")?;
    let key = &rest[comma + 1..];
    if key.is_empty() {
        return Err("key");
    }
    let request = LineRequest {
        op,
        tenant: tenant(client),
        key_size: Some(key_size),
        ttl: Micros(ttl.saturating_mul(1_000_000)),
        ..LineRequest::get(micros, value_size)
    };
    Ok((key, request))
}

#[cfg(test)]
mod tests {
    use crate::format::detect;

    fn lines(step: u64, ttl: u64) -> Vec<u8> {
        let line = |n: u64| format!("{},k{n},3,100,7,get,{}\n", n / 4 * step, ttl * (n % 2));
        (0..60).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn the_pace_and_the_name_tell_it_from_the_common_format() {
        let found = |name: &str, head: &[u8]| detect(name, head).unwrap().name;
        assert_eq!(found("web.csv", &lines(1, 3_600)), "twitter");
        assert_eq!(found("web.csv", &lines(0, 3_600)), "twitter", "all in the first second");
        assert_eq!(found("web.csv", &lines(1_000, 3_600)), "csv", "requests a millisecond apart");
        assert_eq!(found("web.csv", &lines(1, 0)), "csv", "no lives");
        assert_eq!(found("web.twitter.csv", &lines(1_000, 0)), "twitter");
        let backwards = b"9,a,1,1,0,get,5\n8,a,1,1,0,get,5\n".repeat(9);
        assert_eq!(found("web.csv", &backwards), "csv");
        for name in ["cluster52", "dir/cluster052.sort.zst", "cluster1.000.csv.zst", "Cluster9.gz"]
        {
            assert_eq!(found(name, &lines(1_000, 0)), "twitter", "{name}");
        }
        for name in ["cluster.csv", "my-cluster5.csv", "cluster5-web.csv"] {
            assert_eq!(found(name, &lines(1_000, 0)), "csv", "{name}");
        }
    }
}
