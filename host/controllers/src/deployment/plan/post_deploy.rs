//! When to start the post-deploy scripts: once for each change of a deployment, when all of its instance groups are
//! ready, on all instances at the same time. Pure.

use boson_cluster::cache::Reported;
use boson_cluster::objects::annotation;
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(Debug, PartialEq, Eq)]
pub struct Start<'s> {
    /// The value of the annotation.
    pub version: String,
    /// Labels of the groups that have scripts.
    pub groups: Vec<&'s str>,
}

/// What to start now. `is_up`: whether all objects are applied and ready; `done`: the version for which scripts were
/// started last.
pub fn start<'s>(groups: &[&'s Reported], is_up: bool, done: Option<&str>) -> Option<Start<'s>> {
    let version = groups.iter().filter_map(|reported| reported.version).max()?.to_string();
    let scripts: Vec<&str> = groups
        .iter()
        .filter_map(|reported| reported.post_deploy.as_deref())
        .collect();
    let is_due = is_up && !scripts.is_empty() && groups.iter().all(|reported| reported.ready) && done != Some(&version);
    is_due.then_some(Start {
        version,
        groups: scripts,
    })
}

/// Whether a pod has not got this version yet.
pub fn needs_version(pod: &ObjectMeta, version: &str) -> bool {
    pod.deletion_timestamp.is_none() && annotation(pod, labels::POST_DEPLOY) != Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(ready: bool, version: Option<u32>, script: Option<&str>) -> Reported {
        Reported {
            ready,
            version,
            post_deploy: script.map(str::to_string),
            ..Reported::default()
        }
    }

    #[test]
    fn scripts_start_once_for_each_change_when_all_groups_are_ready() {
        let [a, b] = [reported(true, Some(3), Some("a")), reported(true, Some(5), None)];
        let of = |groups: &[&Reported], is_up, done| {
            let start = start(groups, is_up, done);
            start.map(|start| format!("{} {}", start.version, start.groups.join(",")))
        };
        assert_eq!(of(&[&a, &b], true, None).as_deref(), Some("5 a"));
        assert_eq!(of(&[&a, &b], true, Some("4")).as_deref(), Some("5 a"));
        assert_eq!(of(&[&a, &b], true, Some("5")), None);
        assert_eq!(of(&[&a, &b], false, None), None, "not all objects are applied");
        let starting = reported(false, Some(6), None);
        assert_eq!(of(&[&a, &starting], true, Some("5")), None);
        assert_eq!(of(&[&b], true, None), None, "no group has a script");
        let earlier = reported(true, None, Some("a"));
        assert_eq!(of(&[&earlier], true, None), None, "unchanged since an earlier operator");
    }

    #[test]
    fn a_pod_gets_each_version_once() {
        let mut pod = ObjectMeta::default();
        assert!(needs_version(&pod, "5"));
        pod.annotations = Some([(labels::POST_DEPLOY.to_string(), "5".to_string())].into());
        assert!(!needs_version(&pod, "5") && needs_version(&pod, "6"));
    }
}
