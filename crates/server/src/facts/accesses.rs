//! The access of a command to its keys, databases and channels.

/// The access of a command to a key. The words are those of COMMAND GETKEYSANDFLAGS. The required
/// permissions follow from them: `tells` requires the permission to read, and a `change` the
/// permission to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// `RO`, `RW`, `OW` (the old value is overwritten without a read) or `RM`.
    pub(crate) mode: &'static str,
    /// Whether the reply or another key reveals something of the value.
    pub(crate) tells: bool,
    /// `update`, `insert`, `delete`, or nothing.
    pub(crate) change: Option<&'static str>,
    /// Whether the key itself is removed.
    pub(crate) removes: bool,
}

impl Access {
    pub(super) const fn new(mode: &'static str, tells: bool, change: Option<&'static str>) -> Self {
        Self { mode, tells, change, removes: false }
    }

    pub(super) const fn removing(self) -> Self {
        Self { removes: true, ..self }
    }

    /// Whether the access requires the permission to read the key, and to write it.
    pub(crate) const fn needs(self) -> (bool, bool) {
        (self.tells, self.change.is_some())
    }
}

/// The access to each key of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accesses {
    Same(Access),
    /// Finds the access to the key at a position among the arguments; the command's name is at 0.
    Each(fn(&[&[u8]], usize) -> Access),
}

/// The databases that a command accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Databases {
    /// No database.
    Nothing,
    /// The client's database.
    Current,
    /// All databases.
    All,
    /// The database that the argument at this position names. It becomes the client's database.
    Enters(usize),
    /// The client's database, and one that an argument names. The function finds the argument's
    /// position.
    Also(fn(&[&[u8]]) -> Option<usize>),
}

/// The arguments that are channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    /// None.
    Nothing,
    /// The first argument.
    First,
    /// All arguments.
    All,
    /// All arguments, which are patterns of channels.
    Patterns,
}
