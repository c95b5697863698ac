//! `.dockerconfigjson`: how to pull images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_api::request::ImageCredentials;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The key that Kubernetes wants it under.
pub const FILE_KEY: &str = ".dockerconfigjson";

#[derive(Serialize, Deserialize)]
struct File {
    /// By registry.
    auths: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    username: String,
    password: String,
    /// Both of them, for clients that read only this.
    #[serde(default)]
    auth: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    email: Option<String>,
}

/// The text of the file.
///
/// # Errors
/// It cannot be written as JSON.
pub fn file(asked: &ImageCredentials, username: &str, password: &str) -> Result<String, String> {
    let entry = Entry {
        username: username.into(),
        password: password.into(),
        auth: STANDARD.encode(format!("{username}:{password}")),
        email: asked.email.clone(),
    };
    let auths = [(asked.registry.clone(), entry)].into();
    serde_json::to_string(&File { auths }).map_err(|_| "the file is not JSON".into())
}

/// User name and password in a file of ours, whichever registry it is for.
pub fn credentials(file: &str) -> Option<(String, String)> {
    let file: File = serde_json::from_str(file).ok()?;
    let entry = file.auths.into_values().next()?;
    Some((entry.username, entry.password))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The predecessor put values together without quoting them.
        #[test]
        fn any_text_survives(registry in ".{1,20}", name in ".{0,20}", word in ".{0,20}", email in proptest::option::of(".{0,20}")) {
            let asked = ImageCredentials { registry, email, username: None, password: None };
            let text = file(&asked, &name, &word).unwrap();
            prop_assert_eq!(credentials(&text), Some((name, word)));
        }
    }
}
