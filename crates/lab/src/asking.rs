//! Questions to a running server, whose answers are texts.

use crate::replay::{Address, Link};
use anyhow::bail;
use wire::resp::Reply;

/// A connection whose replies are texts.
pub(crate) struct Asking(Link);

impl Asking {
    pub(crate) fn connect(address: &Address) -> anyhow::Result<Self> {
        Ok(Self(Link::connect(address, address.db)?))
    }

    /// The text that a command answers.
    pub(crate) fn text(&mut self, args: &[&str]) -> anyhow::Result<String> {
        self.0.put(args);
        self.0.flush()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let answer = self.0.reply(|reply| match reply {
            Reply::Bulk(bytes) | Reply::Simple(bytes) => Ok(text(bytes)),
            Reply::Error(bytes) => Err(text(bytes)),
            other => Err(format!("{other:?}")),
        })?;
        match answer {
            Ok(text) => Ok(text),
            Err(error) => bail!("the server refuses {}: {error}", args.join(" ")),
        }
    }
}

/// A field of INFO's lines.
pub(crate) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim_end)
}
