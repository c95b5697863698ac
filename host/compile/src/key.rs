//! What a compiled package depends on.

use boson_oci::{Digest, digest};
use boson_releases::Package;
use serde_json::json;
use std::collections::BTreeMap;

/// Counts changes of how packages are compiled that must not use older results.
const KEY_FORMAT_VERSION: u32 = 1;

/// Digits of a key in names of files.
const KEY_DIGITS: usize = 16;

/// The key of every package, by name. It is a digest of BOSH's fingerprint, of the keys of dependencies, and of the
/// stemcell image; a director compares the same, with the version of the stemcell. `packages`: each after its
/// dependencies.
pub fn keys(packages: &[Package], base: &Digest) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    for package in packages {
        let dependencies: BTreeMap<&str, &String> = package
            .dependencies
            .iter()
            .filter_map(|name| Some((name.as_str(), keys.get(name)?)))
            .collect();
        let content = json!({
            "format": KEY_FORMAT_VERSION,
            "base": base.as_ref() as &str,
            "name": package.name,
            "fingerprint": package.fingerprint,
            // Content without that fingerprint must not become the result for those that have it.
            "content": package.other_content,
            "dependencies": dependencies,
        });
        let key = digest(content.to_string().as_bytes());
        let digits = key.digest().get(..KEY_DIGITS).unwrap_or_default().to_owned();
        keys.insert(package.name.clone(), format!("{}-{digits}", package.fingerprint));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, fingerprint: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.into(),
            fingerprint: fingerprint.into(),
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
            other_content: None,
        }
    }

    #[test]
    fn a_key_changes_with_all_that_it_stands_for() {
        let base = digest(b"stemcell");
        let two = [package("go", "f1", &[]), package("app", "f2", &["go"])];
        fn keys_of(packages: &[Package], base: &Digest) -> String {
            keys(packages, base)["app"].clone()
        }
        let usual = keys_of(&two, &base);
        assert!(usual.starts_with("f2-"), "{usual}");
        assert_eq!(usual, keys_of(&two, &base));
        assert_ne!(usual, keys_of(&two, &digest(b"other")));
        assert_ne!(usual, keys_of(&[package("go", "f3", &[]), two[1].clone()], &base));
        let mut forged = two.clone();
        forged[0].other_content = Some("f4".into());
        assert_ne!(usual, keys_of(&forged, &base));
        // Another release with the same packages.
        let three = [two[0].clone(), package("lib", "f5", &[]), two[1].clone()];
        assert_eq!(usual, keys_of(&three, &base));
    }
}
