//! Rules for names of objects.

use boson_manifest::names::{MAX_LABEL_LENGTH, MAX_SUBDOMAIN_LENGTH};
use boson_manifest::syntax::{is_label, is_subdomain};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain: labels joined by dots.
    Subdomain,
    /// RFC 1123 label: letters, digits, `-`.
    Label(usize),
    /// RFC 1035 label: the same, and a letter to begin with.
    Service,
}

// === impl NameRule ===

impl NameRule {
    /// Checks a name.
    ///
    /// # Errors
    /// The reason why the name is invalid.
    pub fn check(self, name: &str) -> Result<(), String> {
        let limit = match self {
            Self::Subdomain => MAX_SUBDOMAIN_LENGTH,
            Self::Label(limit) => limit,
            Self::Service => MAX_LABEL_LENGTH,
        };
        if name.len() > limit {
            return Err(format!(
                "its name has {} characters, and names of this kind have at most {limit}",
                name.len()
            ));
        }
        let good = match self {
            Self::Subdomain => is_subdomain(name),
            Self::Label(_) => is_label(name),
            Self::Service => is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase()),
        };
        if good {
            Ok(())
        } else {
            Err("its name is not valid for this kind".into())
        }
    }
}
