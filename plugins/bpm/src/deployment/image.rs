//! The pull Secrets of releases with credentials.

use crate::metadata::Metadata;
use crate::object::object;
use boson_document::{Tree, json};
use data_encoding::BASE64;

/// The Secret with which images of a release are pulled.
pub fn pull_secret(name: &str, metadata: &Metadata, url: &str, username: &str, password: &str) -> Tree {
    let auth = BASE64.encode(format!("{username}:{password}").as_bytes());
    let entry = object! { "username" => username, "password" => password, "auth" => auth };
    let config = object! { "auths" => object! { registry(url) => entry } };
    object! {
        "apiVersion" => "v1",
        "kind" => "Secret",
        "metadata" => metadata.named(name),
        "type" => "kubernetes.io/dockerconfigjson",
        "data" => object! { ".dockerconfigjson" => BASE64.encode(json::to_text(&config).as_bytes()) },
    }
}

/// The registry of an image as credentials name it.
fn registry(url: &str) -> String {
    let host = url.split('/').next().unwrap_or_default();
    let named = host.contains(['.', ':']) || host == "localhost";
    if !named || matches!(host, "docker.io" | "index.docker.io") {
        "https://index.docker.io/v1/".into()
    } else {
        host.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_named_as_the_kubelet_does() {
        assert_eq!(registry("docker.io/cf"), "https://index.docker.io/v1/");
        assert_eq!(registry("cfcontainers"), "https://index.docker.io/v1/");
        assert_eq!(registry("localhost:5000/cf"), "localhost:5000");
    }
}
