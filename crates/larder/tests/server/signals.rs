//! Signals, sent to the binary: SIGHUP reads certificates anew and ends nothing, SIGTERM ends.

use crate::client::Client;
use crate::process::serve;

#[test]
fn a_hangup_ends_nothing() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    server.signal("-HUP");
    server.logged("nothing to read anew");
    assert_eq!(client.ask("PING"), "+PONG\r\n");
    server.stop();
    assert_eq!(client.reply(), b"");
}
