//! `.dockerconfigjson`: how to pull images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_api::request::ImageCredentials;
use serde_json::{Value, json};

/// The key that Kubernetes wants it under.
pub const KEY: &str = ".dockerconfigjson";

/// The file.
pub fn file(asked: &ImageCredentials, username: &str, password: &str) -> String {
    let mut entry = json!({
        "username": username,
        "password": password,
        "auth": STANDARD.encode(format!("{username}:{password}")),
    });
    if let Some(email) = &asked.email {
        entry["email"] = email.as_str().into();
    }
    let mut auths = serde_json::Map::new();
    auths.insert(asked.registry.clone(), entry);
    json!({ "auths": auths }).to_string()
}

/// User name and password in a file of ours, whichever registry it is for.
pub fn credentials(file: &str) -> Option<(String, String)> {
    let file: Value = serde_json::from_str(file).ok()?;
    let entry = file["auths"].as_object()?.values().next()?;
    Some((entry["username"].as_str()?.into(), entry["password"].as_str()?.into()))
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
            let text = file(&asked, &name, &word);
            prop_assert_eq!(credentials(&text), Some((name, word)));
        }
    }
}
