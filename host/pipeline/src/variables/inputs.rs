//! Sources of values.

use super::definitions::amend::AskAddresses;
use super::definitions::generate::Generator;
use super::given::table::Table;
use super::store::Store;
use crate::stage::{Named, StageError};
use boson_document::Tree;

/// Checks the manifest for mistakes. Values that are not generated yet are texts that name them.
pub type CheckAhead<'a> = dyn Fn(Named<'_>) -> Result<(), StageError> + 'a;

pub struct Inputs<'a> {
    pub table: &'a Table,
    /// Generated values, old and new. To be written if it has changed, even if the flow fails.
    pub store: &'a mut Store,
    /// Generates values; `None`: nothing is generated.
    pub generator: Option<&'a mut dyn Generator>,
    /// Returns the addresses of links that variables consume; `None`: they are ignored.
    pub addresses: Option<&'a AskAddresses<'a>>,
    /// Checks the document before values are generated; `None`: no check.
    pub check: Option<&'a CheckAhead<'a>>,
}

// === impl Inputs ===

impl Inputs<'_> {
    /// The value of a variable, if it has one before anything is generated.
    pub fn value(&self, name: &str) -> Option<&Tree> {
        self.table.get(name).or_else(|| self.store.get(name))
    }
}
