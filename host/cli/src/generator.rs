//! Generates values of variables with this machine's clock and randomness.

use boson_credentials::{
    Error, ErrorKind, Request, System, check, generate, ignored_options, key_demand, refused_by_bosh,
    refused_by_credhub,
};
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::stage::{Definition, VariableRules};
use boson_pipeline::variables::Generator;

/// Generates values as BOSH does.
pub struct Credentials {
    system: System,
    rules: VariableRules,
}

// === impl Credentials ===

impl Credentials {
    /// Creates a generator with the system's clock and randomness, and the types and options of these rules.
    pub fn new(rules: VariableRules) -> Self {
        Self {
            system: System::new(),
            rules,
        }
    }

    /// Why these rules do not support the type or options: CredHub supports more of them than the bosh command line.
    fn refusal(&self, kind: &str, options: &Tree, signer: Option<&Tree>) -> Option<ErrorKind> {
        match self.rules {
            VariableRules::Cli => refused_by_bosh(kind, options, signer),
            VariableRules::Director => refused_by_credhub(kind, options),
        }
    }
}

// === impl Generator for Credentials ===

impl Generator for Credentials {
    /// Keys take most of the time and are independent of each other, so all are generated in parallel.
    fn prepare(&mut self, wanted: &[&Definition]) -> Result<(), Diagnostic> {
        let kind = |definition: &Definition| definition.kind.clone().unwrap_or_default();
        let demand: Vec<_> = wanted
            .iter()
            .filter_map(|one| key_demand(&kind(one), &one.options))
            .collect();
        self.system
            .prepare(&demand)
            .map_err(|cause| Diagnostic::error(cause.code(), cause.to_string()))
    }

    fn check(&self, definition: &Definition, signer: bool) -> Result<(), Diagnostic> {
        let kind = definition.kind.as_deref().unwrap_or_default();
        let checked = match self.rules {
            VariableRules::Director => refused_by_credhub(kind, &definition.options).map_or(Ok(()), Err),
            VariableRules::Cli => Ok(()),
        };
        checked
            .map_err(|cause| cause.of(&definition.name))
            .and_then(|()| check(&definition.name, kind, &definition.options, signer))
            .map_err(|error| diagnostic(&error, definition))
    }

    fn ignored<'o>(&self, kind: &str, options: &'o Tree) -> Vec<&'o str> {
        ignored_options(kind, options)
    }

    fn generate(&mut self, definition: &Definition, options: &Tree, signer: Option<&Tree>) -> Result<Tree, Diagnostic> {
        let kind = definition.kind.as_deref().unwrap_or_default();
        let request = Request {
            name: &definition.name,
            kind,
            options,
            signer,
        };
        let made = match self.refusal(kind, options, signer) {
            None => generate(&request, &self.system).map(sort_members),
            Some(cause) => Err(cause.of(&definition.name)),
        };
        made.map_err(|error| diagnostic(&error, definition))
    }
}

fn diagnostic(error: &Error, definition: &Definition) -> Diagnostic {
    Diagnostic {
        help: error.kind.help().map(str::to_string),
        ..Diagnostic::error(error.kind.code(), error.to_string()).at(&definition.pointer)
    }
}

/// Sorts members by name, as the store does: the run that generates a value and the next run must print the same bytes.
fn sort_members(mut value: Tree) -> Tree {
    if let Tree::Object(members) = &mut value {
        members.sort_keys();
    }
    value
}
