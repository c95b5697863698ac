//! Update modes: whether a value that is there already is made anew. The config server's rules, for the store of a conversion.

use super::recipes::Recipes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::stage::Definition;
use boson_document::Tree;

/// When a value is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// Never.
    NoOverwrite,
    /// Every time.
    Overwrite,
    /// Where its type or options have changed, or the certificate that it is signed by.
    Converge,
}

// === impl UpdateMode ===

impl UpdateMode {
    /// The mode of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "no-overwrite" => Some(Self::NoOverwrite),
            "overwrite" => Some(Self::Overwrite),
            "converge" => Some(Self::Converge),
            _ => None,
        }
    }

    /// Of variables that have none of their own.
    pub fn default_of(document: &Tree) -> Self {
        let feature = document.get("features").and_then(|all| all.get("converge_variables"));
        match feature.and_then(Tree::as_bool) {
            Some(true) => Self::Converge,
            _ => Self::NoOverwrite,
        }
    }

    /// Why the value is to be made anew, where it is.
    pub fn reason(self, wanted: &Wanted<'_>, recipes: &Recipes) -> Option<&'static str> {
        let Wanted { name, value, .. } = *wanted;
        match self {
            Self::NoOverwrite => None,
            Self::Overwrite => Some("its update mode is overwrite"),
            Self::Converge if recipes.differ(name, wanted.kind, wanted.options, value) => {
                Some("its options have changed")
            }
            Self::Converge if recipes.know(name, value) && signed_by_another(value, wanted.signer) => {
                Some("its CA is another one now")
            }
            Self::Converge => None,
        }
    }
}

/// A value that is there, and what it is wanted to be.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Of the variable.
    pub name: &'a str,
    /// Type.
    pub kind: &'a str,
    /// Placeholders replaced, addresses of links in.
    pub options: &'a Tree,
    /// What is there.
    pub value: &'a Tree,
    /// Value of the CA that the options name.
    pub signer: Option<&'a Tree>,
}

fn signed_by_another(value: &Tree, signer: Option<&Tree>) -> bool {
    let now = signer.and_then(|signer| signer.str("certificate"));
    now.is_some_and(|now| value.str("ca").is_some_and(|then| then.trim() != now.trim()))
}

/// Update modes that there are not.
pub fn unknown(definitions: &[Definition], document: &str) -> Vec<Diagnostic> {
    let unknown = |one: &&Definition| {
        one.update_mode
            .as_deref()
            .is_some_and(|mode| UpdateMode::named(mode).is_none())
    };
    let tell = |one: &Definition| {
        let message = format!(
            "Update mode for variable '{}' must be one of: no-overwrite, overwrite, converge",
            one.name
        );
        Diagnostic::error("variables-update-mode", message)
            .in_document(document)
            .at(format!("{}/update_mode", one.pointer))
    };
    definitions.iter().filter(unknown).map(tell).collect()
}

/// Tells that a value was made anew: whoever holds the old one has to learn of it.
pub fn remade(definition: &Definition, why: &str, document: &str) -> Diagnostic {
    let message = format!("The value of variable '{}' was made anew: {why}", definition.name);
    let told = Diagnostic::warning("variables-made-anew", message)
        .in_document(document)
        .at(&definition.pointer);
    Diagnostic {
        severity: Severity::Info,
        ..told
    }
}
