//! What to generate a value from. Everything that is missing for it is named. Pure.

use super::signing::{self, Prior};
use super::{own_names, transition};
use crate::problem::Problem;
use crate::secret::cause::Cause;
use crate::secret::observe::Observed;
use crate::secret::signer::certificate_request;
use crate::secret::stored::desired::{self, Marks};
use crate::secret::stored::marks::digest;
use crate::secret::value::image;
use crate::secret::value::recipe::{self, Recipe, recipe, request_digest};
use crate::secret::value::template::{self, Budget, Values};
use boson_api::QuarksSecret;
use boson_api::request::{ImageCredentials, SignerType, TemplatedConfig};
use boson_api::secret::SecretType;
use boson_cluster::objects::entry;
use boson_credentials::Issued;
use boson_document::Tree;
use k8s_openapi::api::core::v1::Secret;
use std::time::SystemTime;

#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub value: Value,
    pub cause: Cause,
    /// Annotations for the Secret.
    pub marks: Marks,
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// From the generator.
    Generated(Recipe),
    /// Credentials; a missing part is generated.
    Image {
        asked: ImageCredentials,
        username: Option<String>,
        password: Option<String>,
    },
    /// A value that is known already.
    Known(Tree),
}

/// For types that depend on other Secrets: the draft, if the present value differs.
pub fn derived_draft(object: &QuarksSecret, observed: &Observed, secret: &Secret) -> Result<Option<Draft>, Problem> {
    if !matches!(
        object.spec.kind,
        SecretType::DockerConfigJson | SecretType::TemplatedConfig
    ) {
        return Ok(None);
    }
    let draft = draft(object, observed, Cause::Source, Some(secret))?;
    let value = match &draft.value {
        Value::Known(value) => value.clone(),
        Value::Image {
            asked,
            username: Some(username),
            password: Some(password),
        } => {
            let file = image::file(asked, username, password).map_err(Problem::defect)?;
            Tree::object().with(image::FILE_KEY, file)
        }
        _ => return Ok(Some(draft)),
    };
    let data = secret.data.clone().unwrap_or_default();
    let entries = value.as_object().into_iter().flatten();
    let same = entries.clone().count() == data.len()
        && entries
            .into_iter()
            .all(|(key, text)| entry(secret, key).as_deref() == text.as_str());
    Ok((!same).then_some(draft))
}

/// The draft, or what is missing for it. `old`: the Secret to replace.
pub fn draft(object: &QuarksSecret, observed: &Observed, cause: Cause, old: Option<&Secret>) -> Result<Draft, Problem> {
    let request = object.spec.request.clone().unwrap_or_default();
    let value = match (object.spec.kind, &request.image_credentials, &request.templated_config) {
        (SecretType::DockerConfigJson, Some(asked), _) => {
            let known = old
                .filter(|_| cause == Cause::Source)
                .and_then(|old| entry(old, image::FILE_KEY));
            let known = known.and_then(|file| image::credentials(&file)).unzip();
            let given =
                |reference: &Option<_>| reference.as_ref().map(|reference| observed.text(reference)).transpose();
            Value::Image {
                username: given(&asked.username).map_err(Problem::waiting)?.or(known.0),
                password: given(&asked.password).map_err(Problem::waiting)?.or(known.1),
                asked: asked.clone(),
            }
        }
        (SecretType::TemplatedConfig, _, Some(asked)) => Value::Known(render_templates(asked, observed)?),
        _ => match observed.request.as_ref().and_then(signing::collected_value) {
            Some(value) => Value::Known(value),
            None => Value::Generated(certified_recipe(object, observed, cause, old)?),
        },
    };
    let marks = marks_of(object, observed);
    Ok(Draft { value, cause, marks })
}

/// Renders all templates with one budget.
fn render_templates(asked: &TemplatedConfig, observed: &Observed) -> Result<Tree, Problem> {
    let bad = |message| Problem::new("BadTemplate", message);
    let mut budget = Budget::new();
    let mut values = Values::new();
    for (name, reference) in &asked.values {
        // Many references may name the same large entry.
        let value = observed.str(reference).map_err(Problem::waiting)?;
        budget.spend(value.len()).map_err(bad)?;
        values.insert(name, value);
    }
    let mut out = Tree::object();
    for (name, text) in &asked.templates {
        let rendered = template::render(name, text, &values, &mut budget);
        out.set(name.as_str(), rendered.map_err(bad)?);
    }
    Ok(out)
}

/// The steps before a value that another signer signs can be written.
pub fn prior_step(
    object: &QuarksSecret,
    observed: &Observed,
    cause: Cause,
    old: Option<&Secret>,
    now: SystemTime,
) -> Result<Option<Prior>, Problem> {
    let Some(request) = &observed.request else {
        return Ok(None);
    };
    let recipe = certified_recipe(object, observed, cause, None)?;
    if request.signer.is_built_in() {
        own_names::check(object, observed, &recipe.options, &request.signer.cluster_domain)?;
    }
    signing::prior_step(object, request, &recipe, cause, old, now)
}

/// The recipe, with what a certificate needs.
fn certified_recipe(
    object: &QuarksSecret,
    observed: &Observed,
    cause: Cause,
    old: Option<&Secret>,
) -> Result<Recipe, Problem> {
    let Some(mut recipe) = recipe(&object.spec) else {
        return Err(Problem::bad_request("the request lacks the options of its type"));
    };
    let Some(asked) = certificate_request(object) else {
        return Ok(recipe);
    };
    if let Some((name, _)) = observed.services.iter().find(|(_, service)| service.is_none()) {
        return Err(Problem::waiting(format!("there is no Service '{name}'")));
    }
    recipe::add_names(&mut recipe.options, &service_names(observed));
    if asked.activate_eks_workaround_for_san {
        let first = observed.services.first();
        let address = first.and_then(|(_, service)| own_names::cluster_ip(service.as_ref()?));
        let lacks = || Problem::waiting("the first Service has no address for the common name");
        recipe.options.set("common_name", address.ok_or_else(lacks)?);
    }
    if asked.signer_type == SignerType::Cluster {
        return Ok(recipe);
    }
    recipe.trusted = transition::trusted_ca(object, observed);
    if let (Some(ca), Some(key)) = (&asked.ca_ref, &asked.ca_key_ref) {
        let text = |reference| observed.text(reference).map_err(Problem::waiting);
        let signer = Tree::object()
            .with("certificate", text(ca)?)
            .with("private_key", text(key)?);
        recipe.signer = Some(signer);
    }
    if cause.keeps_key() {
        let names = desired::certificate_keys(object.spec.kind);
        recipe.kept_key = old.zip(names).and_then(|(old, names)| entry(old, names.private_key));
    }
    Ok(recipe)
}

fn service_names(observed: &Observed) -> Vec<String> {
    let services = observed.services.iter().filter_map(|(_, service)| service.as_ref());
    match observed.request.as_ref().filter(|request| request.signer.is_built_in()) {
        Some(request) => own_names::of_services(services, &request.signer.cluster_domain),
        None => recipe::service_names(services),
    }
}

/// Digest of the CA and of the names from Services; none if neither is used, or if something is missing. A missing
/// built-in authority counts as a new one: deleting it requests another.
pub fn signature(object: &QuarksSecret, observed: &Observed) -> Option<String> {
    let asked = certificate_request(object)?;
    let by_us = observed.request.as_ref().and_then(signing::fingerprint);
    if asked.ca_ref.is_none() && asked.service_ref.is_empty() && by_us.is_none() {
        return None;
    }
    if observed.services.iter().any(|(_, service)| service.is_none()) {
        return None;
    }
    let ca = match (by_us, &asked.ca_ref) {
        (Some(fingerprint), _) => fingerprint,
        (None, Some(reference)) if observed.request.is_none() => {
            Issued::from_pem(&observed.text(reference).ok()?)?.fingerprint
        }
        _ => String::new(),
    };
    let names = service_names(observed).join(" ");
    Some(digest(&[&ca, &names]))
}

/// The annotations of a value that is generated now.
pub fn marks_of(object: &QuarksSecret, observed: &Observed) -> Marks {
    Marks {
        request: request_digest(object),
        signed: signature(object, observed),
        trusted: transition::fingerprint(transition::trusted_ca(object, observed).as_ref()),
    }
}
