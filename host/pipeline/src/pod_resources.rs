//! Requests and limits of CPU and memory that Kubernetes can change in a running pod (`pods/resize`). Pure.
//!
//! Only amounts can change: a request or limit that is added or removed, or an amount that would give the pod another
//! QoS class, is a change of its shape. Amounts of init containers that have ended, such as those of pre-start scripts,
//! concern no running pod.

use crate::quantities::quantity;
use boson_document::{Tree, json};

const CONTAINERS: &str = "containers";
const INIT_CONTAINERS: &str = "initContainers";
/// The resources whose amounts can change.
const RESIZABLE: [&str; 2] = ["cpu", "memory"];
const REQUESTS: &str = "requests";
const LIMITS: &str = "limits";
/// Member of a pod spec without amounts: its QoS class.
const QOS_CLASS: &str = "qosClass";

/// Takes the amounts that can change out of a pod spec, and those of init containers that end; adds its QoS class
/// instead. Returns the former in the form of a pod spec, so that two specs differ in nothing else if their rests are
/// equal. None: there are no such amounts, and the spec stays as it is.
pub fn take(pod: &mut Tree) -> Option<Tree> {
    if !is_resizable(pod) {
        return None;
    }
    let class = qos_class(pod);
    let mut taken = Tree::object();
    for list in [INIT_CONTAINERS, CONTAINERS] {
        let all = pod.items_mut(list).iter_mut();
        let running = all.filter(|one| list == CONTAINERS || is_sidecar(one));
        let of_list: Vec<Tree> = running.filter_map(of_container).collect();
        if !of_list.is_empty() {
            taken.set(list, of_list);
        }
    }
    if taken == Tree::object() {
        return None;
    }
    let all = pod.items_mut(INIT_CONTAINERS).iter_mut();
    for container in all.filter(|one| !is_sidecar(one)) {
        of_container(container);
    }
    pod.set(QOS_CLASS, class);
    Some(taken)
}

/// Whether Kubernetes resizes such a pod, and no container has to start again for it: one that reads its own limits, or
/// asks for a restart.
fn is_resizable(pod: &Tree) -> bool {
    let is_windows = pod.find(&["os", "name"]).and_then(Tree::as_str) == Some("windows");
    let has_own = pod.get("resources").is_some_and(|own| !own.is_null());
    let reads = |variable: &Tree| variable.find(&["valueFrom", "resourceFieldRef"]).is_some();
    let starts_again = |container: &Tree| {
        let mut policies = container.items("resizePolicy").iter();
        container.items("env").iter().any(reads)
            || policies.any(|policy| policy.str("restartPolicy") == Some("RestartContainer"))
    };
    !is_windows && !has_own && !containers(pod).any(starts_again)
}

fn containers(pod: &Tree) -> impl Iterator<Item = &Tree> {
    pod.items(INIT_CONTAINERS).iter().chain(pod.items(CONTAINERS))
}

/// An init container that runs beside the others.
fn is_sidecar(container: &Tree) -> bool {
    container.str("restartPolicy") == Some("Always")
}

fn of_container(container: &mut Tree) -> Option<Tree> {
    let name = container.str("name")?.to_string();
    let resources = container.get_mut("resources")?;
    let mut amounts = |kind: &str| {
        let all = resources.get_mut(kind).and_then(Tree::as_object_mut)?;
        let mut taken = Tree::object();
        for name in RESIZABLE {
            if let Some(amount) = all.get_mut(name).filter(|amount| !amount.is_null()) {
                taken.set(name, std::mem::take(amount));
            }
        }
        taken.as_object().filter(|taken| !taken.is_empty()).cloned()
    };
    let mut requests = amounts(REQUESTS).unwrap_or_default();
    let limits = amounts(LIMITS).unwrap_or_default();
    if requests.is_empty() && limits.is_empty() {
        return None;
    }
    // As Kubernetes does it for a new pod.
    for (name, limit) in &limits {
        requests.entry(name.clone()).or_insert_with(|| limit.clone());
    }
    let mut taken = Tree::object().with(REQUESTS, requests);
    if !limits.is_empty() {
        taken.set(LIMITS, limits);
    }
    Some(Tree::object().with("name", name).with("resources", taken))
}

/// The QoS class of a pod. It never changes.
fn qos_class(pod: &Tree) -> &'static str {
    let is_used = |container: &Tree| {
        let mut all = [REQUESTS, LIMITS].into_iter();
        all.any(|kind| RESIZABLE.iter().any(|name| amount(container, kind, name).is_some()))
    };
    let is_guaranteed = |container: &Tree| {
        RESIZABLE.iter().all(|name| {
            let limit = amount(container, LIMITS, name);
            limit.is_some() && (has_no_request(container, name) || amount(container, REQUESTS, name) == limit)
        })
    };
    if !containers(pod).any(is_used) {
        "BestEffort"
    } else if containers(pod).all(is_guaranteed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Whether it has no request, so that it gets its limit.
fn has_no_request(container: &Tree, name: &str) -> bool {
    container.find(&["resources", REQUESTS, name]).is_none_or(Tree::is_null)
}

/// An amount that counts: not zero.
fn amount(container: &Tree, kind: &str, name: &str) -> Option<i128> {
    let amount = container.find(&["resources", kind, name])?;
    // It may be a number, too. One that cannot be read is refused in any case.
    let text = amount.as_str().map_or_else(|| json::to_text(amount), str::to_string);
    quantity(&text).filter(|amount| *amount > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    /// A pod with these resources of its container, and of an init container with this restart policy.
    fn pod(resources: &str, init: &str, policy: &str) -> Tree {
        parse(&format!(
            r#"{{"initContainers": [{{"name": "i", "restartPolicy": "{policy}", "resources": {init}}}],
                "containers": [{{"name": "c", "image": "x", "resources": {resources}}}, {{"name": "d"}}]}}"#
        ))
        .unwrap()
    }

    /// The amounts, and whether two pods differ in nothing else.
    fn compared(old: &Tree, new: &Tree) -> (Option<Tree>, bool) {
        let (mut old, mut new) = (old.clone(), new.clone());
        take(&mut old);
        let taken = take(&mut new);
        (taken, old == new)
    }

    const SMALL: &str = r#"{"requests": {"cpu": "100m", "storage": "1"}, "limits": {"memory": "1Gi"}}"#;

    #[test]
    fn amounts_of_running_containers_are_no_part_of_the_shape() {
        let old = pod(SMALL, "{}", "Always");
        let new = pod(&SMALL.replace("1Gi", "2Gi").replace("100m", "2"), "{}", "Always");
        let (taken, is_same) = compared(&old, &new);
        let wanted = r#"{"containers": [{"name": "c", "resources":
            {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"memory": "2Gi"}}}]}"#;
        assert_eq!((taken, is_same), (Some(parse(wanted).unwrap()), true));
        let of_sidecar = pod("{}", SMALL, "Always");
        assert!(compared(&of_sidecar, &pod("{}", &SMALL.replace("1Gi", "2Gi"), "Always")).1);
        let of_script = |memory: &str| pod(SMALL, &SMALL.replace("1Gi", memory), "Never");
        let (taken, is_same) = compared(&of_script("1Gi"), &of_script("2Gi"));
        assert!(
            is_same && taken.is_some_and(|taken| taken.get(INIT_CONTAINERS).is_none()),
            "it has ended"
        );
        let none = pod("{}", "{}", "Always");
        assert_eq!(compared(&none, &none), (None, true));
    }

    #[test]
    fn what_kubernetes_does_not_change_in_a_running_pod_is_a_part_of_the_shape() {
        let full = r#"{"limits": {"cpu": "1", "memory": "1Gi"}}"#;
        let of = |resources: &str| pod(resources, "{}", "Always");
        for (what, from, to) in [
            ("another resource", r#""storage": "1""#, r#""storage": "2""#),
            ("a new limit", r#""limits": {"#, r#""limits": {"cpu": "1", "#),
            ("a removed request", r#""cpu": "100m", "#, ""),
        ] {
            assert!(!compared(&of(SMALL), &of(&SMALL.replace(from, to))).1, "{what}");
        }
        let zero = r#"{"requests": {"cpu": "0"}}"#;
        assert!(
            !compared(&of(zero), &of(&zero.replace('0', "1"))).1,
            "the first amount that counts"
        );
        let init = |resources: &str| pod("{}", resources, "Never");
        assert!(!compared(&init(SMALL), &init(&SMALL.replace("1Gi", "2Gi"))).1);
        let single = |requests: &str| {
            let resources = format!(r#"{{"requests": {requests}, "limits": {{"cpu": "1", "memory": "1Gi"}}}}"#);
            parse(&format!(
                r#"{{"containers": [{{"name": "c", "resources": {resources}}}]}}"#
            ))
            .unwrap()
        };
        let guaranteed = single(r#"{"cpu": "1000m", "memory": "1024Mi"}"#);
        assert!(!compared(&guaranteed, &single(r#"{"cpu": "500m", "memory": "1024Mi"}"#)).1);
        assert_eq!(qos_class(&guaranteed), "Guaranteed");
        assert_eq!(
            qos_class(&pod(full, full, "Never")),
            "Burstable",
            "another container has none"
        );
    }

    #[test]
    fn a_pod_that_has_to_start_again_for_other_amounts_is_not_resized() {
        for member in [
            r#""os": {"name": "windows"}"#,
            r#""resources": {"limits": {"cpu": "1"}}"#,
            r#""initContainers": [{"env": [{"valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}}]}]"#,
            r#""initContainers": [{"resizePolicy": [{"restartPolicy": "RestartContainer"}]}]"#,
        ] {
            let text = format!(r#"{{{member}, "containers": [{{"name": "c", "resources": {SMALL}}}]}}"#);
            let mut pod = parse(&text).unwrap();
            let before = pod.clone();
            assert_eq!((take(&mut pod), pod), (None, before), "{member}");
        }
    }
}
