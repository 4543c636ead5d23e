//! The slots of a cluster: keys and channels of a call must belong to this node.

use super::refused::Refused;
use crate::call::{Call, Failure};
use crate::facts::flag::SLOTTED;
use crate::facts::table::get;
use crate::server::View;
use crate::services::clients::Client;
use crate::settings::cluster::{Cluster, Elsewhere, Node};

/// The error for keys in several slots.
pub(super) const CROSS_SLOT: &str = "CROSSSLOT Keys in request don't hash to the same slot";

/// Checks that the keys and channels of a call belong to this node.
#[inline(never)]
pub(crate) fn permit(cluster: &Cluster, call: &Call<'_>, number: u16) -> Result<(), Refused> {
    let (command, args) = (get(number), &call.args);
    let keys = command.key_places(args.len(), |at| args.get(at)).map(|at| call.arg(at));
    let channels = command.channel_places(args.len()).map(|at| call.arg(at));
    let checked = if command.has(SLOTTED) { cluster.check(channels) } else { cluster.check(keys) };
    checked.map_err(|elsewhere| Refused::Elsewhere(number, elsewhere))
}

/// The error that redirects a client, or that explains why no node can serve the keys.
pub(crate) fn redirect(view: &View, client: &Client, elsewhere: Elsewhere) -> Failure {
    let owner = |slot| view.cluster.as_ref()?.owner(slot);
    match elsewhere {
        Elsewhere::Cross => CROSS_SLOT.into(),
        Elsewhere::Moved(slot) if let Some(node) = owner(slot) => {
            format!("MOVED {slot} {}:{}", node.host, port(view, client, node)).into_bytes().into()
        }
        _ => "CLUSTERDOWN Hash slot not served".into(),
    }
}

/// The port of a node for this client, with or without TLS.
pub(crate) fn port(view: &View, client: &Client, node: &Node) -> u16 {
    let tls_port = view.settings.tls_port;
    node.port_for(tls_port > 0 && client.listener == tls_port)
}
