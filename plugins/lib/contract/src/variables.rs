//! `wit/variables`.

use boson_document::Tree;

/// Whose rules apply to the `variables` section and to placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The director's, when it deploys.
    Director,
    /// Those of `bosh interpolate`.
    Cli,
}

/// One entry of the manifest's `variables` section.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Name of the variable.
    pub name: String,
    /// Type; `None`: the value must be given.
    pub kind: Option<String>,
    /// Options as written, or null.
    pub options: Tree,
    /// `no-overwrite`, `overwrite`, `converge`.
    pub update_mode: Option<String>,
    /// Links that it consumes, or null.
    pub consumes: Tree,
    /// Place of the entry: RFC 6901 pointer.
    pub pointer: String,
}

/// A variable that a document refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Name, without sub-keys.
    pub name: String,
    /// First place that refers to it: RFC 6901 pointer.
    pub pointer: String,
}

/// Reply of variables.plan.
#[derive(Clone, Debug, PartialEq)]
pub struct VariablesPlan {
    /// In the order of the manifest.
    pub definitions: Vec<Definition>,
    /// Sorted, each name once.
    pub references: Vec<Reference>,
}

/// Reply of variables.interpolate.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolated {
    /// The document with the values in place of their placeholders.
    pub document: Tree,
    /// Names that had no value, sorted.
    pub missing: Vec<Reference>,
    /// Names of values that were used, sorted.
    pub used: Vec<String>,
}

/// [Converts](crate::bindings) the values of this module to those of generated bindings, and back.
#[macro_export]
macro_rules! variables_records {
    ($wit:ident) => {
        $crate::cases!($crate::variables::Rules, $wit::Rules { Director, Cli });
        $crate::record!(
            $crate::variables::Definition,
            $wit::Definition {
                name,
                kind,
                options,
                update_mode,
                consumes,
                pointer
            } + more
        );
        $crate::record!($crate::variables::Reference, $wit::Reference { name, pointer });
    };
}
