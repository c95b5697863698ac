//! `host util wait`: waits until names resolve, or answer at a port, before the other containers of its pod start.

use crate::codes;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_commands::runtime::block_on;
use boson_dns::lookup::{self, Found};
use boson_dns::resolv_conf;
use boson_pipeline::Diagnostic;
use clap::Args;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, lookup_host};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

/// Timeout of one attempt: a name server that does not run yet does not answer at all.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
const ATTEMPT_INTERVAL: Duration = Duration::from_secs(1);
/// How long a group's first instance must not exist until the group counts as one without instances: Services are made
/// one after the other, and DNS servers remember for up to 30 seconds that a name did not exist.
const NO_INSTANCES_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the deployment's DNS may be silent until the cluster's DNS decides alone.
const DNS_SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
const DNS_PORT: u16 = 53;
/// File with the addresses of the cluster's DNS.
const RESOLV_CONF_PATH: &str = "/etc/resolv.conf";

/// Wait for Services
#[derive(Args, Debug)]
pub struct WaitArguments {
    /// Wait until this name resolves; with :PORT, until a connection succeeds
    #[arg(required = true, value_name = "NAME[:PORT]")]
    names: Vec<String>,
    /// Fail after this time, in seconds
    #[arg(long, value_name = "SECONDS", env = "WAIT_TIMEOUT", default_value_t = 1800)]
    timeout: u64,
    /// Address of the first instance, if NAME is the Service of an instance group: do not wait if the group has no
    /// instances
    #[arg(long, value_name = "NAME")]
    first_instance: Option<String>,
    /// Address of the deployment's DNS
    #[arg(long, value_name = "NAME", requires_all = ["healthy", "first_instance"])]
    dns: Option<String>,
    /// Name that the deployment's DNS resolves if an instance of the group is ready
    #[arg(long, value_name = "NAME", requires = "dns")]
    healthy: Option<String>,
}

pub fn run(arguments: &WaitArguments, color: Color) -> Result<(), ExitError> {
    block_on(async {
        let mut stop = signal(SignalKind::terminate())?;
        tokio::select! {
            result = wait(arguments, color) => result,
            _ = stop.recv() => Err(anyhow::anyhow!("the pod was stopped").into()),
        }
    })?
}

/// One after the other: all names are needed.
async fn wait(arguments: &WaitArguments, color: Color) -> Result<(), ExitError> {
    let (began, limit) = (Instant::now(), Duration::from_secs(arguments.timeout));
    for name in &arguments.names {
        let mut reported = false;
        let mut group = Group::default();
        while !is_available(arguments, name, &mut group).await {
            if began.elapsed() >= limit {
                let what = format!("'{name}' was not available within {} s", limit.as_secs());
                let error = Diagnostic::error(codes::WAIT_TIMEOUT, what);
                return Err(exit::fail(error, color));
            }
            if !reported {
                output::eprint(&format!("waiting for '{name}'\n"));
                reported = true;
            }
            sleep(ATTEMPT_INTERVAL.min(limit.saturating_sub(began.elapsed()))).await;
        }
    }
    Ok(())
}

async fn is_available(arguments: &WaitArguments, name: &str, group: &mut Group) -> bool {
    if let Some(first) = &arguments.first_instance {
        let answers = Answers::of(name, first, arguments).await;
        let verdict = group.verdict(&answers, Instant::now());
        if verdict == Verdict::NoInstances {
            output::eprint(&format!(
                "not waiting for '{name}': its instance group has no instances\n"
            ));
        }
        return verdict != Verdict::NotYet;
    }
    let is_up = async {
        match name.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => TcpStream::connect(name).await.is_ok(),
            _ => resolve(name).await.is_some(),
        }
    };
    timeout(ATTEMPT_TIMEOUT, is_up).await.unwrap_or(false)
}

/// The first address of a name.
async fn resolve(name: &str) -> Option<SocketAddr> {
    lookup_host((name, DNS_PORT))
        .await
        .ok()
        .and_then(|mut found| found.next())
}

/// What the servers say of an instance group at one time; none: they do not answer.
#[derive(Clone, Copy, Debug)]
struct Answers {
    /// The cluster's, of its Service: pods that are not ready count, but of a group with active/passive probes only the
    /// active one.
    service: Option<Found>,
    /// The cluster's, of the Service of its first instance, which exists as long as the instance.
    first: Option<Found>,
    has_dns: bool,
    /// Those of the deployment, if it has DNS servers, of its ready instances.
    ready: Option<Found>,
}

// === impl Answers ===

impl Answers {
    async fn of(service: &str, first: &str, arguments: &WaitArguments) -> Self {
        let cluster = std::fs::read_to_string(RESOLV_CONF_PATH).unwrap_or_default();
        let cluster = resolv_conf::servers(&cluster)
            .first()
            .map(|ip| SocketAddr::from((*ip, DNS_PORT)));
        let ready = match (&arguments.dns, &arguments.healthy) {
            (Some(server), Some(query)) => {
                let server = timeout(ATTEMPT_TIMEOUT, resolve(server)).await.ok().flatten();
                ask(server, query).await
            }
            _ => None,
        };
        Self {
            service: ask(cluster, service).await,
            first: ask(cluster, first).await,
            has_dns: arguments.dns.is_some(),
            ready,
        }
    }
}

async fn ask(server: Option<SocketAddr>, name: &str) -> Option<Found> {
    let (server, name) = (server?, name.to_string());
    let asked = tokio::task::spawn_blocking(move || lookup::ask(server, &name).ok());
    asked.await.ok().flatten()
}

/// What is known of an instance group from earlier answers.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Since when its first instance does not exist.
    absent_since: Option<Instant>,
    /// Since when the deployment's DNS is silent.
    silent_since: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ready,
    NoInstances,
    NotYet,
}

// === impl Group ===

impl Group {
    fn verdict(&mut self, answers: &Answers, now: Instant) -> Verdict {
        let since = |begun: &mut Option<Instant>, holds: bool| {
            if holds {
                now.saturating_duration_since(*begun.get_or_insert(now))
            } else {
                *begun = None;
                Duration::ZERO
            }
        };
        let absent = since(&mut self.absent_since, answers.first == Some(Found::NoSuchName));
        let silent = since(&mut self.silent_since, answers.has_dns && answers.ready.is_none());
        let ready = match answers.ready {
            Some(found) => Some(found),
            None if answers.has_dns && silent < DNS_SILENCE_TIMEOUT => None,
            None => answers.service,
        };
        if ready == Some(Found::Addresses) {
            Verdict::Ready
        } else if absent >= NO_INSTANCES_TIMEOUT {
            Verdict::NoInstances
        } else {
            Verdict::NotYet
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Found::{Addresses, NoSuchName, Nothing};

    /// Verdicts on answers that are 20 seconds apart.
    fn verdicts(answers: &[Answers]) -> String {
        let (mut group, mut now, mut out) = (Group::default(), Instant::now(), String::new());
        for one in answers {
            out.push(match group.verdict(one, now) {
                Verdict::Ready => 'r',
                Verdict::NoInstances => 'n',
                Verdict::NotYet => '.',
            });
            now += Duration::from_secs(20);
        }
        out
    }

    fn answers(service: Found, first: Found) -> Answers {
        Answers {
            service: Some(service),
            first: Some(first),
            has_dns: false,
            ready: None,
        }
    }

    #[test]
    fn without_servers_of_its_own_a_group_is_waited_for_until_it_has_an_address() {
        let [starting, up] = [answers(NoSuchName, Addresses), answers(Addresses, Addresses)];
        assert_eq!(verdicts(&[starting, starting, up]), "..r");
        assert_eq!(verdicts(&[answers(Nothing, Addresses); 9]), ".........");
    }

    #[test]
    fn a_group_without_instances_is_not_waited_for() {
        let [none, starting] = [answers(NoSuchName, NoSuchName), answers(NoSuchName, Addresses)];
        assert_eq!(verdicts(&[none, none, none, none]), "...n");
        assert_eq!(verdicts(&[none, none, starting, none, none, none, none]), "......n");
        let silent = Answers {
            service: None,
            first: None,
            has_dns: false,
            ready: None,
        };
        assert_eq!(verdicts(&[silent; 9]), ".........", "a silent DNS says nothing");
    }

    #[test]
    fn the_deployments_servers_tell_ready_instances_from_others() {
        let with = |ready| Answers {
            has_dns: true,
            ready,
            ..answers(Addresses, Addresses)
        };
        let [starting, ready, silent] = [with(Some(Nothing)), with(Some(Addresses)), with(None)];
        assert_eq!(
            verdicts(&[starting, starting, starting, starting, starting, ready]),
            ".....r"
        );
        assert_eq!(
            verdicts(&[silent, silent, silent, silent]),
            "...r",
            "the cluster's DNS decides"
        );
        assert_eq!(verdicts(&[silent, starting, silent, silent, silent, silent]), ".....r");
        // A server learns of a new group up to a minute later than the cluster.
        assert_eq!(verdicts(&[with(Some(NoSuchName)), ready]), ".r");
    }
}
