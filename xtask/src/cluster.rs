//! A cluster of stock servers with the module, for a look at what it does there: three masters and
//! a replica of each, in a folder of their own, which ends with the command.

use crate::attach::{Client, words};
use crate::built::path as built;
use crate::process::{Process, free_port};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const FORM: &str = "write: cargo x cluster valkey [SERVER [MEMORY]] [-- COMMAND…]";
const MASTERS: usize = 3;
const NODES: usize = 2 * MASTERS;
const SLOTS: usize = 16_384;
/// The first port, if this and the next ones are free.
const PORT: u16 = 7_000;
/// The longest wait for the nodes to know each other.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a cluster. Runs a command with its address in LARDER_CLUSTER, or waits for Enter.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<()> {
    let all: Vec<_> = arguments.collect();
    let (own, command) = match all.iter().position(|word| word == "--") {
        Some(at) => (&all[..at], &all[at + 1..]),
        None => (&all[..], &[][..]),
    };
    let (program, memory) = match own {
        [kind] if kind == "valkey" => ("valkey-server", "100mb"),
        [kind, program] if kind == "valkey" => (program.as_str(), "100mb"),
        [kind, program, memory] if kind == "valkey" => (program.as_str(), memory.as_str()),
        _ => bail!(FORM),
    };
    let folder = std::env::temp_dir().join(format!("larder-cluster-{}", std::process::id()));
    let ended = within(&folder, program, memory, command);
    _ = fs::remove_dir_all(folder);
    ended
}

fn within(folder: &Path, program: &str, memory: &str, command: &[String]) -> Result<()> {
    let nodes = start(folder, program, memory)?;
    let ports: Vec<_> = nodes.iter().map(|node| node.port).collect();
    let first = ports[0];
    println!("{MASTERS} masters of {program}, each with {memory}, a replica and Larder's module:");
    for at in 0..MASTERS {
        let (from, end) = (first_slot(at), first_slot(at + 1));
        let (master, replica) = (ports[at], ports[at + MASTERS]);
        println!("  127.0.0.1:{master}  slots {from} to {}, replica 127.0.0.1:{replica}", end - 1);
    }
    let url = format!("redis://127.0.0.1:{first}");
    if let [program, arguments @ ..] = command {
        let ran = Command::new(program).args(arguments).env("LARDER_CLUSTER", &url).status();
        let ran = ran.with_context(|| format!("could not start {program}"))?;
        ensure!(ran.success(), "{program}: {ran}");
        return Ok(());
    }
    println!(
        "Try in another terminal (redis-cli does as well as valkey-cli):
  valkey-cli -c -p {first} SET greeting hello
  valkey-cli -p {first} LARDER.PLAN
  valkey-cli -p {} CLUSTER FAILOVER
  larder top --cluster {url}
  larder advise --cluster {url}
Enter ends the servers.",
        ports[MASTERS]
    );
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}

fn first_slot(at: usize) -> usize {
    at * SLOTS / MASTERS
}

/// Ports for clients and for other nodes.
fn ports() -> Result<Vec<(u16, u16)>> {
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let usual: Vec<_> = (PORT..).take(NODES).collect();
    let are_free = usual.iter().all(is_free);
    let port = |at: usize| if are_free { Ok(usual[at]) } else { free_port() };
    (0..NODES).map(|at| Ok((port(at)?, free_port()?))).collect()
}

fn start(folder: &Path, program: &str, memory: &str) -> Result<Vec<Process>> {
    let module = built("liblarder_module.so")?;
    let ports = ports()?;
    let mut nodes = vec![];
    for &(port, bus) in &ports {
        let own = folder.join(port.to_string());
        fs::create_dir_all(&own)?;
        let lines = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsave \"\"\nlogfile log\nmaxmemory {memory}\n\
             maxmemory-policy allkeys-lru\nrepl-backlog-size 1mb\nrepl-diskless-sync-delay 0\n\
             cluster-enabled yes\ncluster-port {bus}\nloadmodule {}\nlarder.act yes\n",
            own.display(),
            module.display()
        );
        let file = own.join("server.conf");
        fs::write(&file, lines)?;
        nodes.push(Process::start(Command::new(program).arg(file), port)?);
    }
    let mut clients = nodes.iter().map(Client::connect).collect::<Result<Vec<_>>>()?;
    let (first, bus) = ports[0];
    for (at, client) in clients.iter_mut().enumerate() {
        if at < MASTERS {
            let (from, end) = (first_slot(at), first_slot(at + 1));
            one(client, &format!("CLUSTER ADDSLOTSRANGE {from} {}", end - 1), "OK")?;
        }
        one(client, &format!("CLUSTER MEET 127.0.0.1 {first} {bus}"), "OK")?;
    }
    let known = format!("cluster_known_nodes:{NODES}\r");
    for client in &mut clients {
        one(client, "CLUSTER INFO", &known)?;
    }
    for at in MASTERS..NODES {
        let master = clients[at - MASTERS].ask(&words("CLUSTER MYID"))?.remove(0);
        one(&mut clients[at], &format!("CLUSTER REPLICATE {}", master.trim()), "OK")?;
        one(&mut clients[at], "INFO replication", "master_link_status:up")?;
    }
    for client in &mut clients {
        one(client, "CLUSTER INFO", "cluster_state:ok")?;
    }
    Ok(nodes)
}

/// Asks until the reply contains a text.
fn one(client: &mut Client, line: &str, wanted: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        let reply = client.ask(&words(line))?.remove(0);
        if reply.contains(wanted) {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "{line}: {reply}");
        thread::sleep(Duration::from_millis(50));
    }
}
