//! The operator's labels and annotations. A plugin may set only those that the built-in plugins set. With the others it
//! could make the operator load a ConfigMap as a plugin, use a Secret as a version, or rotate other Secrets.

use crate::Diagnostic;
use crate::bundle::codes;
use crate::object::fault;
use boson_document::Tree;
use boson_manifest::labels;

/// Checks all labels and annotations of an object and of its templates. `deployment`: the deployment that the object
/// belongs to.
///
/// # Errors
/// The first label or annotation that a plugin may not set.
pub(crate) fn check(object: &Tree, deployment: &str) -> Result<(), Box<Diagnostic>> {
    match find(object, deployment) {
        None => Ok(()),
        Some((key, Why::Reserved)) => {
            let why = format!("the label or annotation '{key}' is reserved for the operator");
            Err(fault(object, codes::BUNDLE_RESERVED_MARK, &why))
        }
        Some((key, Why::Foreign)) => {
            let why = format!("its '{key}' names another deployment");
            Err(fault(object, codes::BUNDLE_FOREIGN_OBJECT, &why))
        }
    }
}

enum Why {
    Reserved,
    Foreign,
}

fn find<'t>(tree: &'t Tree, deployment: &str) -> Option<(&'t str, Why)> {
    match tree {
        Tree::Array(items) => items.iter().find_map(|item| find(item, deployment)),
        Tree::Object(map) => map.iter().find_map(|(member, value)| match are_marks(member) {
            true => marks(value, deployment),
            false => find(value, deployment),
        }),
        _ => None,
    }
}

/// `labels`, `annotations`, and members such as `secretLabels`, which become labels of another object. Selectors are
/// not included: they set no labels.
fn are_marks(member: &str) -> bool {
    let ends = |end: &str| member.strip_suffix(end).is_some_and(|rest| rest != "match");
    ["labels", "annotations", "Labels", "Annotations"].into_iter().any(ends)
}

fn marks<'t>(map: &'t Tree, deployment: &str) -> Option<(&'t str, Why)> {
    let entries = map.as_object().into_iter().flatten();
    let mut ours = entries.filter(|(key, _)| {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        domain == labels::GROUP || domain.ends_with(labels::SUBDOMAINS)
    });
    ours.find_map(|(key, value)| match key.as_str() {
        labels::DEPLOYMENT_NAME => (value.as_str() != Some(deployment)).then_some((key.as_str(), Why::Foreign)),
        key => (!labels::SET_BY_RULES.contains(&key)).then_some((key, Why::Reserved)),
    })
}
