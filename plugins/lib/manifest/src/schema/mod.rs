//! Tables of every key of a manifest and its effect: used, warned about or refused.
//!
//! Tables hold the paths below one root: the [manifest](MANIFEST), an [instance group](GROUP) of the resolved document,
//! a [job](JOB), the job property [`quarks`](QUARKS). A path's tokens are member names, `[]` for the items of a list,
//! `*` for any name. Values below a key without deeper paths are not checked. Unknown keys are warned about.

mod tables;
mod walk;

pub use tables::{ANSWERED_BY_CLOUD_CONFIG, GROUP, JOB, MANIFEST, PROPERTIES, QUARKS};
pub use walk::Schema;

use crate::types::Type;
use boson_document::Code;

/// How a key is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has its effect, here or in another stage.
    Used,
    /// It has no effect; why.
    Warned(&'static str),
    /// It is refused, with BOSH's message or ours, in which `{key}` stands for the key and `{name}` for the `name`
    /// beside it.
    Refused(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Path below the table's root.
    pub path: &'static str,
    pub kind: Type,
    /// BOSH, or our use of it, requires it.
    pub required: bool,
    /// How it is handled.
    pub fate: Fate,
    /// A reader of this crate checks that the key is there and its type, so the table does not.
    pub read: bool,
}

/// The codes of the stage that applies the tables.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// A value has another type.
    pub wrong_type: &'static Code,
    /// A required key is missing.
    pub missing_key: &'static Code,
    /// A key is not in the table.
    pub unknown_key: &'static Code,
    /// A key has no effect.
    pub ignored_key: &'static Code,
    /// A key is refused.
    pub refused_key: &'static Code,
}
