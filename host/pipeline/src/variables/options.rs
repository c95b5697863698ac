//! How variables are handled.

use crate::stage::VariableRules;

/// How to handle variables without a value, or values that nothing uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Ignore,
    /// One error about all of them, as with `bosh interpolate --var-errs`.
    Together,
    /// One diagnostic about each: an error if it has no value, a warning if it has no use.
    Each,
}

/// How variables are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose rules hold.
    pub rules: VariableRules,
    /// Whether given values are put in first, by the command line's rules, as in `bosh deploy`. Definitions of given
    /// variables then do not count as variables of the deployment.
    pub given_first: bool,
    /// Whether a CA is generated before the certificates it signs, wherever it is defined. If not, the document's order
    /// applies, as in BOSH.
    pub signers_first: bool,
    /// Variables without a value.
    pub missing: Check,
    /// Values that nothing uses.
    pub unused: Check,
    /// Whether update modes affect the store. The bosh command line ignores them.
    pub update_modes: bool,
    /// Whether the result is for the stages that replace a director, and so is what the director reads of what
    /// `bosh deploy` sends.
    pub sent: bool,
}

// === impl Options ===

impl Options {
    /// Options of `bosh interpolate`, with its flags `--var-errs` and `--var-errs-unused`.
    pub fn interpolate(var_errs: bool, var_errs_unused: bool) -> Self {
        let check = |flag| if flag { Check::Together } else { Check::Ignore };
        let (missing, unused) = (check(var_errs), check(var_errs_unused));
        Self {
            rules: VariableRules::Cli,
            given_first: false,
            signers_first: false,
            missing,
            unused,
            update_modes: false,
            // The writer sorts them.
            sent: false,
        }
    }

    /// Options of a conversion: the director's rules, any order, every variable needs a value.
    pub fn convert() -> Self {
        Self {
            rules: VariableRules::Director,
            given_first: true,
            signers_first: true,
            missing: Check::Each,
            unused: Check::Each,
            update_modes: true,
            sent: true,
        }
    }
}
