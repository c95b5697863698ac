//! `host util wait`: waits until names resolve, or answer at a port, before the other containers of its pod start.

use crate::exit::{self, Failed};
use crate::output::{self, Color};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use clap::Args;
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, lookup_host};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

/// Timeout of one attempt: a name server that does not run yet does not answer at all.
const LOOK: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const AGAIN: Duration = Duration::from_secs(1);

/// Wait for Services
#[derive(Args, Debug)]
pub struct WaitArguments {
    /// Names to look up; with :PORT, to connect to
    #[arg(required = true, value_name = "NAME[:PORT]")]
    names: Vec<String>,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", env = "WAIT_TIMEOUT", default_value_t = 1800)]
    timeout: u64,
}

pub fn run(arguments: &WaitArguments, color: Color) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let limit = Duration::from_secs(arguments.timeout);
    runtime.block_on(async {
        let mut stop = signal(SignalKind::terminate())?;
        tokio::select! {
            result = wait(&arguments.names, limit, color) => result,
            _ = stop.recv() => Err(anyhow::anyhow!("the pod was stopped").into()),
        }
    })
}

/// One after the other: all names are needed.
async fn wait(names: &[String], limit: Duration, color: Color) -> Result<(), Failed> {
    let began = Instant::now();
    for name in names {
        let mut reported = false;
        while !is_there(name).await {
            if began.elapsed() >= limit {
                let what = format!("'{name}' was not available within {} s", limit.as_secs());
                let errors = [Diagnostic::error("wait-timeout", what)];
                output::show(&errors, &Sources::default(), color);
                return Err(exit::failed(&errors, false));
            }
            if !reported {
                output::complain(&format!("waiting for '{name}'\n"));
                reported = true;
            }
            sleep(AGAIN.min(limit.saturating_sub(began.elapsed()))).await;
        }
    }
    Ok(())
}

async fn is_there(name: &str) -> bool {
    let look = async {
        match name.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => TcpStream::connect(name).await.is_ok(),
            _ => lookup_host((name, 0))
                .await
                .is_ok_and(|mut found| found.next().is_some()),
        }
    };
    timeout(LOOK, look).await.unwrap_or(false)
}
