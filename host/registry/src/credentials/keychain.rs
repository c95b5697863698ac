//! Credentials of the user who runs a command: `config.json` of docker, and the helpers that it names.

use super::{Credentials, HUB, docker_config};
use crate::codes;
use boson_pipeline::Diagnostic;
use oci_spec::distribution::Reference;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The largest configuration, and the largest answer of a helper, in bytes.
const MAX_CONFIGURATION_BYTES: u64 = 1 << 20;
/// Docker's name for its hub.
const HUB_KEY: &str = "https://index.docker.io/v1/";

/// The helpers that a configuration of docker names.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Helpers {
    /// By registry.
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
    /// For all other registries.
    creds_store: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: Option<String>,
    secret: Option<String>,
}

/// The credentials for `image` in `$DOCKER_CONFIG/config.json`, else in `~/.docker/config.json`; `None` if there are
/// none. It blocks.
///
/// # Errors
/// `image-credentials`: the file is not a configuration, or a helper that it names fails.
pub fn docker_credentials(image: &str) -> Result<Option<Credentials>, Diagnostic> {
    let Some(path) = config_path() else { return Ok(None) };
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(credentials_error(format!(
                "'{}' cannot be read: {error}",
                path.display()
            )));
        }
    };
    let malformed = || credentials_error(format!("'{}' is not a configuration of docker", path.display()));
    let helpers: Helpers = serde_json::from_slice(&text).map_err(|_| malformed())?;
    match helper(&helpers, image) {
        Some((helper, server)) => ask(&helper, &server),
        None => docker_config(&text, image).map_err(|_| malformed()),
    }
}

fn config_path() -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let directory = variable("DOCKER_CONFIG").or_else(|| Some(variable("HOME")?.join(".docker")))?;
    Some(directory.join("config.json"))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_CONFIGURATION_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// The helper for an image, and its name for the registry: a helper for this registry takes precedence over the one for
/// all.
fn helper(helpers: &Helpers, image: &str) -> Option<(String, String)> {
    let image: Reference = image.parse().ok()?;
    let server = match image.registry() {
        HUB => HUB_KEY,
        registry => registry,
    };
    let own = [server, image.registry()]
        .into_iter()
        .find_map(|server| Some((helpers.cred_helpers.get(server)?, server)));
    let (helper, server) = own.or_else(|| Some((helpers.creds_store.as_ref()?, server)))?;
    let is_name = !helper.is_empty()
        && helper
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_name.then(|| (helper.to_owned(), server.to_owned()))
}

/// Asks a helper, by docker's protocol: the server on standard input, JSON on standard output.
fn ask(helper: &str, server: &str) -> Result<Option<Credentials>, Diagnostic> {
    let program = format!("docker-credential-{helper}");
    let failed = |why: &str| credentials_error(format!("'{program}', which docker's configuration names, {why}"));
    let started = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = started.map_err(|error| failed(&format!("cannot be run: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        // A helper may answer without reading its input.
        let _ = input.write_all(server.as_bytes());
    }
    let mut answer = Vec::new();
    if let Some(output) = child.stdout.take() {
        let read = output.take(MAX_CONFIGURATION_BYTES).read_to_end(&mut answer);
        read.map_err(|error| failed(&format!("breaks off: {error}")))?;
    }
    let ended = child.wait().map_err(|error| failed(&format!("breaks off: {error}")))?;
    if !ended.success() {
        // It has no credentials for this registry, which may need none.
        return Ok(None);
    }
    let answer: Answer = serde_json::from_slice(&answer).map_err(|_| failed("gives no credentials"))?;
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let username = text(answer.username).ok_or_else(|| failed("gives no user"))?;
    if username == "<token>" {
        return Err(failed("returned an identity token, which is not supported")
            .help("sign in with a user and a password or access token: `docker login --username USER`"));
    }
    let password = text(answer.secret).ok_or_else(|| failed("gives no password"))?;
    Ok(Some(Credentials { username, password }))
}

fn credentials_error(message: String) -> Diagnostic {
    Diagnostic::error(codes::IMAGE_CREDENTIALS, message).help("run `docker login` again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn helper(config: &Value, image: &str) -> Option<(String, String)> {
        super::helper(&Helpers::deserialize(config).unwrap(), image)
    }

    #[test]
    fn the_helper_of_the_registry_comes_before_that_of_all() {
        let config = json!({"credsStore": "all", "credHelpers": {"r.example": "own", "https://index.docker.io/v1/": "hub", "bad": "../x"}});
        for (image, expected) in [
            ("r.example/a/b:1", Some(("own", "r.example"))),
            ("other.example:5000/a/b:1", Some(("all", "other.example:5000"))),
            ("library/nats:1", Some(("hub", HUB_KEY))),
        ] {
            let expected = expected.map(|(helper, server)| (helper.to_owned(), server.to_owned()));
            assert_eq!(helper(&config, image), expected, "{image}");
        }
        assert_eq!(helper(&json!({"credsStore": "../x"}), "r.example/a:1"), None);
        assert_eq!(helper(&json!({}), "r.example/a:1"), None);
    }
}
