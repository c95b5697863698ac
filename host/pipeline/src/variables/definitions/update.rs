//! Update modes: whether an existing value is replaced. The rules of the config server, for the store of a conversion.

use crate::diagnostic::Diagnostic;
use crate::stage::Definition;
use crate::variables::codes;
use boson_document::Tree;

/// When a value is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    NoOverwrite,
    /// Every time.
    Overwrite,
    /// If its type or options have changed, or the certificate that it is signed by.
    Converge,
}

// === impl UpdateMode ===

impl UpdateMode {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "no-overwrite" => Some(Self::NoOverwrite),
            "overwrite" => Some(Self::Overwrite),
            "converge" => Some(Self::Converge),
            _ => None,
        }
    }

    /// The mode of variables without their own.
    pub fn default_of(document: &Tree) -> Self {
        let feature = document.find(&["features", "converge_variables"]);
        match feature.and_then(Tree::as_bool) {
            Some(true) => Self::Converge,
            _ => Self::NoOverwrite,
        }
    }
}

/// Whether an existing value was signed by another CA than the one that the options name now, which has this value.
pub fn signed_by_another(value: &Tree, signer: Option<&Tree>) -> bool {
    let now = signer.and_then(|signer| signer.str("certificate"));
    now.is_some_and(|now| value.str("ca").is_some_and(|then| then.trim() != now.trim()))
}

pub fn unknown(definitions: &[Definition], document: &str) -> Vec<Diagnostic> {
    let unknown = |one: &&Definition| {
        one.update_mode
            .as_deref()
            .is_some_and(|mode| UpdateMode::named(mode).is_none())
    };
    let tell = |one: &Definition| {
        let name = &one.name;
        let message = format!("Update mode for variable '{name}' must be one of: no-overwrite, overwrite, converge");
        Diagnostic::error(codes::VARIABLES_UPDATE_MODE, message)
            .in_document(document)
            .at(format!("{}/update_mode", one.pointer))
    };
    definitions.iter().filter(unknown).map(tell).collect()
}

/// Reports that a value was replaced: users of the old one have to know.
pub fn regenerated_note(definition: &Definition, why: &str, document: &str) -> Diagnostic {
    let message = format!("The value of variable '{}' was regenerated: {why}", definition.name);
    Diagnostic::info(codes::VARIABLES_REGENERATED, message)
        .in_document(document)
        .at(&definition.pointer)
}
