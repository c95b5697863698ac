//! The interface for generating values. The pipeline has no source of randomness: the caller provides one.

use crate::diagnostic::Diagnostic;
use crate::stage::Definition;
use boson_document::Tree;

/// Generates values of variables.
pub trait Generator {
    /// Called once, before the first value is generated, with all variables that need one: keys can be generated in
    /// parallel.
    ///
    /// # Errors
    /// No randomness.
    fn prepare(&mut self, _wanted: &[&Definition]) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Checks what `generate` checks, without generating a value. `signer`: whether the CA that the options name will
    /// have a value.
    ///
    /// # Errors
    /// Those of `generate`.
    fn check(&self, _definition: &Definition, _signer: bool) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// The options that have no effect on a value of this type.
    fn ignored<'o>(&self, _kind: &str, _options: &'o Tree) -> Vec<&'o str> {
        Vec::new()
    }

    /// Generates the value of a variable. `options` are those of the definition, placeholders replaced (null for none);
    /// `signer` is the value of the CA that they name, if it has one.
    ///
    /// # Errors
    /// In BOSH's words, beginning with `Generating variable '<name>': `; also if the named CA has no value.
    fn generate(&mut self, definition: &Definition, options: &Tree, signer: Option<&Tree>) -> Result<Tree, Diagnostic>;
}

/// The variable that must have a value before this one can be generated: the CA of a certificate.
pub fn signer_name<'o>(kind: &str, options: &'o Tree) -> Option<&'o str> {
    options
        .str("ca")
        .filter(|name| kind == "certificate" && !name.is_empty())
}
