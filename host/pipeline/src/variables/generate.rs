//! Where new values come from. The pipeline has no source of randomness: whoever calls it brings one.

use crate::diagnostic::Diagnostic;
use crate::stage::Definition;
use boson_document::Tree;

/// Makes values of variables.
pub trait Generator {
    /// Told once, before the first value is asked for, which variables will need one: keys can be made in parallel.
    ///
    /// # Errors
    /// No randomness.
    fn prepare(&mut self, _wanted: &[&Definition]) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Which of the options have no effect on a value of this type.
    fn ignored<'o>(&self, _kind: &str, _options: &'o Tree) -> Vec<&'o str> {
        Vec::new()
    }

    /// Makes the value of a variable. `options` are those of the definition, placeholders replaced (null for none); `signer` is
    /// the value of the CA that they name, where that has one.
    ///
    /// # Errors
    /// In BOSH's words, beginning with `Generating variable '<name>': `; a CA that is named and has no value is one, too.
    fn generate(&mut self, definition: &Definition, options: &Tree, signer: Option<&Tree>) -> Result<Tree, Diagnostic>;
}

/// The variable that has to have a value before this one can be generated: the CA of a certificate.
pub fn signer_name<'o>(kind: &str, options: &'o Tree) -> Option<&'o str> {
    options
        .str("ca")
        .filter(|name| kind == "certificate" && !name.is_empty())
}
