//! Finds the privileges that a pod template asks for: everything that the Pod Security Standard `baseline` restricts,
//! root, and accounts of the cluster.

use super::{Asker, Privilege, Request, capability};
use boson_document::Tree;

/// Kernel parameters that the standard allows in every pod.
const SAFE_SYSCTLS: [&str; 10] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
];
/// The AppArmor annotation of older clusters, to which the container's name is added.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The pod template of an object.
pub(super) fn template(object: &Tree) -> Option<&Tree> {
    let path: &[&str] = match object.str("kind")? {
        "StatefulSet" | "Deployment" | "Job" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        "QuarksStatefulSet" | "QuarksJob" => &["spec", "template", "spec", "template"],
        _ => return None,
    };
    path.iter().try_fold(object, |tree, member| tree.get(member))
}

/// The privileges that a template asks for.
pub(super) fn of_template(template: &Tree) -> Vec<Request<'_>> {
    let mut requests = Vec::new();
    let of_pod = |privilege| Request {
        privilege,
        by: Asker::Pod,
    };
    if let Some(spec) = template.get("spec") {
        requests.extend(of_spec(spec).into_iter().map(of_pod));
        for container in spec.items("initContainers") {
            let by = Asker::InitContainer(container.str("name").unwrap_or_default());
            requests.extend(
                of_container(container)
                    .into_iter()
                    .map(|privilege| Request { privilege, by }),
            );
        }
        for container in spec.items("containers").iter().chain(spec.items("ephemeralContainers")) {
            let by = Asker::Container(container.str("name").unwrap_or_default());
            requests.extend(
                of_container(container)
                    .into_iter()
                    .map(|privilege| Request { privilege, by }),
            );
        }
    }
    let annotations = template
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    for (key, value) in annotations.and_then(Tree::as_object).into_iter().flatten() {
        let profile = value.as_str().filter(|_| key.starts_with(APP_ARMOR));
        let profile = profile.filter(|profile| !["runtime/default", ""].contains(profile));
        requests.extend(profile.map(|profile| of_pod(Privilege::of("appArmorProfile", profile))));
    }
    requests
}

/// Privileges of the pod as a whole.
fn of_spec(spec: &Tree) -> Vec<Privilege> {
    let mut asked = Vec::new();
    for field in ["hostIPC", "hostNetwork", "hostPID", "automountServiceAccountToken"] {
        if is_set(spec, field) {
            asked.push(Privilege::any(field));
        }
    }
    // The second one is an older name of the first.
    for field in ["serviceAccountName", "serviceAccount"] {
        let account = spec.str(field).filter(|name| !["", "default"].contains(name));
        asked.extend(account.map(|name| Privilege::of("serviceAccountName", name)));
    }
    asked.extend(spec.items("volumes").iter().flat_map(of_volume));
    if let Some(context) = spec.get("securityContext") {
        asked.extend(of_context(context));
        let sysctls = context.items("sysctls").iter().filter_map(|sysctl| sysctl.str("name"));
        let unsafe_ones = sysctls.filter(|name| !SAFE_SYSCTLS.contains(name));
        asked.extend(unsafe_ones.map(|name| Privilege::of("sysctls", name)));
    }
    asked
}

/// Privileges of a volume.
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

/// Privileges of a container.
pub(super) fn of_container(container: &Tree) -> Vec<Privilege> {
    let mut asked: Vec<Privilege> = container.get("securityContext").map(of_context).unwrap_or_default();
    for port in container.items("ports") {
        let port = port.get("hostPort").and_then(Tree::as_i64).filter(|port| *port != 0);
        asked.extend(port.map(|port| Privilege::of("hostPort", port.to_string())));
    }
    asked
}

/// Privileges of the security context of a pod or a container.
fn of_context(context: &Tree) -> Vec<Privilege> {
    let mut asked = Vec::new();
    for field in ["privileged", "allowPrivilegeEscalation"] {
        if is_set(context, field) {
            asked.push(Privilege::any(field));
        }
    }
    let added = context.get("capabilities").map_or(&[][..], |all| all.items("add"));
    let named = added.iter().map(|name| capability(name.as_str().unwrap_or_default()));
    asked.extend(named.map(|name| Privilege::of("capabilities", name)));
    if context.get("runAsUser").and_then(Tree::as_i64) == Some(0) {
        asked.push(Privilege::of("runAsUser", "0"));
    }
    for field in ["seccompProfile", "appArmorProfile"] {
        let kind = context.get(field).and_then(|profile| profile.str("type"));
        let kind = kind.filter(|kind| *kind == "Unconfined");
        asked.extend(kind.map(|kind| Privilege::of(field, kind)));
    }
    let mount = context.str("procMount").filter(|mount| *mount != "Default");
    asked.extend(mount.map(|mount| Privilege::of("procMount", mount)));
    let options = context.get("seLinuxOptions").and_then(Tree::as_object);
    if options.is_some_and(|options| !options.is_empty()) {
        asked.push(Privilege::any("seLinuxOptions"));
    }
    if context
        .get("windowsOptions")
        .is_some_and(|options| is_set(options, "hostProcess"))
    {
        asked.push(Privilege::any("hostProcess"));
    }
    asked
}

/// Anything but `false` counts: Kubernetes refuses values that are not booleans.
fn is_set(tree: &Tree, field: &str) -> bool {
    !matches!(tree.get(field), None | Some(Tree::Null | Tree::Bool(false)))
}
