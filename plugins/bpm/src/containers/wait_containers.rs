//! The init containers that wait for Services.

use crate::containers::environment::text;
use crate::containers::{resources, security};
use crate::group::Group;
use crate::group::waits::Wait;
use crate::object::{compact, object};
use boson_document::Tree;
use boson_manifest::{names, pod_contract};

/// Seconds after which the container fails, and is started again.
const TIMEOUT_SECONDS: u32 = 1800;

/// The init containers: after rendering, which needs none of these Services, and before everything that may.
pub fn all(group: &Group) -> Vec<Tree> {
    group.waits.iter().map(|wait| container(group, wait)).collect()
}

/// Names of the containers, each with what it is made for.
pub fn names_of(group: &Group) -> impl Iterator<Item = (String, String)> {
    let waits = group.waits.iter();
    waits.map(|wait| (name(wait), format!("waiting for the Service '{}'", wait.service)))
}

fn name(wait: &Wait) -> String {
    names::container(&["wait-for", &wait.service.replace('.', "-")])
}

fn container(group: &Group, wait: &Wait) -> Tree {
    let timeout = TIMEOUT_SECONDS.to_string();
    let mut command: Vec<String> = ["host", "util", "wait", "--timeout", &timeout].map(String::from).into();
    command.extend(wait.of_group.clone());
    command.push(wait.address.clone());
    compact(object! {
        "name" => name(wait),
        "image" => group.deployment.operator_image.as_str(),
        "command" => command,
        "env" => vec![text(pod_contract::VERSION_VARIABLE, &pod_contract::COMMON_VERSION.to_string())],
        "resources" => resources::of_logs(),
        "securityContext" => security::of_plain(),
    })
}
