//! `container-run skip-drain`: the pod stops without its pre-stop and drain scripts. It is run in one of its containers
//! before the pod is deleted.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::arguments::Flags;
use crate::error::{Context, Result};
use crate::instance::{now, read_short, write};
use crate::places::Places;

/// In the directory that the containers of a pod share: until when the request is valid, by the clock that they share.
const REQUEST_FILE: &str = "skip-drain";

pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    request(&places.instance(), flags.valid)?;
    Ok(0)
}

fn request(directory: &Path, valid: Duration) -> Result<()> {
    if valid.is_zero() {
        let path = directory.join(REQUEST_FILE);
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).path_context("deleting", &path),
            _ => Ok(()),
        };
    }
    let until = now().saturating_add(u64::try_from(valid.as_nanos()).unwrap_or(u64::MAX));
    write(directory, REQUEST_FILE, &until.to_string())
}

/// Whether a request is valid.
pub fn is_requested(directory: &Path) -> bool {
    let until = read_short(directory, REQUEST_FILE).and_then(|text| text.parse::<u64>().ok());
    until.is_some_and(|until| now() < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_valid_for_some_time_and_can_be_ended() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        assert!(!is_requested(directory));
        request(directory, Duration::from_nanos(1)).unwrap();
        assert!(!is_requested(directory), "it has expired");
        request(directory, Duration::from_secs(3600)).unwrap();
        assert!(is_requested(directory));
        request(directory, Duration::ZERO).unwrap();
        request(directory, Duration::ZERO).unwrap();
        assert!(!is_requested(directory));
    }

    #[test]
    fn a_request_that_is_repeated_stays_valid() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let valid = Duration::from_secs(3600);
        request(directory, valid).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..2000).for_each(|_| request(directory, valid).unwrap()));
            assert!((0..2000).all(|_| is_requested(directory)));
        });
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        std::os::unix::fs::symlink(&target, directory.path().join(REQUEST_FILE)).unwrap();
        assert!(request(directory.path(), Duration::from_secs(1)).is_err());
        assert!(!target.exists());
    }
}
