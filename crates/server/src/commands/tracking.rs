//! CLIENT TRACKING and related commands: invalidations for keys that a client caches.
//! `crate::services::tracking` knows which client has read which key.

use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::server::removal_events;
use crate::services::tracking::Tracker;
use crate::session::{Tracks, Why};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::atomic::Ordering;

/// A subcommand of CLIENT.
pub(super) const TRACKING: Command = Command::new("client|tracking", -3, 0, tracking).doc(
    "connection",
    "6.0.0",
    "Notifies this connection when keys that it has read change.",
);
pub(super) const INFO: Command = Command::new("client|trackinginfo", 2, 0, info).doc(
    "connection",
    "6.2.0",
    "How this connection tracks keys.",
);
pub(super) const CACHING: Command = Command::new("client|caching", 3, 0, caching).doc(
    "connection",
    "6.0.0",
    "Whether the keys of the next command are tracked.",
);
pub(super) const GETREDIR: Command = Command::new("client|getredir", 2, 0, getredir).doc(
    "connection",
    "6.0.0",
    "The connection that receives invalidations instead of this one.",
);

/// The options of CLIENT TRACKING.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of the command")]
struct Options {
    redirect: u64,
    bcast: bool,
    opt_in: bool,
    opt_out: bool,
    no_loop: bool,
    prefixes: Vec<Vec<u8>>,
}

impl Options {
    fn read(call: &Call<'_>) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut at = 3;
        while at < call.args.len() {
            let has_value = at + 1 < call.args.len();
            if call.is(at, "redirect") && has_value {
                at += 1;
                if options.redirect > 0 {
                    return Err("ERR A client can only redirect to a single other client".into());
                }
                let id = call.integer(at)?;
                let client = u64::try_from(id).ok().filter(|&id| call.server.clients.has(id));
                let missing = "ERR The client ID you want redirect to does not exist";
                options.redirect = client.ok_or(missing)?;
            } else if call.is(at, "prefix") && has_value {
                at += 1;
                options.prefixes.push(call.arg(at).to_vec());
            } else if call.is(at, "bcast") {
                options.bcast = true;
            } else if call.is(at, "optin") {
                options.opt_in = true;
            } else if call.is(at, "optout") {
                options.opt_out = true;
            } else if call.is(at, "noloop") {
                options.no_loop = true;
            } else {
                return Err(SYNTAX.into());
            }
            at += 1;
        }
        Ok(options)
    }

    /// Refuses options that conflict with each other, or with the way in which the client tracks
    /// already.
    fn check(&self, old: Option<&Tracks>) -> Result<(), &'static str> {
        if !self.bcast && !self.prefixes.is_empty() {
            return Err("ERR PREFIX option requires BCAST mode to be enabled");
        }
        if old.is_some_and(|old| old.prefixes.is_some() != self.bcast) {
            return Err(
                "ERR You can't switch BCAST mode on/off before disabling tracking for this \
                        client, and then re-enabling it with a different mode.",
            );
        }
        if self.bcast && (self.opt_in || self.opt_out) {
            return Err("ERR OPTIN and OPTOUT are not compatible with BCAST");
        }
        if self.opt_in && self.opt_out {
            return Err("ERR You can't specify both OPTIN mode and OPTOUT mode");
        }
        let switches = |old: &Tracks| self.opt_in && old.opt_out || self.opt_out && old.opt_in;
        if old.is_some_and(switches) {
            return Err(
                "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this \
                        client, and then re-enabling it with a different mode.",
            );
        }
        Ok(())
    }

    /// The old and the new prefixes. None of them may be a prefix of another.
    fn prefixes(&self, old: Option<&Tracks>) -> Result<Vec<Vec<u8>>, Failure> {
        let mut all = old.and_then(|old| old.prefixes.clone()).unwrap_or_default();
        let before: BTreeSet<&[u8]> = all.iter().map(Vec::as_slice).collect();
        // For each prefix, a later one that it overlaps.
        let mut behind = BTreeSet::new();
        let mut others = vec![None; self.prefixes.len()];
        for (at, new) in self.prefixes.iter().enumerate().rev() {
            others[at] = overlap(&behind, new);
            behind.insert(new.as_slice());
        }
        for (new, other) in self.prefixes.iter().zip(others) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let clash = |what: &str, known: &[u8]| {
                let (new, known) = (text(new), text(known));
                Failure::err(&format!(
                    "Prefix '{new}' overlaps with {what} prefix '{known}'. Prefixes for a single \
                     client must not overlap."
                ))
            };
            if let Some(known) = overlap(&before, new) {
                return Err(clash("an existing", known));
            }
            if let Some(known) = other {
                return Err(clash("another provided", known));
            }
        }
        all.extend(self.prefixes.iter().cloned());
        if all.is_empty() {
            all.push(vec![]);
        }
        Ok(all)
    }
}

/// Finds a known prefix that begins with `prefix`, or that `prefix` begins with.
fn overlap<'a>(known: &BTreeSet<&'a [u8]>, prefix: &[u8]) -> Option<&'a [u8]> {
    let from = (Bound::Included(prefix), Bound::Unbounded);
    let longer = known.range::<[u8], _>(from).next().copied();
    let shorter = || (0..prefix.len()).rev().find_map(|len| known.get(&prefix[..len]).copied());
    longer.filter(|longer| longer.starts_with(prefix)).or_else(shorter)
}

fn tracking(call: &mut Call<'_>) -> Done {
    let options = Options::read(call)?;
    if call.is(2, "off") {
        stop(call);
        return call.ok();
    }
    if !call.is(2, "on") {
        return Err(SYNTAX.into());
    }
    let old = call.session.tracks.as_deref();
    options.check(old)?;
    let prefixes = if options.bcast { Some(options.prefixes(old)?) } else { None };
    let Options { redirect, opt_in, opt_out, no_loop, .. } = options;
    let tenants = call.session.reachable(call.view);
    let tracker = Tracker { redirect, no_loop, prefixes: prefixes.clone(), tenants };
    call.server.audience.tracking.join(call.session.client.id, tracker);
    // Removals are noted from here on.
    removal_events::tell(call.server);
    let tracks = Tracks { redirect, prefixes, opt_in, opt_out, no_loop, caching: None };
    let client = &call.session.client;
    client.redirect.store(redirect as i64, Ordering::Relaxed);
    client.broadcast.store(tracks.prefixes.is_some(), Ordering::Relaxed);
    call.session.tracks = Some(Box::new(tracks));
    // The rest of the batch is tracked already.
    call.session.end_batch(Why::Observers);
    call.ok()
}

/// Ends tracking for the client of the call.
pub(super) fn stop(call: &mut Call<'_>) {
    if call.session.tracks.take().is_some() {
        let client = &call.session.client;
        client.redirect.store(-1, Ordering::Relaxed);
        client.broadcast.store(false, Ordering::Relaxed);
        call.server.audience.tracking.leave(client.id);
    }
}

fn caching(call: &mut Call<'_>) -> Done {
    let Some(tracks) = &mut call.session.tracks else {
        return Err("ERR CLIENT CACHING can be called only when the client is in tracking mode \
                    with OPTIN or OPTOUT mode enabled"
            .into());
    };
    match call.args.get(2).unwrap_or_default().to_ascii_lowercase().as_slice() {
        b"yes" if tracks.opt_in => tracks.caching = Some(true),
        b"yes" => {
            return Err("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN \
                        mode."
                .into());
        }
        b"no" if tracks.opt_out => tracks.caching = Some(false),
        b"no" => {
            return Err("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT \
                        mode."
                .into());
        }
        _ => return Err(SYNTAX.into()),
    }
    call.ok()
}

fn getredir(call: &mut Call<'_>) -> Done {
    let redirect = call.session.tracks.as_ref().map_or(-1, |tracks| tracks.redirect as i64);
    call.out.integer(redirect);
    Ok(())
}

fn info(call: &mut Call<'_>) -> Done {
    let tracks = call.session.tracks.as_deref();
    let mut flags = vec![if tracks.is_some() { "on" } else { "off" }];
    if let Some(tracks) = tracks {
        let broken = tracks.redirect > 0 && !call.server.clients.has(tracks.redirect);
        for (flag, on) in [
            ("bcast", tracks.prefixes.is_some()),
            ("optin", tracks.opt_in),
            ("caching-yes", tracks.caching == Some(true)),
            ("optout", tracks.opt_out),
            ("caching-no", tracks.caching == Some(false)),
            ("noloop", tracks.no_loop),
            ("broken_redirect", broken),
        ] {
            if on {
                flags.push(flag);
            }
        }
    }
    let redirect = tracks.map_or(-1, |tracks| tracks.redirect as i64);
    let prefixes = tracks.and_then(|tracks| tracks.prefixes.clone()).unwrap_or_default();
    let out = &mut call.out;
    out.map(3);
    out.bulk(b"flags");
    out.set(flags.len());
    for flag in flags {
        out.bulk(flag.as_bytes());
    }
    out.bulk(b"redirect");
    out.integer(redirect);
    out.bulk(b"prefixes");
    out.array(prefixes.len());
    for prefix in prefixes {
        out.bulk(&prefix);
    }
    Ok(())
}
