//! Muted replies: CLIENT REPLY, and memcached's quiet commands.

/// The replies that a client wants, as CLIENT REPLY sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mute {
    /// All replies.
    #[default]
    No,
    /// All replies, except that to the command after CLIENT REPLY SKIP.
    Next,
    /// All replies, except that to this command.
    This,
    /// No replies.
    Always,
}

impl Mute {
    /// Whether the client does not want the reply to the command that has just run. Moves on to the
    /// state for the next command.
    #[inline]
    pub(crate) const fn is_muted(&mut self) -> bool {
        match self {
            Self::No => return false,
            Self::Next => *self = Self::This,
            Self::This => {
                *self = Self::No;
                return true;
            }
            Self::Always => return true,
        }
        false
    }
}
