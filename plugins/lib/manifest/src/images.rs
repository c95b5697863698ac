//! Images of releases: `<url>/<release>:<os>-<stemcell version>-<release version>`.

use crate::stemcell::Stemcell;
use crate::syntax::consists_of;
use boson_document::{Tree, ruby};
use std::net::Ipv6Addr;

/// Whether a version is `latest`, which is not supported.
pub fn is_latest(version: &str) -> bool {
    version == "latest" || version.ends_with(".latest")
}

/// A registry and organisation: the given one, or the release's.
pub fn url(release: &Tree, registry: Option<&str>) -> Option<String> {
    let own = || release.str("url").filter(|url| !url.contains("://"));
    let url = registry.or_else(own)?.trim_end_matches('/');
    (!url.is_empty()).then(|| url.to_string())
}

/// Whether the release has a registry and an exact version, as an image name needs. The checks of releases report it if
/// not.
pub fn has_exact_image(release: &Tree, registry: Option<&str>) -> bool {
    let latest = |tree: &Tree| ruby::member(tree, "version").is_none_or(|version| is_latest(&version));
    url(release, registry).is_some() && !latest(release) && !release.get("stemcell").is_some_and(latest)
}

/// The image of a release in a group whose stemcell has this alias.
///
/// # Errors
/// Why there is no image, as the end of a sentence.
pub fn of_release(
    document: &Tree,
    release: &Tree,
    stemcell: Option<&str>,
    registry: Option<&str>,
) -> Result<String, String> {
    let name = release.str("name").unwrap_or_default();
    let incomplete = || format!("release '{name}' has no 'url' that names a registry, or no exact version");
    let url = url(release, registry)
        .filter(|_| has_exact_image(release, registry))
        .ok_or_else(incomplete)?;
    let version = ruby::member(release, "version").ok_or_else(incomplete)?;
    let stemcell = Stemcell::of_release(document, release, stemcell);
    let parts = stemcell.map(|stemcell| (stemcell.os(), stemcell.version()));
    let Some((Some(os), Some(stemcell_version))) = parts else {
        return Err(format!(
            "neither release '{name}' nor the instance group names os and version of a stemcell"
        ));
    };
    if is_latest(&stemcell_version) {
        return Err(format!("the stemcell of release '{name}' has no exact version"));
    }
    let tag = tag(&format!("{os}-{stemcell_version}-{version}"));
    let image = format!("{url}/{name}:{tag}");
    if is_reference(&url, name, &tag) {
        Ok(image)
    } else {
        Err(format!("'{image}' is not a valid image reference"))
    }
}

/// A tag: they cannot hold `+`.
pub fn tag(text: &str) -> String {
    text.replace('+', "-")
}

fn is_reference(url: &str, name: &str, tag: &str) -> bool {
    let mut parts = url.split('/');
    let tagged = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    parts.next().is_some_and(is_host)
        && parts.all(is_component)
        && is_component(name)
        && tag.len() <= 128
        && tag.bytes().all(tagged)
        && !tag.starts_with(['.', '-'])
}

/// A part of a repository's name: lower-case letters and digits, in words that `.`, `_`, `__` or any number of `-`
/// join.
fn is_component(part: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joins = |text: &str| matches!(text, "." | "_" | "__") || text.bytes().all(|b| b == b'-');
    part.starts_with(inside) && part.ends_with(inside) && part.split(inside).all(joins)
}

/// A domain or an address, with or without a port.
fn is_host(part: &str) -> bool {
    let (host, port) = match part.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (part, None),
    };
    let is_label = |label: &str| !label.is_empty() && consists_of(label, |b| b.is_ascii_alphanumeric(), b"-");
    let is_address = |host: &str| {
        let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inside.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    (host.split('.').all(is_label) || is_address(host)) && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn image(release: &str, stemcell: Option<&str>, registry: Option<&str>) -> Result<String, String> {
        let document = json::parse(
            r#"{"stemcells": [{"alias": "default", "os": "opensuse-42.3", "version": "28.g8-30.263-7.0.0"}]}"#,
        )
        .unwrap();
        of_release(&document, &json::parse(release).unwrap(), stemcell, registry)
    }

    #[test]
    fn parts_of_references_obey_the_grammar_of_registries() {
        for (url, good) in [
            ("docker.io/cf", true),
            ("cf", true),
            ("localhost:5000/a__b/c--d/e.f", true),
            ("[::1]:5000/a", true),
            ("..", false),
            ("../x", false),
            ("a.example/..", false),
            ("a.example/a..b", false),
            ("a.example/_a", false),
            ("a.example/a___b", false),
            ("a.example:port/a", false),
            ("-a/b", false),
            ("a.example//b", false),
            ("a.example/B", false),
        ] {
            assert_eq!(is_reference(url, "nats", "1"), good, "{url}");
        }
        assert!(!is_reference("a.example", "..", "1"));
    }

    #[test]
    fn images_are_named_by_release_and_stemcell() {
        let plain = r#"{"name": "nats", "version": 33, "url": "docker.io/cf/"}"#;
        let own = r#"{"name": "nats", "version": "33+dev.1", "url": "docker.io/cf", "stemcell": {"os": "jammy", "version": "1.10"}}"#;
        let download = r#"{"name": "nats", "version": "33", "url": "https://bosh.io/d/nats"}"#;
        for (release, stemcell, registry, expected) in [
            (
                plain,
                Some("default"),
                None,
                Ok("docker.io/cf/nats:opensuse-42.3-28.g8-30.263-7.0.0-33"),
            ),
            (own, Some("default"), None, Ok("docker.io/cf/nats:jammy-1.10-33-dev.1")),
            (
                download,
                Some("default"),
                Some("r.example:5000/x/"),
                Ok("r.example:5000/x/nats:opensuse-42.3-28.g8-30.263-7.0.0-33"),
            ),
            (
                download,
                Some("default"),
                None,
                Err("release 'nats' has no 'url' that names a registry, or no exact version"),
            ),
            (
                plain,
                None,
                None,
                Err("neither release 'nats' nor the instance group names os and version of a stemcell"),
            ),
            (
                r#"{"name": "n", "version": "1.latest", "url": "x"}"#,
                Some("default"),
                None,
                Err("release 'n' has no 'url' that names a registry, or no exact version"),
            ),
        ] {
            assert_eq!(
                image(release, stemcell, registry).as_deref().map_err(String::as_str),
                expected
            );
        }
    }
}
