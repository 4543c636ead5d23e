//! Logs that clients read: slow commands, large commands, and ACL refusals.

use crate::services::acl_log::Log as AclLog;
use crate::services::slow_log::SlowLog;

/// Logs that clients read.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    /// Commands that took long.
    pub(crate) slow: SlowLog,
    /// Commands with many bytes, and commands with many bytes in their reply.
    pub(crate) large_requests: SlowLog,
    pub(crate) large_replies: SlowLog,
    /// ACL refusals.
    pub(crate) acl: AclLog,
}
