//! The only connection between a node and this machine: a pair of interfaces, one at each end. It is removed with the
//! node.

use anyhow::{Result, bail, ensure};
use std::net::Ipv4Addr;
use std::process::Command;

/// A pair of interfaces and their addresses: a /24 for each node of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    number: u8,
}

// === impl Link ===

impl Link {
    /// Creates a pair between this machine and the network of a process. Its name shows nodes of other tests that the
    /// number is in use.
    pub(super) fn claim(process: u32) -> Result<Self> {
        let process = process.to_string();
        for link in (0..=u8::MAX).map(|number| Self { number }) {
            let name = link.interface();
            let made = Command::new("ip")
                .args(["link", "add", &name, "type", "veth", "peer", "name", "eth0"])
                .args(["netns", &process])
                .output()?;
            let error = String::from_utf8_lossy(&made.stderr).into_owned();
            if made.status.success() {
                link.bring_up()?;
                return Ok(link);
            }
            ensure!(error.contains("File exists"), "no interface {name}: {error}");
        }
        bail!("all numbers of nodes are taken on this machine")
    }

    fn bring_up(self) -> Result<()> {
        let (name, node) = (self.interface(), self.node().to_string());
        let gateway = format!("{}/30", self.gateway());
        ip(&["address", "add", &gateway, "dev", &name])?;
        ip(&["link", "set", &name, "up"])?;
        // A route needs both ends up; this end is.
        ip(&["route", "add", &self.pods(), "via", &node])
    }

    /// The node's commands for its end.
    pub(super) fn inner_end(self) -> String {
        format!("ip address add {}/30 dev eth0 && ip link set eth0 up", self.node())
    }

    /// This machine's address for the node and its pods.
    pub(super) fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 231, self.number, 1)
    }

    pub(super) fn node(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 231, self.number, 2)
    }

    /// The addresses of pods.
    pub(super) fn pods(self) -> String {
        format!("10.231.{}.128/25", self.number)
    }

    fn interface(self) -> String {
        format!("boson{}", self.number)
    }
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(arguments).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {}: {error}", arguments.join(" "));
    Ok(())
}
