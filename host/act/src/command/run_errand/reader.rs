//! Reads the log of a container to its end, also if connections are lost.

use super::output::Logs;
use super::pods::{Progress, Source, progress};
use crate::log_text::{LogText, Position};
use anyhow::anyhow;
use boson_cluster::client::{Error, ErrorKind, LogParams};
use boson_look::access::Access;
use futures::AsyncBufReadExt;
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Pause before a connection that was lost is opened again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Most attempts to read the rest of a log after its container has ended.
const MAX_LAST_ATTEMPTS: usize = 5;
/// Longest wait for the rest of all logs after the end of a run.
const LAST_LOGS_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Readers {
    access: Arc<Access>,
    logs: Arc<Mutex<Logs>>,
    tasks: JoinSet<anyhow::Result<()>>,
    seen: BTreeSet<Source>,
}

/// Why a log could not be read further.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("the connection was lost")]
    Connection,
    #[error(transparent)]
    Api(#[from] Error),
    #[error(transparent)]
    File(#[from] anyhow::Error),
}

// === impl Readers ===

impl Readers {
    pub fn new(access: Arc<Access>, logs: Arc<Mutex<Logs>>) -> Self {
        Self {
            access,
            logs,
            tasks: JoinSet::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Reads these logs, if it does not do so yet.
    pub fn read(&mut self, sources: Vec<Source>) {
        for source in sources {
            if self.seen.insert(source.clone()) {
                self.tasks.spawn(read(self.access.clone(), self.logs.clone(), source));
            }
        }
    }

    /// The errors of readers that have stopped.
    pub fn errors(&mut self) -> Vec<anyhow::Error> {
        let ended = std::iter::from_fn(|| self.tasks.try_join_next());
        ended
            .filter_map(|one| one.map_err(Into::into).flatten().err())
            .collect()
    }

    pub async fn finish(&mut self) -> Vec<anyhow::Error> {
        let mut errors = Vec::new();
        let all = async {
            while let Some(one) = self.tasks.join_next().await {
                errors.extend(one.map_err(Into::into).flatten().err());
            }
        };
        if tokio::time::timeout(LAST_LOGS_TIMEOUT, all).await.is_err() {
            errors.push(anyhow!("the rest of the log could not be read"));
        }
        self.logs.lock().finish();
        errors
    }
}

async fn read(access: Arc<Access>, logs: Arc<Mutex<Logs>>, source: Source) -> anyhow::Result<()> {
    let mut position = Position::default();
    let mut last_attempts = 0;
    loop {
        let pod = access.cluster.get::<Pod>(&access.namespace, &source.pod).await;
        let progress = match pod {
            Ok(pod) => progress(pod.as_ref(), &source),
            Err(error) if error.kind == ErrorKind::Forbidden => return Err(access.explain(error)),
            Err(_) => Progress::Runs,
        };
        if progress == Progress::Gone {
            return Ok(());
        }
        // What it has written before its end was read is in the log now.
        let is_last = progress != Progress::Runs;
        let mut text = LogText::from(position);
        let stopped = copy(&access, &logs, &source, progress, &mut text).await;
        position = text.position;
        match stopped {
            Ok(()) if is_last => return Ok(()),
            Err(ReadError::File(error)) => return Err(error),
            Err(ReadError::Api(error)) if error.kind == ErrorKind::Forbidden => return Err(access.explain(error)),
            Err(ReadError::Api(error)) if is_last && last_attempts >= MAX_LAST_ATTEMPTS => return Err(error.into()),
            Err(_) if is_last && last_attempts >= MAX_LAST_ATTEMPTS => return Ok(()),
            Ok(()) | Err(_) => {}
        }
        last_attempts += usize::from(is_last);
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Copies what follows of a log.
async fn copy(
    access: &Access,
    logs: &Mutex<Logs>,
    source: &Source,
    progress: Progress,
    text: &mut LogText,
) -> Result<(), ReadError> {
    let query = LogParams {
        follow: progress == Progress::Runs,
        previous: progress == Progress::Restarted,
        since_time: text.position.time,
        timestamps: true,
        ..LogParams::default()
    };
    let container = access.container(&source.pod, &source.container);
    let mut stream = access.cluster.log(container, &query).await?;
    loop {
        let chunk = stream.fill_buf().await.map_err(|_| ReadError::Connection)?;
        if chunk.is_empty() {
            return Ok(());
        }
        let new = text.text_of(chunk);
        let read = chunk.len();
        stream.consume_unpin(read);
        logs.lock().add(&source.container, &new, source.shown)?;
    }
}
