//! Programs that run in containers.

use crate::lines::Lines;
use anyhow::{anyhow, bail};
use boson_cluster::client::{AttachedProcess, Container, Ended, Error, ErrorKind, Input};
use boson_look::access::Access;
use boson_manifest::container_run::PROGRAM;
use futures::FutureExt;
use futures::future::OptionFuture;
use std::fs::File;
use std::io::Read;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How many programs run at a time.
pub const MAX_CONCURRENT_PROGRAMS: usize = 16;
/// What is read of a stream, or written to one, at a time.
const PART_BYTES: usize = 32 << 10;
/// Its exit code for a command that it does not know.
const UNKNOWN_COMMAND_CODE: i32 = 2;
/// How many of its messages are shown.
const MAX_MESSAGES: usize = 20;
/// How long to wait for the rest of the output after a lost connection: its end is not reported then.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// Where output was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    Error,
}

/// Starts a program.
///
/// # Errors
/// A permission is missing, or the container does not run.
pub async fn start(
    access: &Access,
    container: Container<'_>,
    command: &[String],
    input: Input,
) -> anyhow::Result<AttachedProcess> {
    let started = access.cluster.exec(container, command, input).await;
    started.map_err(|error| explain(access, container, error))
}

/// The error for the user. The container is named, because that is what the message of the server is about.
pub fn explain(access: &Access, container: Container<'_>, error: Error) -> anyhow::Error {
    match error.kind {
        ErrorKind::Forbidden => access.explain(error),
        kind => anyhow!("container '{}' of pod '{}': {kind}", container.name, container.pod),
    }
}

/// Reads the output of a program until it ends. `feed` writes its input meanwhile.
///
/// # Errors
/// The output cannot be taken, or the input not be read.
pub async fn read_output(
    mut process: AttachedProcess,
    feed: impl Future<Output = anyhow::Result<()>>,
    take: impl FnMut(Stream, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Ended> {
    let never = async {
        feed.await?;
        std::future::pending().await
    };
    tokio::select! {
        ended = read_streams(&mut process, take) => ended,
        failed = never => failed,
    }
}

async fn read_streams(
    process: &mut AttachedProcess,
    mut take: impl FnMut(Stream, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Ended> {
    let status = OptionFuture::from(process.take_status()).map(Option::flatten);
    tokio::pin!(status);
    let mut ended = None;
    let mut output = (process.stdout(), vec![0; PART_BYTES]);
    let mut errors = (process.stderr(), vec![0; PART_BYTES]);
    while output.0.is_some() || errors.0.is_some() {
        let (count, stream) = tokio::select! {
            count = read(&mut output.0, &mut output.1), if output.0.is_some() => (count?, Stream::Output),
            count = read(&mut errors.0, &mut errors.1), if errors.0.is_some() => (count?, Stream::Error),
            status = &mut status, if ended.is_none() => {
                ended = Some(Ended::of(status));
                continue;
            }
            () = tokio::time::sleep(REST_TIMEOUT), if matches!(ended, Some(Ended::Failed(_))) => break,
        };
        let (reader, buffer) = match stream {
            Stream::Output => (&mut output.0, &output.1),
            Stream::Error => (&mut errors.0, &errors.1),
        };
        if count == 0 {
            *reader = None;
        } else {
            take(stream, &buffer[..count])?;
        }
    }
    match ended {
        Some(ended) => Ok(ended),
        None => Ok(Ended::of(status.await)),
    }
}

async fn read(reader: &mut Option<impl AsyncReadExt + Unpin>, buffer: &mut [u8]) -> std::io::Result<usize> {
    match reader {
        Some(reader) => reader.read(buffer).await,
        None => Ok(0),
    }
}

/// Runs a command of container-run. Returns its messages, such as files that it cannot read.
///
/// # Errors
/// It fails; the error has its messages.
pub async fn container_run(
    access: &Access,
    container: Container<'_>,
    arguments: &[&str],
    input: Option<File>,
    mut take: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<String>> {
    let command: Vec<String> = [PROGRAM].iter().chain(arguments).map(ToString::to_string).collect();
    let kind = if input.is_some() { Input::Stream } else { Input::Nothing };
    let mut process = start(access, container, &command, kind).await?;
    let stdin = process.stdin();
    let feed = async {
        let (Some(mut stdin), Some(mut file)) = (stdin, input) else {
            return Ok(());
        };
        let mut part = vec![0; PART_BYTES];
        loop {
            let count = file.read(&mut part)?;
            if count == 0 {
                return Ok(());
            }
            stdin.write_all(&part[..count]).await?;
        }
    };
    let (mut lines, mut messages) = (Lines::default(), Vec::new());
    let ended = read_output(process, feed, |stream, part| match stream {
        Stream::Output => take(part),
        Stream::Error => {
            messages.extend(lines.push(part));
            messages.truncate(MAX_MESSAGES);
            Ok(())
        }
    });
    let ended = ended.await?;
    messages.extend(lines.end());
    let messages: Vec<String> = messages
        .iter()
        .map(|line| line.replace("container-run: ", ""))
        .collect();
    match ended {
        Ended::WithCode(0) => Ok(messages),
        Ended::WithCode(UNKNOWN_COMMAND_CODE) => bail!(
            "the process wrapper of the pod is older than this command: restart the instance with an operator of this \
             version"
        ),
        Ended::WithCode(code) if messages.is_empty() => bail!("the process wrapper ended with exit code {code}"),
        Ended::WithCode(_) => bail!("{}", messages.join("; ")),
        Ended::Failed(why) => bail!("{why}"),
    }
}
