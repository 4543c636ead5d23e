//! The flow of a connection's commands: whether the next one may run, and if not, the reason.

use crate::services::blocked_clients::BlockedCommand;

/// Whether the next command of a connection may run.
#[derive(Debug, Default)]
pub(crate) enum Flow {
    /// It may run.
    #[default]
    Running,
    /// The batch ends here. The remaining bytes are another batch, which begins at once.
    EndBatch(Why),
    /// It waits until the replies so far are sent, or other clients have had their turn.
    Throttled,
    /// It waits for the end of CLIENT PAUSE.
    Paused,
    /// It waits behind a command that is blocked until another client writes.
    Blocked(Box<BlockedCommand>),
    /// The client sent a wrong password: until this time, in milliseconds of the server's clock, it
    /// gets no answer, and its commands wait.
    BackingOff { until_ms: u64 },
}

/// The reason why a batch ends before its bytes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The command has changed which observers apply to later commands.
    Observers,
    /// Another worker needs exclusive access.
    Exclusive,
}

impl Flow {
    /// The blocked command.
    pub(crate) const fn blocked(&self) -> Option<&BlockedCommand> {
        if let Self::Blocked(wait) = self { Some(wait) } else { None }
    }

    /// The blocked command, to be changed.
    pub(crate) const fn blocked_mut(&mut self) -> Option<&mut BlockedCommand> {
        if let Self::Blocked(wait) = self { Some(wait) } else { None }
    }

    /// Takes the blocked command out, if there is one. Then the next command may run.
    pub(super) fn unblock(&mut self) -> Option<Box<BlockedCommand>> {
        match std::mem::take(self) {
            Self::Blocked(wait) => Some(wait),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Ends the state [`Flow::EndBatch`]. Returns false if the flow was in another state.
    pub(crate) fn begin_batch(&mut self) -> bool {
        let is_ended = matches!(self, Self::EndBatch(_));
        if is_ended {
            *self = Self::Running;
        }
        is_ended
    }
}
