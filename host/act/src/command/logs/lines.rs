//! Lines of logs, printed as they come.

use super::filter::Filter;
use crate::containers::{self, LOG_FILES};
use crate::lines::Lines;
use crate::log_text::{LogText, Position};
use crate::remote;
use crate::selection::Selection;
use anyhow::bail;
use boson_cluster::client::{Container, Error, ErrorKind, LogParams};
use boson_commands::output;
use boson_look::access::{Access, Found};
use boson_look::instances::Instance;
use futures::stream::FuturesUnordered;
use futures::{AsyncReadExt, StreamExt, TryStreamExt};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::Semaphore;

/// As tail(1).
const FOLLOWED_LINES: u32 = 10;
/// How many logs are opened at a time; without --follow, how many are read.
const CONCURRENT_LOGS: usize = 16;
/// Each log that is followed needs a connection to the API server.
const MAX_FOLLOWED_LOGS: usize = 500;
const PART_BYTES: usize = 16 << 10;
/// How long to wait before a log is opened again, such as that of a container that restarts.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);
/// How often a log is opened without success before an error is reported.
const MAX_ATTEMPTS: usize = 60;
/// How often to look for new pods.
const LIST_INTERVAL: Duration = Duration::from_secs(5);

pub struct Shown {
    pub filter: Filter,
    pub quiet: bool,
    /// How many lines of each log.
    pub num: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    pod: String,
    container: String,
    instance: String,
}

// === impl Shown ===

impl Shown {
    fn sources(&self, instances: &[Instance]) -> Vec<Source> {
        let of_instance = |instance: &Instance| {
            let containers = instance.pod.iter().flat_map(containers::main_and_sidecars);
            let wanted = containers.filter(|one| one.name == LOG_FILES || self.filter.has_lines(one));
            let source = |container: &k8s_openapi::api::core::v1::Container| Source {
                pod: instance.pod_name(),
                container: container.name.clone(),
                instance: instance.to_string(),
            };
            wanted.map(source).collect::<Vec<Source>>()
        };
        instances.iter().flat_map(of_instance).collect()
    }

    /// A line as it is printed; nothing if it is not to be shown.
    fn line(&self, source: &Source, line: &str) -> Option<String> {
        let is_name = |name: &str| name.contains('/') && !name.contains(' ');
        // That container puts the name of the file before each line.
        let named = line.split_once(": ").filter(|(name, _)| is_name(name));
        let (name, text) = match named.filter(|_| source.container == LOG_FILES) {
            Some((name, text)) => {
                if !self.filter.has_file(name) {
                    return None;
                }
                (name, text)
            }
            None if source.container == LOG_FILES => return None,
            None => (source.container.as_str(), line),
        };
        Some(if self.quiet {
            format!("{text}\n")
        } else {
            format!("{} {name} | {text}\n", source.instance)
        })
    }

    fn print(&self, source: &Source, line: &str) -> anyhow::Result<()> {
        if let Some(text) = self.line(source, line) {
            output::print(&text)?;
        }
        Ok(())
    }
}

/// Prints the last lines of all logs.
pub async fn print_last(access: &Access, instances: &[Instance], shown: &Shown) -> anyhow::Result<()> {
    let query = LogParams {
        timestamps: true,
        tail_lines: shown.num.map(i64::from),
        ..LogParams::default()
    };
    let sources = shown.sources(instances);
    let each = sources.iter().map(async |source| {
        let container = access.container(&source.pod, &source.container);
        let read = match access.cluster.log(container, &query).await {
            Ok(stream) => print_all(stream, &mut Position::default(), |line| shown.print(source, line)).await,
            Err(error) => Err(LogError::Opening(error)),
        };
        match read {
            Ok(()) => Ok(()),
            Err(LogError::Opening(error)) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Refused(_)) => {
                // Its pod is gone, or it has not started yet.
                output::eprint(&format!("{} {}: it has no log\n", source.instance, source.container));
                Ok(())
            }
            Err(failure) => Err(failure.explain(access, container)),
        }
    });
    let all = futures::stream::iter(each).buffer_unordered(CONCURRENT_LOGS);
    all.try_collect().await
}

/// Prints lines until the command is interrupted.
pub async fn follow(access: &Access, found: &Found, selection: &Selection, shown: &Shown) -> anyhow::Result<()> {
    let opening = Semaphore::new(CONCURRENT_LOGS);
    let mut known = BTreeSet::new();
    let mut running = FuturesUnordered::new();
    let mut list = tokio::time::interval(LIST_INTERVAL);
    list.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut tail = Some(i64::from(shown.num.unwrap_or(FOLLOWED_LINES)));
    loop {
        tokio::select! {
            Some(ended) = running.next() => {
                let source: Source = ended?;
                known.remove(&source);
            }
            _ = list.tick() => {
                let listed = Instance::all(access, found).await;
                let instances = match listed {
                    Ok(instances) => selection.of(instances).unwrap_or_default(),
                    Err(error) if tail.is_some() => return Err(error),
                    // The API server may be unavailable for a moment.
                    Err(_) => continue,
                };
                for source in shown.sources(&instances) {
                    if known.insert(source.clone()) {
                        running.push(follow_one(access, source, shown, tail, &opening));
                    }
                }
                if known.len() > MAX_FOLLOWED_LOGS {
                    bail!("{} logs are too many to follow: select an instance group or a job", known.len());
                }
                // Of a new pod, all lines are new.
                tail = None;
            }
        }
    }
}

/// Until its pod is deleted.
async fn follow_one(
    access: &Access,
    source: Source,
    shown: &Shown,
    tail: Option<i64>,
    opening: &Semaphore,
) -> anyhow::Result<Source> {
    let container = access.container(&source.pod, &source.container);
    let mut query = LogParams {
        follow: true,
        timestamps: true,
        tail_lines: tail,
        ..LogParams::default()
    };
    let mut position = Position::default();
    let mut attempts = 0;
    loop {
        let permit = opening.acquire().await?;
        let opened = access.cluster.log(container, &query).await;
        drop(permit);
        let failure = match opened {
            Ok(stream) => {
                attempts = 0;
                match print_all(stream, &mut position, |line| shown.print(&source, line)).await {
                    Err(LogError::Printing(error)) => return Err(error),
                    other => other.err(),
                }
            }
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(source),
            Err(error) => Some(LogError::Opening(error)),
        };
        match failure {
            // The container waits for its start.
            Some(LogError::Opening(error)) if matches!(error.kind, ErrorKind::Refused(_)) => {}
            Some(failure) if attempts == MAX_ATTEMPTS || failure.is_forbidden() => {
                return Err(failure.explain(access, container));
            }
            _ => attempts += 1,
        }
        if position.time.is_some() {
            query.tail_lines = None;
            query.since_time = position.time;
        }
        tokio::time::sleep(REOPEN_INTERVAL).await;
    }
}

/// Why a log was not printed to its end.
#[derive(Debug, thiserror::Error)]
enum LogError {
    #[error(transparent)]
    Opening(#[from] Error),
    #[error(transparent)]
    Reading(#[from] std::io::Error),
    #[error(transparent)]
    Printing(#[from] anyhow::Error),
}

// === impl LogError ===

impl LogError {
    fn is_forbidden(&self) -> bool {
        matches!(self, Self::Opening(error) if error.kind == ErrorKind::Forbidden)
    }

    fn explain(self, access: &Access, container: Container<'_>) -> anyhow::Error {
        match self {
            Self::Opening(error) => remote::explain(access, container, error),
            Self::Reading(error) => error.into(),
            Self::Printing(error) => error,
        }
    }
}

/// Prints what follows a position, and moves it.
async fn print_all(
    mut stream: impl AsyncReadExt + Unpin,
    position: &mut Position,
    mut print: impl FnMut(&str) -> anyhow::Result<()>,
) -> Result<(), LogError> {
    let (mut text, mut lines, mut part) = (LogText::from(*position), Lines::default(), vec![0; PART_BYTES]);
    let ended = loop {
        match stream.read(&mut part).await {
            Ok(0) => break Ok(()),
            Ok(count) => {
                let new = text.text_of(&part[..count]);
                *position = text.position;
                for line in lines.push(&new) {
                    print(&line)?;
                }
            }
            Err(error) => break Err(LogError::Reading(error)),
        }
    };
    // Its time has been read: it does not come again.
    if let Some(line) = lines.end() {
        print(&line)?;
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::glob::Pattern;

    fn shown(quiet: bool, only: &[&str]) -> Shown {
        Shown {
            filter: Filter {
                only: only.iter().filter_map(|text| Pattern::read(text)).collect(),
                ..Filter::default()
            },
            quiet,
            num: None,
        }
    }

    fn source(container: &str) -> Source {
        Source {
            pod: "p".into(),
            container: container.into(),
            instance: "web/0".into(),
        }
    }

    #[test]
    fn lines_begin_with_instance_and_process_or_file() {
        let all = shown(false, &[]);
        let (process, files) = (source("app-app"), source(LOG_FILES));
        assert_eq!(all.line(&process, "a/b: c").unwrap(), "web/0 app-app | a/b: c\n");
        assert_eq!(
            all.line(&files, "app/a.log: text: x").unwrap(),
            "web/0 app/a.log | text: x\n"
        );
        assert_eq!(all.line(&files, "container-run: more than 1000 log files"), None);
        assert_eq!(shown(true, &[]).line(&process, "text").unwrap(), "text\n");
        assert_eq!(shown(false, &["other/*"]).line(&files, "app/a.log: text"), None);
    }
}
