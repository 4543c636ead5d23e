//! The server as the source of pages over HTTP.

use super::{guard, metrics};
use crate::facts::HTTP_PORT_DEFAULT;
use crate::observe::report::report_of;
use crate::server::Server;
use crate::settings::config::Error;
use ::report::{History, Report};
use dashboard::{Listener, Refused, Source};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Opens the listener. The default port may be taken without an error, so that several servers on
/// one machine start without a setting.
pub(crate) fn open(bind: IpAddr, port: Option<u16>) -> Result<Option<Listener>, Error> {
    let wanted = SocketAddr::new(bind, port.unwrap_or(HTTP_PORT_DEFAULT));
    match dashboard::listen(wanted) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if port.is_none() => {
            tracing::warn!(%error, "cannot serve metrics at {wanted}: choose another http-port");
            Ok(None)
        }
        Err(error) => {
            Err(Error(format!("cannot listen on {wanted}: {error}: choose another http-port")))
        }
    }
}

impl Source for Server {
    fn now_unix_s(&self) -> u64 {
        self.clock.now().unix_ms / 1_000
    }

    fn report(&self) -> (Report, History) {
        let history = self.observed.lock_history().clone();
        (report_of(self, &history), history)
    }

    fn metrics(&self) -> String {
        metrics::text(self)
    }

    fn unready(&self) -> Option<&'static str> {
        self.saved.warm.is_restoring().then_some("restoring")
    }

    fn is_ending(&self) -> bool {
        self.process.is_stopping()
    }

    fn places(&self) -> usize {
        self.view.now().settings.http_maxclients
    }

    async fn admit(&self, authorization: Option<&str>, peer: SocketAddr) -> Result<(), Refused> {
        let (view, parts) = (self.view.now(), (&self.clients, &self.logs, &self.clock));
        guard::admit(&view.settings, parts, authorization, peer).await
    }

    fn is_named(&self, host: &str) -> bool {
        let own = nix::unistd::gethostname().unwrap_or_default();
        let view = self.view.now();
        let names = view.settings.http_hosts.iter().map(String::as_str);
        names.chain(own.to_str()).any(|name| name.eq_ignore_ascii_case(host))
    }

    fn note_unaccepted(&self, error: &io::Error) {
        self.clients.note_unaccepted(error, self.clock.micros().0 / 1_000);
    }
}
