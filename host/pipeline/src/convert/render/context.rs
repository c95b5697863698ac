//! The data of templates: the spec hash of one job on one instance, taken from the ig-resolved document.

use crate::resolved_document::quarks;
use boson_document::Tree;

/// Placeholder for the instance's address until its pod exists. Kubernetes expands it in `args` and `env`.
pub const POD_IP: &str = "$(POD_IP)";

/// The context of `job` (an entry of the resolved group's `jobs`) on its instance number `nth`, with `ip` as the pod's
/// address. `None` if there is no such instance.
pub fn context(job: &Tree, nth: usize, ip: &str) -> Option<Tree> {
    whole(job, instance(job, nth)?.clone(), ip)
}

/// The context on the first instance that a group with no instances would have.
pub fn hypothetical(job: &Tree, ip: &str) -> Option<Tree> {
    whole(job, quarks(job)?.get("hypothetical")?.clone(), ip)
}

fn whole(job: &Tree, mut context: Tree, ip: &str) -> Option<Tree> {
    let quarks = quarks(job)?;
    replace_ip(&mut context, ip);
    let links = quarks.get("consumes").cloned().unwrap_or_else(Tree::object);
    let release = quarks.get("release").cloned().unwrap_or_else(Tree::object);
    context
        .set("release", release)
        .set("properties", properties(job))
        .set("links", links);
    Some(context)
}

pub fn instances(job: &Tree) -> usize {
    quarks(job).map_or(0, |quarks| quarks.items("instances").len())
}

fn instance(job: &Tree, nth: usize) -> Option<&Tree> {
    quarks(job)?.items("instances").get(nth)
}

/// `spec.index` of the job's instance number `nth`.
pub fn index(job: &Tree, nth: usize) -> Option<u32> {
    u32::try_from(instance(job, nth)?.get("index")?.as_i64()?).ok()
}

/// `spec.az` of the job's instance number `nth`.
pub fn az(job: &Tree, nth: usize) -> Option<String> {
    instance(job, nth)?.str("az").map(str::to_string)
}

/// The bound properties, without the property `quarks`, which is for the conversion only.
fn properties(job: &Tree) -> Tree {
    let Some(Tree::Object(all)) = job.get("properties") else {
        return Tree::object();
    };
    let others = all.iter().filter(|(name, _)| *name != "quarks");
    let mut visible: Tree = others.map(|(name, value)| (name.as_str(), value.clone())).collect();
    if let Some(value) = quarks(job).and_then(|quarks| quarks.get("declared")) {
        // A job that declares a property named `quarks` gets its own value.
        visible.set("quarks", value.clone());
    }
    visible
}

fn replace_ip(tree: &mut Tree, ip: &str) {
    match tree {
        Tree::String(text) if text == POD_IP => *text = ip.to_string(),
        Tree::Array(items) => items.iter_mut().for_each(|item| replace_ip(item, ip)),
        Tree::Object(map) => map.values_mut().for_each(|value| replace_ip(value, ip)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    #[test]
    fn a_context_has_the_instance_the_properties_and_the_links() {
        let job = parse(
            r#"{"name":"app","properties":{"port":1,"quarks":{"instances":[{"index":0,"ip":"$(POD_IP)","networks":{"default":{"ip":"$(POD_IP)"}}}],
                "consumes":{"db":{"address":"x"}},"release":{"name":"r","version":"1"}}}}"#,
        )
        .unwrap();
        let wanted = parse(
            r#"{"index":0,"ip":"10.0.0.1","networks":{"default":{"ip":"10.0.0.1"}},"release":{"name":"r","version":"1"},"properties":{"port":1},
                "links":{"db":{"address":"x"}}}"#,
        );
        assert_eq!(context(&job, 0, "10.0.0.1"), Some(wanted.unwrap()));
        assert_eq!(context(&job, 1, "10.0.0.1"), None);
        assert_eq!((instances(&job), index(&job, 0)), (1, Some(0)));
        assert_eq!(hypothetical(&job, "10.0.0.1"), None);
    }

    #[test]
    fn a_group_without_instances_has_the_context_of_its_first_possible_instance() {
        let quarks = r#"{"instances":[],"hypothetical":{"index":0,"ip":"$(POD_IP)"}}"#;
        let job = parse(&format!(r#"{{"name":"app","properties":{{"quarks":{quarks}}}}}"#)).unwrap();
        let wanted = parse(r#"{"index":0,"ip":"$(POD_IP)","release":{},"properties":{},"links":{}}"#);
        assert_eq!(hypothetical(&job, POD_IP), Some(wanted.unwrap()));
        assert_eq!((instances(&job), context(&job, 0, POD_IP)), (0, None));
    }
}
