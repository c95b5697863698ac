//! Finds the privileges that an object asks for, in its pod template: everything that the Pod Security Standard
//! `baseline` restricts, root, and accounts of the cluster. A custom resource may have a pod template anywhere, so all
//! of it is searched.

use super::{Privilege, Request, Requester, capability};
use crate::bundle::kinds::KINDS;
use boson_document::Tree;
use boson_manifest::sysctl;

/// The AppArmor annotation of older clusters, to which the container's name is added.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// A privilege that a part of an object asks for.
pub(super) struct Asked {
    pub privilege: Privilege,
    /// Below this part.
    field: String,
}

// === impl Asked ===

impl Asked {
    fn new(privilege: Privilege, field: impl Into<String>) -> Self {
        let field = field.into();
        Self { privilege, field }
    }
}

/// The privileges that an object asks for.
pub(super) fn of_object(object: &Tree) -> Vec<Request<'_>> {
    let mut requests = Vec::new();
    match path_of_template(object) {
        Some(path) => {
            if let Some(template) = object.find(path) {
                of_template(template, &path.join("."), &mut requests);
            }
        }
        None if is_custom(object) => of_any(object, "", &mut requests),
        None => {}
    }
    requests
}

/// Whether a plugin has left everything unchanged that runs with the privileges of the object's pods.
pub(super) fn runs_the_same(before: &Tree, after: &Tree) -> bool {
    match (path_of_template(before), path_of_template(after)) {
        (Some(path), Some(other)) => pod(before, path) == pod(after, other),
        _ => content(before).eq(content(after)),
    }
}

/// What a pod template runs.
fn pod<'t>(object: &'t Tree, path: &[&str]) -> Option<&'t Tree> {
    object.find(path)?.get("spec")
}

/// The members of an object except for its metadata.
fn content(object: &Tree) -> impl Iterator<Item = (&String, &Tree)> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(member, _)| *member != "metadata")
}

/// Where the pod template of an object is.
fn path_of_template(object: &Tree) -> Option<&'static [&'static str]> {
    Some(match object.str("kind")? {
        "StatefulSet" | "Deployment" | "Job" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        "QuarksStatefulSet" | "QuarksJob" => &["spec", "template", "spec", "template"],
        _ => return None,
    })
}

/// Whether only an administrator's permission makes this kind possible.
fn is_custom(object: &Tree) -> bool {
    let kind = object.str("kind").unwrap_or_default();
    !KINDS.iter().any(|known| known.kind == kind)
}

/// The privileges that anything in a custom resource asks for: each object in it may be the specification of a pod or a
/// container. Names of a field and of an account have the meaning that they have in pods.
fn of_any<'t>(tree: &'t Tree, place: &str, requests: &mut Vec<Request<'t>>) {
    match tree {
        Tree::Object(map) => {
            of_template_annotations(tree, place, requests);
            let found = of_spec(tree).into_iter().chain(of_container(tree));
            let found = found.chain(of_account(tree));
            add(requests, found, Requester::Pod, place);
            for (member, value) in map.iter().filter(|(member, _)| *member != "securityContext") {
                of_any(value, &below(place, member), requests);
            }
        }
        Tree::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                of_any(item, &below(place, &nth.to_string()), requests);
            }
        }
        _ => {}
    }
}

/// A custom resource whose controller uses the token of this account: `serviceAccountRef` of secret stores and issuers.
fn of_account(tree: &Tree) -> Option<Asked> {
    let name = tree.get("serviceAccountRef")?.str("name")?;
    let privilege = Privilege::of("serviceAccountName", name);
    Some(Asked::new(privilege, "serviceAccountRef.name"))
}

/// The privileges that a template asks for.
fn of_template<'t>(template: &'t Tree, place: &str, requests: &mut Vec<Request<'t>>) {
    if let Some(spec) = template.get("spec") {
        let place = below(place, "spec");
        add(requests, of_spec(spec), Requester::Pod, &place);
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            for (nth, container) in spec.items(list).iter().enumerate() {
                let name = container.str("name").unwrap_or_default();
                let by = match list {
                    "initContainers" => Requester::InitContainer(name),
                    _ => Requester::Container(name),
                };
                add(requests, of_container(container), by, &format!("{place}.{list}.{nth}"));
            }
        }
    }
    of_template_annotations(template, place, requests);
}

fn of_template_annotations<'t>(template: &'t Tree, place: &str, requests: &mut Vec<Request<'t>>) {
    let annotations = template.find(&["metadata", "annotations"]);
    for (key, value) in annotations.and_then(Tree::as_object).into_iter().flatten() {
        let profile = value.as_str().filter(|_| key.starts_with(APP_ARMOR));
        let profile = profile.filter(|profile| !["runtime/default", ""].contains(profile));
        let field = || format!("metadata.annotations.{key}");
        let asked = profile.map(|profile| Asked::new(Privilege::of("appArmorProfile", profile), field()));
        add(requests, asked, Requester::Pod, place);
    }
}

fn add<'t>(requests: &mut Vec<Request<'t>>, asked: impl IntoIterator<Item = Asked>, by: Requester<'t>, place: &str) {
    requests.extend(asked.into_iter().map(|Asked { privilege, field }| Request {
        privilege,
        by,
        field: below(place, &field),
    }));
}

fn below(place: &str, member: &str) -> String {
    match place {
        "" => member.to_string(),
        place => format!("{place}.{member}"),
    }
}

/// Privileges of the pod as a whole.
fn of_spec(spec: &Tree) -> Vec<Asked> {
    let mut asked = Vec::new();
    for field in ["hostIPC", "hostNetwork", "hostPID", "automountServiceAccountToken"] {
        if is_set(spec, field) {
            asked.push(Asked::new(Privilege::any(field), field));
        }
    }
    // The second one is an older name of the first.
    for field in ["serviceAccountName", "serviceAccount"] {
        let account = spec.str(field).filter(|name| !["", "default"].contains(name));
        asked.extend(account.map(|name| Asked::new(Privilege::of("serviceAccountName", name), field)));
    }
    for (nth, volume) in spec.items("volumes").iter().enumerate() {
        let place = format!("volumes.{nth}");
        asked.extend(of_volume(volume).into_iter().map(|one| Asked::new(one, &place)));
    }
    if let Some(context) = spec.get("securityContext") {
        asked.extend(of_context(context));
        let sysctls = context.items("sysctls").iter().filter_map(|one| one.str("name"));
        let unsafe_ones = sysctls.map(sysctl::with_dots).filter(|name| !sysctl::is_safe(name));
        asked.extend(unsafe_ones.map(|name| Asked::new(Privilege::of("sysctls", name), "securityContext.sysctls")));
    }
    asked
}

pub(super) fn of_volume(volume: &Tree) -> Vec<Privilege> {
    let mut asked = Vec::new();
    if let Some(host) = volume.get("hostPath").filter(|host| !host.is_null()) {
        asked.push(Privilege::of("hostPath", host.str("path").unwrap_or_default()));
    }
    let sources = volume
        .get("projected")
        .map_or(&[][..], |projected| projected.items("sources"));
    let is_token = |source: &Tree| source.get("serviceAccountToken").is_some_and(|token| !token.is_null());
    if sources.iter().any(is_token) {
        asked.push(Privilege::any("automountServiceAccountToken"));
    }
    asked
}

pub(super) fn of_container(container: &Tree) -> Vec<Asked> {
    let mut asked: Vec<Asked> = container.get("securityContext").map(of_context).unwrap_or_default();
    for (nth, port) in container.items("ports").iter().enumerate() {
        let port = port.get("hostPort").and_then(Tree::as_i64).filter(|port| *port != 0);
        asked.extend(port.map(|port| {
            let field = format!("ports.{nth}.hostPort");
            Asked::new(Privilege::of("hostPort", port.to_string()), field)
        }));
    }
    asked
}

/// Privileges of the security context of a pod or a container.
fn of_context(context: &Tree) -> Vec<Asked> {
    let mut asked = Vec::new();
    let mut ask = |privilege, field: &str| asked.push(Asked::new(privilege, format!("securityContext.{field}")));
    for field in ["privileged", "allowPrivilegeEscalation"] {
        if is_set(context, field) {
            ask(Privilege::any(field), field);
        }
    }
    let added = context.get("capabilities").map_or(&[][..], |all| all.items("add"));
    for name in added {
        let name = capability(name.as_str().unwrap_or_default());
        ask(Privilege::of("capabilities", name), "capabilities.add");
    }
    if context.get("runAsUser").and_then(Tree::as_i64) == Some(0) {
        ask(Privilege::of("runAsUser", "0"), "runAsUser");
    }
    for field in ["seccompProfile", "appArmorProfile"] {
        let kind = context.get(field).and_then(|profile| profile.str("type"));
        if let Some(kind) = kind.filter(|kind| *kind == "Unconfined") {
            ask(Privilege::of(field, kind), field);
        }
    }
    if let Some(mount) = context.str("procMount").filter(|mount| *mount != "Default") {
        ask(Privilege::of("procMount", mount), "procMount");
    }
    let options = context.get("seLinuxOptions").and_then(Tree::as_object);
    if options.is_some_and(|options| !options.is_empty()) {
        ask(Privilege::any("seLinuxOptions"), "seLinuxOptions");
    }
    let windows = context.get("windowsOptions");
    if windows.is_some_and(|options| is_set(options, "hostProcess")) {
        ask(Privilege::any("hostProcess"), "windowsOptions.hostProcess");
    }
    asked
}

/// Anything but `false` counts: Kubernetes refuses values that are not booleans.
fn is_set(tree: &Tree, field: &str) -> bool {
    !matches!(tree.get(field), None | Some(Tree::Null | Tree::Bool(false)))
}
