//! From native objects to the links that they provide.

use super::codes;
use super::instances::instances_of;
use super::marks::{self, Identity};
use super::object::Object;
use super::properties::properties;
use crate::diagnostic::Diagnostic;
use crate::stage::ExternalLink;
use boson_document::Tree;
use boson_manifest::labels::LINK_PROVIDER_NAME;
use std::collections::{BTreeMap, HashSet};

/// Most Secrets and Services that provide links to one deployment.
pub const MAX_NATIVE_OBJECTS: usize = 256;
/// Most bytes of data in those Secrets.
pub const MAX_NATIVE_BYTES: usize = 2 << 20;
/// Most instances of all links.
pub const MAX_NATIVE_INSTANCES: usize = 2_000;

/// What native objects provide to a deployment.
#[derive(Debug, Default)]
pub struct Native {
    /// The links, sorted by name and type.
    pub links: Vec<ExternalLink>,
    /// Errors and warnings. With an error, no link may be used.
    pub diagnostics: Vec<Diagnostic>,
}

/// What provides one link.
#[derive(Default)]
struct Providers<'o, 'a> {
    secrets: Vec<&'o Object<'a>>,
    services: Vec<&'o Object<'a>>,
}

struct Reader<'o, 'a> {
    objects: &'o [Object<'a>],
    links: BTreeMap<Identity, Providers<'o, 'a>>,
    /// By name of the Secret.
    secrets: BTreeMap<&'a str, Identity>,
    /// Names of Secrets with errors. Services that name them have none of their own.
    broken: HashSet<&'a str>,
    diagnostics: Vec<Diagnostic>,
}

/// The links that Secrets and Services provide to this deployment. `objects`: those of its namespace, and the Pods,
/// EndpointSlices and Endpoints of the Services.
pub fn native(objects: &[Object<'_>], deployment: &str) -> Native {
    let is_ours = |object: &&Object<'_>| {
        marks::deployment(object).is_some_and(|value| marks::names_deployment(value, deployment))
            && marks::is_marked(|key| object.annotation(key).is_some())
    };
    let of_kind = |kind: &'static str| {
        objects
            .iter()
            .filter(is_ours)
            .filter(move |object| object.kind() == kind)
    };
    let count = of_kind("Secret").count() + of_kind("Service").count();
    if count > MAX_NATIVE_OBJECTS {
        let message = format!(
            "{count} Secrets and Services provide links to deployment '{deployment}', which are more than {MAX_NATIVE_OBJECTS}"
        );
        return Native {
            links: Vec::new(),
            diagnostics: vec![too_large(message)],
        };
    }
    let mut reader = Reader {
        objects,
        links: BTreeMap::new(),
        secrets: BTreeMap::new(),
        broken: HashSet::new(),
        diagnostics: Vec::new(),
    };
    of_kind("Secret").for_each(|secret| reader.secret(secret));
    of_kind("Service").for_each(|service| reader.service(service));
    reader.native(deployment)
}

fn too_large(message: String) -> Diagnostic {
    Diagnostic::error(codes::NATIVE_LINK_LIMIT, message).help("provide fewer or smaller links to one deployment")
}

// === impl Reader ===

impl<'o, 'a> Reader<'o, 'a> {
    fn secret(&mut self, secret: &'o Object<'a>) {
        match marks::identity(secret) {
            Ok(Some(identity)) => {
                self.secrets.insert(secret.name(), identity.clone());
                self.links.entry(identity).or_default().secrets.push(secret);
            }
            // Only a Service refers to a Secret.
            Ok(None) => {}
            Err(error) => {
                self.broken.insert(secret.name());
                self.diagnostics.push(error);
            }
        }
    }

    fn service(&mut self, service: &'o Object<'a>) {
        let found = marks::identity(service).and_then(|identity| match service.annotation(LINK_PROVIDER_NAME) {
            Some(named) => self.of_secret(service, identity, named),
            None => Ok(identity),
        });
        match found {
            Ok(Some(identity)) => self.links.entry(identity).or_default().services.push(service),
            Ok(None) => {}
            Err(error) => self.diagnostics.push(error),
        }
    }

    /// The link of a Service that names a Secret or, as in the predecessor, a link. `None` if the Secret has an error.
    fn of_secret(
        &self,
        service: &Object<'_>,
        own: Option<Identity>,
        named: &str,
    ) -> Result<Option<Identity>, Diagnostic> {
        let wrong = |code, message: String, help: &str| {
            Err(service.error(code, &["annotations", LINK_PROVIDER_NAME], message, help))
        };
        if self.broken.contains(named) {
            return Ok(None);
        }
        let of_secret = self.secrets.get(named);
        match (own, of_secret) {
            (Some(own), Some(of_secret)) if own != *of_secret => {
                let message = format!(
                    "{service} provides the link '{}' of the type '{}', but Secret '{named}' the link '{}' of the type '{}'",
                    own.name, own.kind, of_secret.name, of_secret.kind
                );
                let help = "give both the same annotation `quarks.cloudfoundry.org/provides`";
                return wrong(codes::NATIVE_LINK_NO_SECRET, message, help);
            }
            (_, Some(of_secret)) => return Ok(Some(of_secret.clone())),
            (Some(own), None) if own.name == named => return Ok(Some(own)),
            (_, None) => {}
        }
        let mut of_name = self.links.keys().filter(|identity| identity.name == named);
        match (of_name.next(), of_name.next()) {
            (Some(identity), None) => Ok(Some(identity.clone())),
            (Some(one), Some(other)) => {
                let message = format!(
                    "{service} names the link '{named}', which exists with the types '{}' and '{}'",
                    one.kind, other.kind
                );
                let help = "name the Secret instead, or add the annotation `quarks.cloudfoundry.org/provides`";
                wrong(codes::NATIVE_LINK_AMBIGUOUS, message, help)
            }
            (None, _) => {
                let message = format!("{service} names Secret '{named}', which provides no link to the deployment");
                let help = "create the Secret with the annotations `quarks.cloudfoundry.org/deployment-name` and `quarks.cloudfoundry.org/provides`";
                wrong(codes::NATIVE_LINK_NO_SECRET, message, help)
            }
        }
    }

    fn native(mut self, deployment: &str) -> Native {
        let (mut links, mut bytes, mut instances) = (Vec::new(), 0, 0);
        for (identity, providers) in std::mem::take(&mut self.links) {
            let ambiguous = [("Secrets", &providers.secrets), ("Services", &providers.services)];
            let ambiguous = ambiguous.map(|(kind, objects)| ambiguous_error(kind, objects, &identity, deployment));
            let is_ambiguous = ambiguous.iter().any(Option::is_some);
            self.diagnostics.extend(ambiguous.into_iter().flatten());
            if is_ambiguous {
                continue;
            }
            if let Some((link, weight)) = self.link(identity, &providers) {
                bytes += weight;
                instances += link.content.items("instances").len();
                links.push(link);
            }
        }
        if bytes > MAX_NATIVE_BYTES || instances > MAX_NATIVE_INSTANCES {
            self.diagnostics.push(too_large(format!(
                "the native links of deployment '{deployment}' have {instances} instances and {} KiB of data, of at most {MAX_NATIVE_INSTANCES} and {} KiB",
                bytes >> 10,
                MAX_NATIVE_BYTES >> 10
            )));
        }
        Native {
            links,
            diagnostics: self.diagnostics,
        }
    }

    /// The link of one Secret, one Service, or both, and how many bytes its properties have.
    fn link(&mut self, identity: Identity, providers: &Providers<'_, '_>) -> Option<(ExternalLink, usize)> {
        let (secret, service) = (providers.secrets.first(), providers.services.first());
        let (properties, bytes) = match secret.map(|secret| properties(secret)) {
            None => (Tree::object(), 0),
            Some(Ok(properties)) => properties,
            Some(Err(errors)) => {
                self.diagnostics.extend(errors);
                return None;
            }
        };
        let instances = match service {
            Some(service) => self.instances(service, &identity)?,
            None => Vec::new(),
        };
        let origin: Vec<String> = secret.into_iter().chain(service).map(ToString::to_string).collect();
        let content = Tree::object()
            .with("instances", instances)
            .with("properties", properties)
            .with("address", service.map(|service| service.name()));
        let link = ExternalLink {
            name: identity.name,
            kind: identity.kind,
            origin: origin.join(" and "),
            content,
        };
        Some((link, bytes))
    }

    fn instances(&mut self, service: &Object<'_>, identity: &Identity) -> Option<Vec<Tree>> {
        let Some(instances) = instances_of(service, self.objects) else {
            let message = format!("{service} has neither a selector nor endpoints");
            let help = "set a selector, or create an EndpointSlice with the label `kubernetes.io/service-name`";
            self.diagnostics
                .push(service.error(codes::NATIVE_LINK_NO_ENDPOINTS, &[], message, help));
            return None;
        };
        if instances.is_empty() {
            let link = &identity.name;
            let message = format!("{service} selects no pod with an address, so the link '{link}' has no instances");
            let help = "check the selector of the Service and its pods";
            self.diagnostics
                .push(service.warning(codes::NATIVE_LINK_NO_INSTANCES, message, help));
        }
        Some(instances)
    }
}

/// The error for several objects of a kind with one link.
fn ambiguous_error(kind: &str, objects: &[&Object<'_>], link: &Identity, deployment: &str) -> Option<Diagnostic> {
    let [_, .., last] = objects else { return None };
    let mut names: Vec<String> = objects.iter().map(|object| format!("'{}'", object.name())).collect();
    names.sort();
    let message = format!(
        "the {kind} {} provide the same link '{}' of the type '{}' to deployment '{deployment}'",
        names.join(", "),
        link.name,
        link.kind
    );
    let help =
        "remove the annotation `quarks.cloudfoundry.org/provides` from all but one, or give them other link names";
    Some(last.error(
        codes::NATIVE_LINK_AMBIGUOUS,
        &["annotations", boson_manifest::labels::PROVIDES],
        message,
        help,
    ))
}
