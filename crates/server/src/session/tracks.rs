//! Client-side caching, as one client has set it.

/// The way in which a client tracks the keys it reads, as CLIENT TRACKING sets it.
#[derive(Clone, Debug)]
pub(crate) struct Tracks {
    /// The client that gets the invalidations instead; 0 for the client itself.
    pub(crate) redirect: u64,
    pub(crate) prefixes: Option<Vec<Vec<u8>>>,
    pub(crate) opt_in: bool,
    pub(crate) opt_out: bool,
    pub(crate) no_loop: bool,
    /// The word of CLIENT CACHING, about the next command.
    pub(crate) caching: Option<bool>,
}
