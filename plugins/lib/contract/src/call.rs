//! Calls, as a rule reads them.

use crate::bindings::{FromWit, Reader};
use crate::types::{CallContext, Deployment, DeploymentName};
use boson_document::contract::reject_required;
use boson_document::{Code, Diagnostic, Pointer, Tree, json};

/// Codes of a call that breaks the contract.
#[derive(Debug)]
pub struct CallCodes {
    /// A document is no JSON.
    pub malformed: &'static Code,
    /// A record has a member that the rule must know.
    pub required_member: &'static Code,
}

/// Reads a call of a rule.
#[derive(Debug)]
pub struct CallReader<'a> {
    /// Name of the document that errors are about.
    pub document_name: &'a str,
    /// Codes of the rule.
    pub codes: &'static CallCodes,
}

// === impl CallReader ===

impl Reader for CallReader<'_> {
    type Error = Vec<Diagnostic>;

    fn document(&self, _: &'static str, text: &str) -> Result<Tree, Self::Error> {
        json::parse(text).map_err(|error| {
            let error = Diagnostic::error(self.codes.malformed, error.to_string());
            vec![error.at(Pointer::root()).in_document(self.document_name)]
        })
    }

    fn more<'m>(&self, names: impl Iterator<Item = &'m str>) -> Result<(), Self::Error> {
        let known = reject_required(self.codes.required_member, names);
        known.map_err(|error| vec![error.in_document(self.document_name)])
    }
}

impl<'a> CallReader<'a> {
    /// Reads a call whose request has these additional members, and its context.
    ///
    /// # Errors
    /// They break the contract.
    pub fn of_call<'m, W>(
        document_name: &'a str,
        codes: &'static CallCodes,
        more: impl Iterator<Item = &'m str>,
        context: W,
    ) -> Result<(Self, CallContext), Vec<Diagnostic>>
    where
        CallContext: FromWit<W>,
    {
        let reader = Self { document_name, codes };
        reader.more(more)?;
        let context = reader.read(context)?;
        Ok((reader, context))
    }

    /// A value of the request.
    ///
    /// # Errors
    /// It breaks the contract.
    pub fn read<W, T: FromWit<W>>(&self, wit: W) -> Result<T, Vec<Diagnostic>> {
        T::from_wit(wit, "request", self)
    }

    /// The deployment, with the names of the context.
    ///
    /// # Errors
    /// The context has none.
    pub fn named(
        &self,
        options: Deployment,
        context: CallContext,
        no_deployment: &'static Code,
    ) -> Result<Deployment, Vec<Diagnostic>> {
        let Some(DeploymentName { name, namespace }) = context.deployment else {
            return Err(vec![Diagnostic::error(no_deployment, "The call names no deployment")]);
        };
        Ok(Deployment {
            name,
            namespace,
            ..options
        })
    }
}
