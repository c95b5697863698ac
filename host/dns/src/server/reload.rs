//! Reads the zone, and again when its ConfigMaps change.

use super::State;
use crate::zone::{AliasFiles, Zone, ZoneError};
use boson_manifest::dns::{ZONE_KEY, alias_error};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the files are read. The kubelet takes about a minute to update them.
const READ_INTERVAL: Duration = Duration::from_secs(2);
/// Largest file: what a ConfigMap can hold.
const MAX_FILE_BYTES: u64 = 2 << 20;
/// Ending of the keys with alias files of a group's jobs.
const ALIASES_SUFFIX: &str = ".aliases.json";

/// Why the zone cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read '{0}': {1}")]
    File(PathBuf, io::Error),
    #[error("'{0}': {1}")]
    Zone(PathBuf, ZoneError),
}

/// Reads the zone of a directory, and a hash of its content.
///
/// # Errors
/// See [`ConfigError`].
pub fn read(directory: &Path) -> Result<(Zone, u64), ConfigError> {
    let texts = texts(directory)?;
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    let path = directory.join(ZONE_KEY);
    let document = texts.get(ZONE_KEY).map_or("", String::as_str);
    let mut files = AliasFiles::new();
    for (name, text) in texts.iter().filter(|(name, _)| name.ends_with(ALIASES_SUFFIX)) {
        match serde_json::from_str::<BTreeMap<String, BTreeMap<String, Vec<String>>>>(text) {
            Ok(jobs) => files.extend(jobs.into_iter().map(|(job, aliases)| (job, without_invalid(aliases)))),
            // Errors in one group's templates must not affect the names of the others.
            Err(error) => tracing::error!(name, %error, "alias files cannot be read: their aliases do not resolve"),
        }
    }
    let zone = Zone::read(document, &files).map_err(|error| ConfigError::Zone(path, error))?;
    Ok((zone, hasher.finish()))
}

fn without_invalid(aliases: BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let is_valid = |name: &String| alias_error(name).is_none();
    let valid = aliases
        .into_iter()
        .filter(|(domain, targets)| is_valid(domain) && targets.iter().all(is_valid));
    valid.collect()
}

pub(super) fn text(path: &Path) -> io::Result<String> {
    io::read_to_string(File::open(path)?.take(MAX_FILE_BYTES))
}

fn texts(directory: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let file_error = |path: &Path| {
        let path = path.to_path_buf();
        move |error| ConfigError::File(path, error)
    };
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(file_error(directory))? {
        let entry = entry.map_err(file_error(directory))?;
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap_or_default());
        if name.ends_with(".json") && path.is_file() {
            texts.insert(name, text(&path).map_err(file_error(&path))?);
        }
    }
    Ok(texts)
}

/// Reloads the zone whenever it changes, forever. If it cannot be read, the previous zone stays in use.
pub(super) async fn follow(directory: PathBuf, mut digest: u64, state: Arc<State>) {
    let mut logged = String::new();
    loop {
        tokio::time::sleep(READ_INTERVAL).await;
        match read(&directory) {
            Ok((_, same)) if same == digest => logged.clear(),
            Ok((zone, other)) => {
                tracing::info!(
                    groups = zone.groups.len(),
                    instances = zone.instances.len(),
                    aliases = zone.aliases.len(),
                    "the zone has changed"
                );
                state.put_zone(zone);
                digest = other;
                logged.clear();
            }
            Err(error) => {
                state.tally.unreadable.fetch_add(1, Ordering::Relaxed);
                let text = error.to_string();
                if text != logged {
                    tracing::error!(error = text, "the zone cannot be read: the previous one stays in use");
                    logged = text;
                }
            }
        }
    }
}
