//! The stemcells of a manifest: those that it lists, and those that its releases were compiled for.

use boson_document::{Tree, ruby};

#[derive(Clone, Copy, Debug)]
pub struct Stemcell<'a> {
    pub tree: &'a Tree,
}

// === impl Stemcell ===

impl<'a> Stemcell<'a> {
    /// The stemcells that a document lists, in order.
    pub fn all(document: &'a Tree) -> impl Iterator<Item = Self> {
        document.items("stemcells").iter().map(|tree| Self { tree })
    }

    /// The first stemcell with this alias.
    pub fn with_alias(document: &'a Tree, alias: &str) -> Option<Self> {
        Self::all(document).find(|stemcell| stemcell.alias() == Some(alias))
    }

    /// The stemcell of a release in an instance group: the one that the release was compiled for, otherwise the one
    /// with the group's `alias`.
    pub fn of_release(document: &'a Tree, release: &'a Tree, alias: Option<&str>) -> Option<Self> {
        let compiled_for = release.get("stemcell").map(|tree| Self { tree });
        compiled_for.or_else(|| Self::with_alias(document, alias?))
    }

    pub fn alias(&self) -> Option<&'a str> {
        self.tree.str("alias")
    }

    /// Its `os`, if it is not empty.
    pub fn os(&self) -> Option<String> {
        self.text("os")
    }

    /// Its `version`, if it is not empty.
    pub fn version(&self) -> Option<String> {
        self.text("version")
    }

    fn text(&self, key: &str) -> Option<String> {
        ruby::member(self.tree, key).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn a_compiled_release_has_the_stemcell_that_it_names() {
        let document = json::parse(
            r#"{"stemcells": [{"alias": "a", "os": "jammy", "version": 1}, {"alias": "a", "os": "noble", "version": "2"}]}"#,
        )
        .unwrap();
        let version = |release: &str, alias| {
            let release = json::parse(release).unwrap();
            Stemcell::of_release(&document, &release, alias)?.version()
        };
        assert_eq!(version("{}", Some("a")).as_deref(), Some("1"));
        assert_eq!(
            version(r#"{"stemcell": {"version": "3"}}"#, Some("a")).as_deref(),
            Some("3")
        );
        assert_eq!(version(r#"{"stemcell": {"version": ""}}"#, Some("a")), None);
        assert_eq!((version("{}", Some("b")), version("{}", None)), (None, None));
    }
}
