//! The table of all commands: the families, in the order of COMMAND's reply.

use crate::call::{self, Command};
use crate::commands::{
    acl, admin, bitfield, bits, blocking, client, cluster, config, connection, counter, function,
    hash, hash_getex, hash_life, hotkeys, info, introspection, key, larder, latency, lcs, list,
    list_move, list_search, monitor, pubsub, relocate, scan, script, set, set_algebra, slowlog,
    sort, string, transaction, zset, zset_algebra, zset_pop, zset_range,
};
use crate::facts::{CommandDoc, Facts, table};
use std::sync::Once;

/// The families, in the order of COMMAND's reply.
const FAMILIES: &[&[Command]] = &[
    string::COMMANDS,
    lcs::COMMANDS,
    counter::COMMANDS,
    bits::COMMANDS,
    bitfield::COMMANDS,
    hash::COMMANDS,
    hash_life::COMMANDS,
    hash_getex::COMMANDS,
    list::COMMANDS,
    list_search::COMMANDS,
    list_move::COMMANDS,
    set::COMMANDS,
    set_algebra::COMMANDS,
    zset::COMMANDS,
    zset_range::COMMANDS,
    zset_pop::COMMANDS,
    zset_algebra::COMMANDS,
    blocking::COMMANDS,
    sort::COMMANDS,
    key::COMMANDS,
    relocate::COMMANDS,
    scan::COMMANDS,
    connection::COMMANDS,
    client::COMMANDS,
    acl::COMMANDS,
    transaction::COMMANDS,
    script::COMMANDS,
    function::COMMANDS,
    pubsub::COMMANDS,
    introspection::COMMANDS,
    latency::COMMANDS,
    config::COMMANDS,
    info::COMMANDS,
    admin::COMMANDS,
    cluster::COMMANDS,
    monitor::COMMANDS,
    slowlog::COMMANDS,
    hotkeys::COMMANDS,
    larder::COMMANDS,
];

/// Fills the tables of facts and handlers, before the server reads its settings.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let all: Vec<&'static Command> = FAMILIES.iter().copied().flatten().collect();
        let facts: Vec<(&'static Facts, _)> =
            all.iter().map(|command| (&command.facts, command.below())).collect();
        table::fill(&facts);
        call::install(&all);
    });
}

/// Every command in words, each followed by its subcommands.
pub fn about() -> impl Iterator<Item = CommandDoc> {
    install();
    let with_below =
        |facts: &'static Facts| std::iter::once(facts).chain(table::subcommands(facts));
    table::all().flat_map(with_below).map(CommandDoc::from)
}
