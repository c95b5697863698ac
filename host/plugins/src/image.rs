//! The image of a plugin's component: its reference, and the digest that its tag was resolved to. Pure.
//!
//! A tag can refer to another image tomorrow. So the operator resolves it once and records the result in an annotation
//! of the ConfigMap: the same ConfigMap never gets another component, whichever process of the operator loads it, and
//! whenever. A change of `image` in `plugin.yaml` makes the record void.

use boson_oci::{Digest, parse_digest};

/// Where the component of a plugin is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSource {
    /// The reference in `plugin.yaml`.
    pub reference: String,
    /// Names of its pull Secrets.
    pub secrets: Vec<String>,
}

// === impl ImageSource ===

impl ImageSource {
    /// An image, and the names of Secrets to pull it with.
    ///
    /// # Errors
    /// It names no registry, or its digest is malformed: the rest of a sentence. The registry client checks the rest.
    pub fn new(reference: &str, secrets: Vec<String>) -> Result<Self, &'static str> {
        let host = reference.split_once('/').map_or("", |(host, _)| host);
        let names_registry = host == "localhost" || host.contains(['.', ':']);
        if !names_registry || reference.contains("://") {
            return Err("must begin with the host of its registry, as in registry.example.com/team/plugin:1");
        }
        let digest = reference.split_once('@').map(|(_, digest)| digest);
        if digest.is_some_and(|digest| parse_digest(digest).is_none()) {
            return Err("has a malformed digest: expected @sha256: and 64 hexadecimal digits");
        }
        Ok(Self {
            reference: reference.to_string(),
            secrets,
        })
    }

    /// The reference with its digest: as written, or from the record.
    pub fn pinned(&self, record: Option<&str>) -> Option<String> {
        if self.reference.contains('@') {
            return Some(self.reference.clone());
        }
        let digest = record?.strip_prefix(&self.reference)?.strip_prefix('@')?;
        parse_digest(digest).map(|digest| self.with(&digest))
    }

    /// The reference with this digest, which is also the text of a record.
    pub fn with(&self, digest: &Digest) -> String {
        format!("{}@{digest}", self.reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_for_the_reference_that_was_resolved() {
        let digest = boson_oci::parse_hex_digest(&"a".repeat(64)).unwrap();
        let image = |reference: &str| ImageSource::new(reference, Vec::new()).unwrap();
        let tagged = image("r.example/team/p:1");
        let record = tagged.with(&digest);
        assert_eq!(record, format!("r.example/team/p:1@{digest}"));
        assert_eq!(tagged.pinned(Some(&record)).as_ref(), Some(&record));
        assert_eq!(tagged.pinned(None), None);
        for other in ["r.example/team/p:2", "r.example/team/p", "r.example/team/p:11"] {
            assert_eq!(image(other).pinned(Some(&record)), None, "{other}");
        }
        assert_eq!(tagged.pinned(Some("r.example/team/p:1@sha256:../x")), None);
        assert_eq!(image(&record).pinned(Some("anything")), Some(record));
    }

    #[test]
    fn a_reference_names_its_registry() {
        for reference in ["localhost/p", "localhost:5000/p:1", "r.example/p"] {
            assert!(ImageSource::new(reference, Vec::new()).is_ok(), "{reference}");
        }
        for reference in [
            "",
            "p",
            "team/p:1",
            "https://r.example/p",
            "r.example/p@sha256:1",
            "r.example/p@",
        ] {
            assert!(ImageSource::new(reference, Vec::new()).is_err(), "{reference}");
        }
    }
}
