//! What the pods of a group wait for: Services that the annotation `quarks.cloudfoundry.org/wait-for` lists, and the
//! group that comes before it where `update.serial` is true.

use crate::codes;
use crate::request::GroupRequest;
use boson_document::{Place, Report, Tree};
use boson_manifest::dns::{self, ROOT};
use boson_manifest::group::{SETTINGS, settings};
use boson_manifest::labels::WAIT_FOR;
use boson_manifest::names::{self, Names};
use boson_manifest::waiting;

/// A Service to wait for.
#[derive(Clone, Debug)]
pub struct Wait {
    pub service: String,
    pub address: String,
    /// Where it belongs to an instance group: arguments that tell its readiness and whether it has instances.
    pub of_group: Vec<String>,
}

/// The Services, each once. `tree`: the group of the resolved document; `place`: of the group.
pub fn read(request: &GroupRequest, tree: &Tree, names: &Names, place: &Place, report: &mut Report) -> Vec<Wait> {
    let document = &request.group;
    if request.deployment.operator_image.is_empty() {
        return Vec::new();
    }
    let settings = settings(tree);
    let annotation = place.join(&SETTINGS).at("annotations").at(WAIT_FOR);
    let services = settings.map_or(Ok(Vec::new()), waiting::services);
    let services = services.unwrap_or_else(|why| {
        let message = format!("The annotation '{WAIT_FOR}' is not a JSON list of names of Services: {why}");
        report
            .error(codes::METADATA, &annotation, message)
            .help(r#"write it as a string: '["nats-broker", "other-service.other-namespace"]'"#);
        Vec::new()
    });
    let mut waits: Vec<Wait> = services
        .into_iter()
        .map(|service| Wait {
            address: match service.split_once('.') {
                Some((name, namespace)) => names.address_in(name, namespace),
                None => names.address(&service),
            },
            service,
            of_group: Vec::new(),
        })
        .collect();
    for group in document.texts(waiting::RESOLVED_KEY) {
        if tree.str("name") == Some(group) {
            let message = format!("The annotation '{WAIT_FOR}' lists the Service of its own instance group");
            report.error(codes::METADATA, &annotation, message);
            continue;
        }
        // A group whose name cannot be is reported with that group.
        let Some(wait) = of_group(document, group, names) else {
            continue;
        };
        match waits.iter_mut().find(|one| one.service == wait.service) {
            Some(known) => *known = wait,
            None => waits.push(wait),
        }
    }
    waits
}

fn of_group(document: &Tree, group: &str, names: &Names) -> Option<Wait> {
    let service = names.service(group).ok()?;
    let mut arguments = vec!["--first-instance".into(), names.instance_address(group, 0).ok()?];
    if document.get(dns::RESOLVED_KEY).is_some() {
        let query = format!("q-s3.{}.*.{}.{ROOT}", names::label(group), names.deployment());
        arguments.extend(["--dns".into(), names.address(&dns::object_name(names))]);
        arguments.extend(["--healthy".into(), query]);
    }
    Some(Wait {
        address: names.address(&service),
        service,
        of_group: arguments,
    })
}
