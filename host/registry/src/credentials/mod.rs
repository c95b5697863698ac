//! Pull credentials: user name and password of a registry, from Secrets of type kubernetes.io/dockerconfigjson.

mod keychain;

pub use keychain::docker_credentials;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oci_spec::distribution::Reference;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// Docker's hub, in references.
pub(crate) const HUB: &str = "docker.io";

/// User name and password. `Debug` prints neither.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub username: String,
    /// Password or token.
    pub password: String,
}

#[derive(Deserialize)]
struct Config {
    /// By registry. Entries of other registries may have any form.
    auths: Option<Map<String, Value>>,
    /// Other members. Without this, a list would count as a config without members.
    #[serde(flatten)]
    _rest: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
struct Entry {
    username: Option<String>,
    password: Option<String>,
    /// Both of them.
    auth: Option<String>,
}

/// The text is not a docker config. It may contain passwords, so nothing of it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialsError;

// === impl Credentials ===

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// The credentials for `image` in the text of a `.dockerconfigjson`. Keys are matched as the kubelet does: host, with
/// or without scheme, and a path that the image's begins with; the longest counts. Keys are compared with the resolved
/// registry, not with the image's text: for `team/nats`, which is an image of docker's hub, a key for a registry called
/// `team` does not match.
///
/// # Errors
/// The text is not a docker config.
pub fn docker_config(text: &[u8], image: &str) -> Result<Option<Credentials>, CredentialsError> {
    let config: Config = serde_json::from_slice(text).map_err(|_| CredentialsError)?;
    let Ok(image) = image.parse::<Reference>() else {
        // The reference is invalid, so no registry will be contacted.
        return Ok(None);
    };
    let image = format!("{}/{}", image.registry(), image.repository());
    let matching = config
        .auths
        .iter()
        .flatten()
        .filter_map(|(key, entry)| Some((matched_bytes(key, &image)?, entry)));
    match matching.max_by_key(|(length, _)| *length) {
        Some((_, entry)) => credentials(entry).map(Some).ok_or(CredentialsError),
        None => Ok(None),
    }
}

/// How many bytes of registry and repository a key matches: whole components of the path; `None` without a match.
pub(crate) fn matched_bytes(key: &str, image: &str) -> Option<usize> {
    let key = key
        .split_once("://")
        .map_or(key, |(_, rest)| rest)
        .trim_end_matches('/');
    let key = key.strip_suffix("/v1").or(key.strip_suffix("/v2")).unwrap_or(key);
    let (host, path) = key.split_at(key.find('/').unwrap_or(key.len()));
    // Docker's key for its hub, and the name in references.
    let host = match host {
        "index.docker.io" | "registry-1.docker.io" => HUB,
        host => host,
    };
    let rest = image.strip_prefix(host)?.strip_prefix(path)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(image.len() - rest.len())
}

fn credentials(entry: &Value) -> Option<Credentials> {
    let entry = Entry::deserialize(entry).ok()?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    if let (Some(username), Some(password)) = (given(entry.username), given(entry.password)) {
        return Some(Credentials { username, password });
    }
    let decoded = String::from_utf8(STANDARD.decode(given(entry.auth)?.trim()).ok()?).ok()?;
    let (username, password) = decoded.split_once(':')?;
    Some(Credentials {
        username: username.to_owned(),
        password: password.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(config: &str, image: &str) -> Result<Option<String>, CredentialsError> {
        docker_config(config.as_bytes(), image)
            .map(|found| found.map(|found| format!("{}:{}", found.username, found.password)))
    }

    #[test]
    fn the_longest_key_that_fits_counts() {
        let config = r#"{"auths":{"r.example":{"auth":"YTpi"},"https://r.example/team/":{"username":"c","password":"d"},
            "r.example.com":{"auth":"eDp5"},"https://index.docker.io/v1/":{"auth":"aDpw"},
            "registry":{"auth":"eDp5"},"registry/nats":{"auth":"eDp5"},"nats":{"auth":"eDp5"},"docker.io/team":{"auth":"dDpw"}}}"#;
        for (image, wanted) in [
            ("r.example/nats:1", Some("a:b")),
            ("r.example/team/nats:1", Some("c:d")),
            ("r.example/teams/nats:1", Some("a:b")),
            ("index.docker.io/library/nats:1", Some("h:p")),
            ("other.example/nats", None),
            ("registry/nats:1", Some("h:p")),
            ("nats", Some("h:p")),
            ("docker.io/team/nats:1", Some("t:p")),
            ("r.example:5000/nats:1", None),
            ("r.example/nats@sha256:", None),
        ] {
            assert_eq!(user(config, image), Ok(wanted.map(str::to_owned)), "{image}");
        }
    }

    #[test]
    fn what_is_no_docker_config_is_distinguished_from_one_without_the_registry() {
        assert_eq!(user("{}", "a.io/b"), Ok(None));
        for broken in [
            "",
            "[]",
            "{",
            r#"{"auths":{"a.io":{"auth":"!"}}}"#,
            r#"{"auths":{"a.io":{}}}"#,
        ] {
            assert_eq!(user(broken, "a.io/b"), Err(CredentialsError), "{broken}");
        }
        let debug = format!(
            "{:?}",
            docker_config(br#"{"auths":{"a.io":{"auth":"YTpi"}}}"#, "a.io/b")
        );
        assert!(!debug.contains('b'), "{debug}");
    }
}
