//! What an administrator allows plugins beyond what every plugin may do: additional kinds of objects, privileges of
//! pods, labels and annotations; to all plugins, or to some.
//!
//! # Guarantees
//! A grant that names a plugin without a namespace does not apply to plugins in namespaces of users: there, everyone
//! who can write ConfigMaps chooses the name of a plugin.

use super::kinds::Kind;
use super::privileges::{Privilege, Privileges};
use crate::author::{Author, Installer};
use std::str::FromStr;

/// Stands for every name.
const ANY_NAME: &str = "*";

/// A permission for all plugins or for some: `[[NAMESPACE/]PLUGIN:]PERMISSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant<T> {
    /// `None`: all plugins.
    to: Option<Grantee>,
    what: T,
}

/// The plugins that a grant is for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grantee {
    /// `None`: the operator's own, or the command line.
    namespace: Option<String>,
    name: String,
}

/// A key of a label or annotation, or how keys begin: `example.com/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    text: String,
    is_prefix: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Permissions {
    kinds: Vec<Grant<Kind>>,
    privileges: Vec<Grant<Privilege>>,
    /// `None`: plugins may set any label that is not reserved.
    labels: Option<Vec<Grant<KeyPattern>>>,
    annotations: Option<Vec<Grant<KeyPattern>>>,
}

/// The permissions of one plugin.
#[derive(Clone, Debug)]
pub(crate) struct Rights<'a> {
    pub author: &'a Author,
    pub kinds: Vec<Kind>,
    /// Privileges of pods.
    pub privileges: Privileges,
    /// `None`: any label.
    pub labels: Option<Vec<KeyPattern>>,
    /// `None`: any annotation.
    pub annotations: Option<Vec<KeyPattern>>,
}

// === impl Grant ===

impl<T: FromStr<Err = String>> FromStr for Grant<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A value may contain a colon, but it comes after the equals sign: `hostPath=/dev/a:b`.
        let (to, what) = match text.split_once(':') {
            Some((to, what)) if !to.contains('=') => (Some(to), what),
            _ => (None, text),
        };
        let what = what.parse()?;
        let to = to.map(str::parse::<Grantee>).transpose()?;
        Ok(Self { to, what })
    }
}

impl<T> Grant<T> {
    fn applies_to(&self, author: &Author) -> bool {
        self.to.as_ref().is_none_or(|grantee| grantee.is(author))
    }
}

// === impl Grantee ===

impl FromStr for Grantee {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_string()), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') || namespace.as_deref() == Some("") {
            return Err("before the colon, expected PLUGIN or NAMESPACE/PLUGIN, each a name or *".into());
        }
        let name = name.to_string();
        Ok(Self { namespace, name })
    }
}

impl Grantee {
    fn is(&self, author: &Author) -> bool {
        (self.name == ANY_NAME || author.names.contains(&self.name)) && self.is_source(&author.installer)
    }

    fn is_source(&self, installer: &Installer) -> bool {
        match (self.namespace.as_deref(), installer) {
            // Namespaces mean nothing on the command line, whose user chooses the plugins and the permissions.
            (Some(ANY_NAME), _) | (_, Installer::CommandLine) | (None, Installer::BuiltIn) => true,
            (Some(wanted), Installer::Namespace { name, .. }) => wanted == name,
            (None, Installer::Namespace { is_of_operator, .. }) => *is_of_operator,
            (Some(_), Installer::BuiltIn) => false,
        }
    }
}

// === impl KeyPattern ===

impl FromStr for KeyPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, is_prefix) = match text.strip_suffix(ANY_NAME) {
            Some(key) => (key, true),
            None => (text, false),
        };
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
        if key.bytes().all(is_key) && (is_prefix || !key.is_empty()) {
            Ok(Self {
                text: key.into(),
                is_prefix,
            })
        } else {
            Err("expected a key, such as example.com/team, or its beginning and *: example.com/*".into())
        }
    }
}

impl KeyPattern {
    pub fn allows(&self, key: &str) -> bool {
        if self.is_prefix {
            key.starts_with(&self.text)
        } else {
            key == self.text
        }
    }
}

// === impl Permissions ===

impl Permissions {
    /// Permissions with these additional kinds.
    ///
    /// # Errors
    /// Two of them have the same name.
    pub fn new(kinds: Vec<Grant<Kind>>, privileges: Vec<Grant<Privilege>>) -> Result<Self, ConflictingKinds> {
        for (nth, one) in kinds.iter().enumerate() {
            let same = |other: &&Grant<Kind>| other.what.kind == one.what.kind && other.what != one.what;
            if let Some(other) = kinds[..nth].iter().find(same) {
                return Err(ConflictingKinds(Box::new([other.what, one.what])));
            }
        }
        Ok(Self {
            kinds,
            privileges,
            ..Self::default()
        })
    }

    /// Only these labels and annotations may be set. `None`: any.
    #[must_use]
    pub fn with_keys(
        mut self,
        labels: Option<Vec<Grant<KeyPattern>>>,
        annotations: Option<Vec<Grant<KeyPattern>>>,
    ) -> Self {
        (self.labels, self.annotations) = (labels, annotations);
        self
    }

    /// All additional kinds, each once.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = Vec::new();
        for grant in &self.kinds {
            if !kinds.contains(&grant.what) {
                kinds.push(grant.what);
            }
        }
        kinds
    }

    /// The additional kinds and privileges of this plugin, as the options name them.
    pub fn listed(&self, author: &Author) -> Vec<String> {
        let kinds = for_author(&self.kinds, author);
        let privileges = for_author(&self.privileges, author);
        let kinds = kinds.iter().map(ToString::to_string);
        kinds.chain(privileges.iter().map(ToString::to_string)).collect()
    }

    /// Whether plugins may set only some labels or annotations.
    pub(crate) fn restrict_keys(&self) -> bool {
        self.labels.is_some() || self.annotations.is_some()
    }

    pub(crate) fn of<'a>(&self, author: &'a Author) -> Rights<'a> {
        // Built-in plugins set what the manifest requests.
        let keys = |grants: &Option<Vec<Grant<KeyPattern>>>| {
            let grants = grants.as_ref().filter(|_| !author.is_built_in());
            grants.map(|grants| for_author(grants, author))
        };
        Rights {
            author,
            kinds: for_author(&self.kinds, author),
            privileges: for_author(&self.privileges, author).into_iter().collect(),
            labels: keys(&self.labels),
            annotations: keys(&self.annotations),
        }
    }
}

fn for_author<T: Clone>(grants: &[Grant<T>], author: &Author) -> Vec<T> {
    let grants = grants.iter().filter(|grant| grant.applies_to(author));
    grants.map(|grant| grant.what.clone()).collect()
}

/// Two additional kinds of one name. Events, metrics and messages name an object by kind and name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' and '{}' have the same name: only one of them can be allowed", .0[0], .0[1])]
pub struct ConflictingKinds(Box<[Kind; 2]>);

#[cfg(test)]
mod tests {
    use super::*;

    fn author(name: &str, namespace: &str) -> Author {
        Author {
            called: name.into(),
            names: vec![name.into()],
            installer: Installer::Namespace {
                name: namespace.into(),
                is_of_operator: namespace == "boson-system",
            },
        }
    }

    fn grant(text: &str) -> Grant<Privilege> {
        text.parse().unwrap()
    }

    #[test]
    fn a_grant_is_for_all_plugins_or_for_those_it_names() {
        let (trusted, user) = (author("p", "boson-system"), author("p", "team"));
        for (text, to_trusted, to_user) in [
            ("hostNetwork", true, true),
            ("p:hostNetwork", true, false),
            ("q:hostNetwork", false, false),
            ("*:hostNetwork", true, false),
            ("boson-system/p:hostNetwork", true, false),
            ("team/p:hostNetwork", false, true),
            ("team/*:hostNetwork", false, true),
            ("*/p:hostNetwork", true, true),
        ] {
            let grant = grant(text);
            assert_eq!(grant.applies_to(&trusted), to_trusted, "{text}");
            assert_eq!(grant.applies_to(&user), to_user, "{text}");
        }
        assert!(grant("bpm:hostNetwork").applies_to(&"bpm".into()));
        assert!(!grant("team/bpm:hostNetwork").applies_to(&"bpm".into()));
    }

    #[test]
    fn a_colon_in_a_value_ends_no_name() {
        assert_eq!(grant("hostPath=/a:b").to, None);
        assert_eq!(grant("p:hostPath=/a:b").what.to_string(), "hostPath=/a:b");
        for wrong in [":hostNetwork", "a/b/c:hostNetwork", "/p:hostNetwork", "p:hostNetworks"] {
            assert!(wrong.parse::<Grant<Privilege>>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_allowed_by_name_or_by_its_beginning() {
        let allows = |pattern: &str, key: &str| pattern.parse::<KeyPattern>().unwrap().allows(key);
        assert!(allows("*", "a"));
        assert!(allows("example.com/*", "example.com/team"));
        assert!(!allows("example.com/*", "example.community/team"));
        assert!(allows("team", "team") && !allows("team", "teams"));
        for wrong in ["", "a b", "a*b"] {
            assert!(wrong.parse::<KeyPattern>().is_err(), "{wrong}");
        }
    }
}
