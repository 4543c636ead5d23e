//! The servers of a run: one server, or several that are compared on the same requests.

use crate::client::Client;
use crate::place::Place;
use anyhow::{Context, bail, ensure};
use clap::builder::RangedU64ValueParser;

/// A server and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) place: Place,
}

/// The servers of a run, and the number of rounds.
#[derive(clap::Args, Debug)]
pub(crate) struct Servers {
    /// The server: redis://[user:password@]host[:port][/db] or
    /// memcached://[user:password@]host[:port]; given several times the servers are compared, each
    /// gets every request
    #[arg(long, required_unless_present = "prepare", value_name = "[NAME=]URL")]
    to: Vec<String>,
    /// Play to all servers at the same time, instead of one after the other
    #[arg(long)]
    pub(crate) at_once: bool,
    /// Number of runs; every second one visits the servers in the opposite order. Results are
    /// medians with ranges
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    pub(crate) rounds: usize,
    /// Empty each server before each of its runs: FLUSHALL, flush_all
    #[arg(long)]
    pub(crate) flush: bool,
}

impl Servers {
    /// The servers in order.
    pub(crate) fn peers(&self) -> anyhow::Result<Vec<Peer>> {
        if self.rounds > 1 && !self.flush {
            bail!(
                "--rounds {}: a second round would find a warm cache and measure something else; \
                 add --flush, which deletes everything on the servers before each round",
                self.rounds
            );
        }
        let mut peers: Vec<Peer> = vec![];
        for text in &self.to {
            let peer = Peer::parse(text)?;
            if peers.iter().any(|other| other.name == peer.name) {
                bail!("two servers have the name '{}': write --to NAME=URL", peer.name);
            }
            peers.push(peer);
        }
        Ok(peers)
    }

    /// Whether there is more than one run to compare.
    pub(crate) fn compares(&self) -> bool {
        self.to.len() > 1 || self.rounds > 1
    }
}

impl Peer {
    /// Reads `name=URL` or `URL`.
    fn parse(text: &str) -> anyhow::Result<Self> {
        // A password behind the scheme may contain the sign too.
        let scheme = text.find("://").unwrap_or(text.len());
        let (name, url) = match text[..scheme].split_once('=') {
            Some((name, _)) => (Some(name), &text[name.len() + 1..]),
            None => (None, text),
        };
        ensure!(name != Some(""), "--to needs a name before the URL: write --to NAME=URL");
        let place = Place::parse(url)?;
        let address = place.address();
        let host_port = || format!("{}:{}", address.host, address.port);
        Ok(Self { name: name.map_or_else(host_port, str::to_owned), place })
    }

    /// Has the server delete all its keys.
    pub(crate) fn empty(&self) -> anyhow::Result<()> {
        let emptied = Client::connect(&self.place, 0).and_then(|mut client| client.empty());
        emptied.with_context(|| format!("server {}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(to: &[&str], rounds: usize, flush: bool) -> Servers {
        let to = to.iter().map(|text| (*text).to_owned()).collect();
        Servers { to, at_once: false, rounds, flush }
    }

    #[test]
    fn servers_have_the_name_that_is_given_or_their_place() {
        let texts = ["a=redis://x:y=z@h", "memcached://h", "redis://u:p=q@h:7"];
        let peers = options(&texts, 1, false).peers().unwrap();
        let names: Vec<&str> = peers.iter().map(|peer| peer.name.as_str()).collect();
        assert_eq!(names, ["a", "h:11211", "h:7"]);
        assert_eq!(peers[0].place.address().login, Some(("x".into(), "y=z".into())));
        for (texts, rounds, fix) in [
            (&["redis://h", "redis://h"][..], 1, "NAME=URL"),
            (&["=redis://h"], 1, "NAME=URL"),
            (&["h:7"], 1, "redis://host:port"),
            (&["redis://h"], 2, "--flush"),
        ] {
            let error = options(texts, rounds, false).peers().unwrap_err().to_string();
            assert!(error.contains(fix), "{error}");
        }
        assert!(options(&["redis://h"], 2, true).peers().is_ok());
    }
}
