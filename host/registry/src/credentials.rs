//! Who may pull: user name and password of a registry, as they stand in Secrets of type kubernetes.io/dockerconfigjson.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::fmt;

/// User name and password. Prints neither.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// User name.
    pub username: String,
    /// Password or token.
    pub password: String,
}

/// The text is no docker config. It may hold passwords, so nothing of it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

// === impl Credentials ===

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// The credentials for `image` in the text of a `.dockerconfigjson`. Keys are matched as the kubelet does: host, with or without scheme, and a
/// path that the image's begins with; the longest counts.
///
/// # Errors
/// The text is no docker config.
pub fn docker_config(text: &[u8], image: &str) -> Result<Option<Credentials>, Malformed> {
    let config: Value = serde_json::from_slice(text).map_err(|_| Malformed)?;
    let Some(registries) = config.get("auths").and_then(Value::as_object) else {
        return if config.is_object() { Ok(None) } else { Err(Malformed) };
    };
    let fitting = registries
        .iter()
        .filter_map(|(key, entry)| Some((fit(key, image)?, entry)));
    match fitting.max_by_key(|(length, _)| *length) {
        Some((_, entry)) => credentials(entry).map(Some).ok_or(Malformed),
        None => Ok(None),
    }
}

/// How many bytes of the image's name a key fits.
fn fit(key: &str, image: &str) -> Option<usize> {
    let key = key
        .split_once("://")
        .map_or(key, |(_, rest)| rest)
        .trim_end_matches('/');
    // What docker writes for its hub.
    let key = match key {
        "index.docker.io/v1" | "index.docker.io/v2" => "index.docker.io",
        key => key.strip_suffix("/v1").or(key.strip_suffix("/v2")).unwrap_or(key),
    };
    let rest = image.strip_prefix(key)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(key.len())
}

fn credentials(entry: &Value) -> Option<Credentials> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let (Some(username), Some(password)) = (text("username"), text("password")) {
        return Some(Credentials {
            username: username.to_owned(),
            password: password.to_owned(),
        });
    }
    let decoded = String::from_utf8(STANDARD.decode(text("auth")?.trim()).ok()?).ok()?;
    let (username, password) = decoded.split_once(':')?;
    Some(Credentials {
        username: username.to_owned(),
        password: password.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(config: &str, image: &str) -> Result<Option<String>, Malformed> {
        docker_config(config.as_bytes(), image)
            .map(|found| found.map(|found| format!("{}:{}", found.username, found.password)))
    }

    #[test]
    fn the_longest_key_that_fits_counts() {
        let config = r#"{"auths":{"r.example":{"auth":"YTpi"},"https://r.example/team/":{"username":"c","password":"d"},
            "r.example.com":{"auth":"eDp5"},"https://index.docker.io/v1/":{"auth":"aDpw"}}}"#;
        for (image, wanted) in [
            ("r.example/nats:1", Some("a:b")),
            ("r.example/team/nats:1", Some("c:d")),
            ("r.example/teams/nats:1", Some("a:b")),
            ("index.docker.io/library/nats:1", Some("h:p")),
            ("other/nats", None),
        ] {
            assert_eq!(user(config, image), Ok(wanted.map(str::to_owned)), "{image}");
        }
    }

    #[test]
    fn what_is_no_docker_config_is_told_apart_from_one_without_the_registry() {
        assert_eq!(user("{}", "a/b"), Ok(None));
        for broken in [
            "",
            "[]",
            "{",
            r#"{"auths":{"a":{"auth":"!"}}}"#,
            r#"{"auths":{"a":{}}}"#,
        ] {
            assert_eq!(user(broken, "a/b"), Err(Malformed), "{broken}");
        }
        let debug = format!("{:?}", docker_config(br#"{"auths":{"a":{"auth":"YTpi"}}}"#, "a/b"));
        assert!(!debug.contains('b'), "{debug}");
    }
}
