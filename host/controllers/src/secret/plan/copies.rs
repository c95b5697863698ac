//! Copies in other namespaces that allow them.
//!
//! # Guarantees
//! Nothing is written to a namespace that did not allow copies of exactly this QuarksSecret, and a Secret is replaced
//! only if it is marked as a copy. Nothing is revealed about a namespace that did not allow copies, not even which
//! Secrets it has.

use crate::secret::observe::{Observed, ObservedCopy};
use crate::secret::stored::desired::reference;
use boson_api::QuarksSecret;
use boson_api::conditions::Finding;
use boson_api::secret::{Copy, SecretType};
use boson_cluster::client::{Error, Identity};
use boson_cluster::objects::annotation;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Secret;

/// The same message whether a Secret of that name exists or not.
const NOT_ALLOWED: &str = "the namespace does not allow the copy: see 'kubectl explain quarkssecret.spec.copies'";

/// What to do with a copy.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyStep {
    Create(Box<Secret>),
    /// Replace this version of it.
    Replace(Box<Secret>),
}

/// The steps and the condition; none without copies.
pub fn plan(object: &QuarksSecret, observed: &Observed, secret: &Secret) -> (Vec<CopyStep>, Option<Finding>) {
    let (mut steps, mut missing) = (Vec::new(), Vec::new());
    for (copy, there) in object.spec.copies.iter().zip(&observed.copies) {
        match plan_copy(object, secret, copy, there) {
            Ok(step) => steps.extend(step),
            Err(why) => missing.push(format!("{}/{}: {why}", copy.namespace, copy.name)),
        }
    }
    let finding = match (object.spec.copies.len(), missing.is_empty()) {
        (0, _) => None,
        (number, true) => Some(Finding::new("Copied", true, "Copied", format!("{number} copies"))),
        (_, false) => Some(Finding::new("Copied", false, "NotAgreed", missing.join("; "))),
    };
    (steps, finding)
}

fn plan_copy(
    object: &QuarksSecret,
    secret: &Secret,
    copy: &Copy,
    there: &ObservedCopy,
) -> Result<Option<CopyStep>, String> {
    if let Some(why) = &there.hidden {
        return Err(why.clone());
    }
    let source = source(object).map_err(|error| error.to_string())?;
    let says = |metadata| annotation(metadata, labels::SECRET_COPY_OF) == Some(source.as_str());
    let consent = there
        .consent
        .as_ref()
        .filter(|consent| consent.spec.kind == SecretType::Copy && says(&consent.metadata));
    let old = there.secret.as_ref();
    let agreed = old.filter(|old| says(&old.metadata));
    let old = match (agreed, consent, old) {
        (Some(old), ..) => old,
        (None, None, _) => return Err(NOT_ALLOWED.into()),
        (None, Some(consent), None) => {
            let new = new_copy(consent, secret, copy, source).map_err(|error| error.to_string())?;
            return Ok(Some(CopyStep::Create(Box::new(new))));
        }
        (None, Some(_), Some(_)) => {
            return Err("a Secret of that name exists and is not marked as this copy".into());
        }
    };
    if old.type_ != secret.type_ {
        return Err("the existing Secret has another type, which cannot change; delete it".into());
    }
    if old.data.clone().unwrap_or_default() == secret.data.clone().unwrap_or_default() {
        return Ok(None);
    }
    let mut replaced = old.clone();
    replaced.data = secret.data.clone();
    Ok(Some(CopyStep::Replace(Box::new(replaced))))
}

/// The value of the consent annotation.
fn source(object: &QuarksSecret) -> Result<String, Error> {
    let Identity { namespace, name, .. } = Identity::of(object)?;
    Ok(format!("{namespace}/{name}"))
}

/// The new copy. It is deleted with the object that allowed it.
fn new_copy(consent: &QuarksSecret, secret: &Secret, copy: &Copy, source: String) -> Result<Secret, Error> {
    let mut out = Secret {
        type_: secret.type_.clone(),
        data: secret.data.clone(),
        ..Secret::default()
    };
    out.metadata.name = Some(copy.name.clone());
    out.metadata.namespace = Some(copy.namespace.clone());
    out.metadata.annotations = Some([(labels::SECRET_COPY_OF.to_string(), source)].into());
    let generated = (
        labels::SECRET_KIND.to_string(),
        labels::secret_kind::GENERATED.to_string(),
    );
    out.metadata.labels = Some([generated].into());
    out.metadata.owner_references = Some(vec![reference(consent)?]);
    Ok(out)
}
