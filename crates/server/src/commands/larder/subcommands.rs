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
        "Shows the plan in force with its forecast, and the result of the last one.",
    ),
    Command::new("larder|curve", -3, READ, curve::curve).doc(
        "server",
        "8.0.0",
        "Shows the miss ratio of a tenant at every size.",
    ),
    Command::new("larder|epochs", -2, READ, plan::epochs).doc(
        "server",
        "8.0.0",
        "Shows what became of the plans of the last epochs.",
    ),
    Command::new("larder|advise", -2, READ, answers::advise).doc(
        "server",
        "8.0.0",
        "Says what a person should know or do.",
    ),
    Command::new("larder|why", -3, READ, answers::why).doc(
        "server",
        "8.0.0",
        "Says why a tenant misses what it misses.",
    ),
    Command::new("larder|memory", -4, READ, answers::memory).doc(
        "server",
        "8.0.0",
        "Says how much memory a miss ratio takes.",
    ),
    Command::new("larder|size", -3, READ, answers::size).doc(
        "server",
        "8.0.0",
        "Says what another size of memory would give.",
    ),
    Command::new("larder|policies", -2, READ, answers::policies).doc(
        "server",
        "8.0.0",
        "Says which eviction policy is best for this traffic.",
    ),
    Command::new("larder|history", -2, READ, answers::history).doc(
        "server",
        "8.0.0",
        "Says what changed, when, and whether it helped.",
    ),
    Command::new("larder|report", 3, READ, answers::whole).doc(
        "server",
        "8.0.0",
        "Shows all that is known as one document.",
    ),
    Command::new("larder|tenants", -2, READ, tenants::tenants).doc(
        "server",
        "8.0.0",
        "Shows what each tenant has and does.",
    ),
    Command::new("larder|tides", -2, READ, tides::tides).doc(
        "server",
        "8.0.0",
        "Shows whose load comes and goes, and what is dumped and loaded.",
    ),
    Command::new("larder|dump", -2, ADMIN, tides::dump).doc(
        "server",
        "8.0.0",
        "Moves the items of a tenant, or of all, from memory to the disk.",
    ),
    Command::new("larder|load", -2, ADMIN, tides::load).doc(
        "server",
        "8.0.0",
        "Brings back what was dumped.",
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
        "    What to know or do: what is wrong, what it rests on, what to type.",
        "WHY <tenant> [JSON]",
        "    Why it misses: never written, evicted, expired, deleted, or read too early.",
        "MEMORY <tenant> <miss ratio> [JSON]",
        "    How much memory gives it that, or why none does.",
        "SIZE <memory> [JSON]",
        "    What all and each tenant would miss and wait with 1gb, +1gb or -25% of memory.",
        "POLICIES [JSON]",
        "    What each eviction policy would make of this traffic.",
        "HISTORY [<time back>] [JSON]",
        "    What changed in the last hour, or in 10m, 2h, 1d; with JSON the figures, too.",
        "CURVE <tenant> [JSON]",
        "    The miss ratio at every size, under the policy that is best there.",
        "TENANTS [JSON]",
        "    Memory, misses and waiting of each tenant.",
        "PLAN [JSON]",
        "    The plan in force with its forecast, and the result of the epoch before.",
        "EPOCHS [JSON]",
        "    The last epochs of the loop: whether each plan was adopted, the gain it promised, the",
        "    memory it moved, its forecast, and the actual result.",
        "REPORT JSON",
        "    All of that in one document.",
        "TIDES [JSON]",
        "    Whose load comes and goes with which period, what has a copy on the disk, and what",
        "    came of the last dump and load.",
        "DUMP [<tenant>]",
        "    Move the items of a tenant, or of all, to the disk (dump-max); in the background.",
        "LOAD [<tenant>]",
        "    Bring back what no client has written or removed since; in the background.",
        "HELP",
        "    Print this help.",
    ])
}
