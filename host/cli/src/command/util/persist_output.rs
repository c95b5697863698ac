//! `host util persist-output`: makes Secrets from the output files of the other containers of its pod, when each
//! container has ended.

use anyhow::{Context, anyhow};
use boson_cluster::client::{Cluster, Connection, ErrorKind, connect};
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_commands::runtime::block_on;
use boson_output::codes;
use boson_output::{DIRECTORY, KeepError, MAX_FILE_BYTES, Order, exit_code, keep, secrets};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources};
use clap::Args;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Failed requests in a row before giving up: new RBAC rules take a while to be effective.
const MAX_FAILURES: u32 = 30;
/// Bytes of a termination message that Kubernetes keeps.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Every option is read from the environment, as the operator gives it to its container
#[derive(Args, Debug)]
pub struct PersistOutputArguments {
    /// Secrets to create from files, and their owner
    #[arg(long, value_name = "JSON", env = "BOSON_OUTPUT", hide_env_values = true)]
    order: String,
    /// Namespace of this pod
    #[arg(long, env = "NAMESPACE")]
    namespace: String,
    /// Name of this pod
    #[arg(long, env = "POD_NAME")]
    pod: String,
    /// Directory with a directory for each container
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    directory: PathBuf,
    /// Write errors for the operator to this file, too
    #[arg(long, value_name = "FILE", default_value = "/dev/termination-log")]
    message_file: PathBuf,
}

/// Why it ended before all output was stored.
#[derive(Debug, thiserror::Error)]
enum PersistError {
    /// A container's output is invalid.
    #[error("{}", .0.message)]
    Invalid(Box<Diagnostic>),
    /// An error of the API server, or the pod was stopped.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

impl From<Diagnostic> for PersistError {
    fn from(error: Diagnostic) -> Self {
        Self::Invalid(Box::new(error))
    }
}

pub fn run(arguments: &PersistOutputArguments, color: Color) -> Result<(), ExitError> {
    match block_on(persist(arguments))? {
        Ok(()) => Ok(()),
        Err(PersistError::Invalid(error)) => {
            let errors = [*error];
            output::show(&errors, &Sources::default(), color);
            write_message(
                &arguments.message_file,
                &report::text(&errors, &Sources::default(), false),
            );
            Err(exit::failed(&errors, false))
        }
        Err(PersistError::Other(error)) => {
            write_message(&arguments.message_file, &format!("{error:#}"));
            Err(ExitError::Io(error))
        }
    }
}

/// Writes the message to the file for the operator. Ignores errors: outside of a pod the file does not exist, and
/// standard error has the message, too.
fn write_message(file: &Path, message: &str) {
    let end = message.floor_char_boundary(MAX_MESSAGE_BYTES);
    if file.exists() {
        let _ = std::fs::write(file, message[..end].trim_end());
    }
}

async fn persist(arguments: &PersistOutputArguments) -> Result<(), PersistError> {
    let order: Order = serde_json::from_str(&arguments.order).map_err(|_| {
        Diagnostic::error(
            codes::OUTPUT_ORDER,
            "the instructions in BOSON_OUTPUT are not valid for this program",
        )
        .help("use an operator and an image of the same version")
    })?;
    let client = connect(&Connection::Default).await.map_err(anyhow::Error::msg)?;
    let cluster = Cluster::new(client, Arc::default());
    // The first process of a container gets no SIGTERM without a handler.
    let mut stop = signal(SignalKind::terminate()).context("no signals")?;
    tokio::select! {
        done = persist_all(arguments, &cluster, &order) => done,
        _ = stop.recv() => Err(anyhow!("the pod was stopped before all of its containers had ended").into()),
    }
}

/// Until every container with output has ended.
async fn persist_all(arguments: &PersistOutputArguments, cluster: &Cluster, order: &Order) -> Result<(), PersistError> {
    let mut open: BTreeSet<&String> = order.output.output_map.keys().collect();
    let (began, mut failures) = (Instant::now(), 0);
    loop {
        match cluster.get(&arguments.namespace, &arguments.pod).await {
            Ok(Some(pod)) => {
                failures = 0;
                for container in open.clone() {
                    if let Some(code) = exit_code(&pod, container, order.restarts) {
                        persist_container(arguments, cluster, order, container, code).await?;
                        open.remove(container);
                    }
                }
            }
            Ok(None) => return Err(anyhow!("the pod was deleted").into()),
            Err(error) if failures >= MAX_FAILURES => return Err(PersistError::Other(error.into())),
            Err(_) => failures += 1,
        }
        if open.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(poll_interval(began.elapsed())).await;
    }
}

/// A watch would need permission to watch all pods of the namespace. Most containers end soon.
fn poll_interval(passed: Duration) -> Duration {
    match passed.as_secs() {
        0..20 => Duration::from_millis(250),
        20..300 => Duration::from_secs(1),
        _ => Duration::from_secs(5),
    }
}

async fn persist_container(
    arguments: &PersistOutputArguments,
    cluster: &Cluster,
    order: &Order,
    container: &str,
    code: i32,
) -> Result<(), PersistError> {
    let failed = code != 0;
    if failed && !(code == 1 && order.output.write_on_failure) {
        return Ok(());
    }
    let files = order.output.output_map.get(container).into_iter().flatten();
    for (name, asked) in files {
        let place = format!("'{name}' of container '{container}'");
        let Some(bytes) = read(&place, &arguments.directory.join(container).join(name))? else {
            if failed {
                continue;
            }
            let error = Diagnostic::error(
                codes::OUTPUT_MISSING,
                format!("the container ended without writing {place}"),
            );
            return Err(error.help(format!("write it to {DIRECTORY}/{name}")).into());
        };
        for wanted in secrets(&place, &bytes, &order.output, asked)? {
            keep(cluster, &arguments.namespace, &order.owner, &wanted)
                .await
                .map_err(|failure| match failure {
                    KeepError::Foreign(error) => PersistError::from(error),
                    KeepError::Api(error) if matches!(error.kind, ErrorKind::Refused(_)) => {
                        let what = format!("{place}: {error}");
                        PersistError::from(Diagnostic::error(codes::OUTPUT_REFUSED, what))
                    }
                    KeepError::Api(error) => PersistError::Other(error.into()),
                })?;
        }
    }
    Ok(())
}

/// `None` if there is no such file.
fn read(place: &str, path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
    let unreadable =
        |error: std::io::Error| Diagnostic::error(codes::OUTPUT_UNREADABLE, format!("cannot read {place}: {error}"));
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Diagnostic::error(
            codes::OUTPUT_TOO_LARGE,
            format!("{place} has more than {MAX_FILE_BYTES} bytes"),
        ));
    }
    Ok(Some(bytes))
}
