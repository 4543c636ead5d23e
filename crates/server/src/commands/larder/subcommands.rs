//! The list of the subcommands, and their help.

use super::{answers, curve, plan, tenants, tides};
use crate::call::{Call, Command, Done};
use crate::facts::flag::{ADMIN, FAST, READ};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[Command::container("larder", 0, SUBCOMMANDS).doc(
    "server",
    "8.0.0",
    "Shows the plan, the curves and the shares of memory.",
)];

const SUBCOMMANDS: &[Command] = &[
    Command::new("larder|plan", -2, READ, plan::plan).doc(
        "server",
        "8.0.0",
        "Shows the plan in force with its forecast, and the result of the last round.",
    ),
    Command::new("larder|curve", -3, READ, curve::curve).doc(
        "server",
        "8.0.0",
        "Shows the miss ratio of a tenant at every size.",
    ),
    Command::new("larder|epochs", -2, READ, plan::epochs).doc(
        "server",
        "8.0.0",
        "Shows the plans of the last rounds and their results.",
    ),
    Command::new("larder|advise", -2, READ, answers::advise).doc(
        "server",
        "8.0.0",
        "Shows problems, their evidence and the remedies.",
    ),
    Command::new("larder|why", -3, READ, answers::why).doc(
        "server",
        "8.0.0",
        "Shows the causes of a tenant's misses.",
    ),
    Command::new("larder|memory", -4, READ, answers::memory).doc(
        "server",
        "8.0.0",
        "Shows how much memory a tenant needs for a miss ratio.",
    ),
    Command::new("larder|size", -3, READ, answers::size).doc(
        "server",
        "8.0.0",
        "Shows misses and waiting with another memory size.",
    ),
    Command::new("larder|policies", -2, READ, answers::policies).doc(
        "server",
        "8.0.0",
        "Shows which eviction policy is best for this traffic.",
    ),
    Command::new("larder|history", -2, READ, answers::history).doc(
        "server",
        "8.0.0",
        "Shows what changed, when, and whether it helped.",
    ),
    Command::new("larder|forecasts", -2, READ, answers::forecasts).doc(
        "server",
        "8.0.0",
        "Shows how far the forecasts can be trusted.",
    ),
    Command::new("larder|report", 3, READ, answers::whole).doc(
        "server",
        "8.0.0",
        "Shows the whole report as one document.",
    ),
    Command::new("larder|tenants", -2, READ, tenants::tenants).doc(
        "server",
        "8.0.0",
        "Shows memory, misses and waiting of each tenant.",
    ),
    Command::new("larder|tides", -2, READ, tides::tides).doc(
        "server",
        "8.0.0",
        "Shows the periods of the tenants' loads, and their dumps.",
    ),
    Command::new("larder|dump", -2, ADMIN, tides::dump).doc(
        "server",
        "8.0.0",
        "Moves the items of one tenant, or of all tenants, from memory to the disk.",
    ),
    Command::new("larder|load", -2, ADMIN, tides::load).doc(
        "server",
        "8.0.0",
        "Loads dumped items into memory again.",
    ),
    Command::new("larder|help", 2, READ | FAST, help).doc(
        "server",
        "8.0.0",
        "Lists the subcommands.",
    ),
];

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "LARDER <subcommand> [<arg> ...]. Subcommands are:",
        "ADVISE [<tenant>] [JSON]",
        "    Problems, their evidence, and the commands to type.",
        "WHY <tenant> [<time back>] [JSON]",
        "    The causes of its misses, lately or in 15m, 2h, 1d: never written, evicted, expired, \
         deleted, or read too early.",
        "MEMORY <tenant> <miss ratio> [JSON]",
        "    The memory that gives it this miss ratio, or why no memory does.",
        "SIZE <memory> [JSON]",
        "    Misses and waiting of all and of each tenant with 1gb, +1gb or -25% of memory.",
        "POLICIES [JSON]",
        "    Misses and waiting with each eviction policy, for the same requests.",
        "HISTORY [<time back>] [JSON]",
        "    Changes in the last hour, or in 10m, 2h, 1d; with JSON also the figures.",
        "FORECASTS [JSON]",
        "    How many forecasts were compared with what followed, and how far off they were.",
        "CURVE <tenant> [JSON]",
        "    The miss ratio at every size, with the best policy for that size.",
        "TENANTS [JSON]",
        "    Memory, misses and waiting of each tenant.",
        "PLAN [JSON]",
        "    The plan in force with its forecast, and the result of the round before.",
        "EPOCHS [JSON]",
        "    The last rounds of self-tuning: whether each plan was adopted, the gain it promised,",
        "    the memory it moved, its forecast, and the actual result.",
        "REPORT JSON",
        "    All of these answers in one document.",
        "TIDES [JSON]",
        "    The periods of the tenants' loads, the items that have a copy on the disk, and the",
        "    results of the last dump and load.",
        "DUMP [<tenant>]",
        "    Move the items of one tenant, or of all, to the disk (dump-max), in the background.",
        "LOAD [<tenant>]",
        "    Load the items that no client has changed or deleted since, in the background.",
        "HELP",
        "    Print this help.",
    ])
}
