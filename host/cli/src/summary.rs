//! The table that `host convert --out` prints: how many objects of each kind an instance group has. Pure.

use boson_document::Tree;
use boson_manifest::labels;
use indexmap::IndexMap;

/// Label of the row for objects that belong to no instance group.
const DEPLOYMENT_LABEL: &str = "(deployment)";
const HEADER: (&str, &str) = ("INSTANCE GROUP", "OBJECTS");
/// Blanks between columns, as in tables of kubectl.
const COLUMN_GAP: usize = 3;

/// One line for each instance group, in the order of the objects, and one for all that belongs to none.
pub fn table(objects: &[Tree]) -> String {
    let mut groups: IndexMap<&str, IndexMap<&str, usize>> = IndexMap::new();
    for object in objects {
        let kinds = groups.entry(group(object)).or_default();
        *kinds.entry(object.str("kind").unwrap_or_default()).or_default() += 1;
    }
    groups.sort_by_key(|group, _| *group == DEPLOYMENT_LABEL);
    let rows = groups.iter().map(|(group, kinds)| (*group, counts_by_kind(kinds)));
    let rows: Vec<(&str, String)> = [(HEADER.0, HEADER.1.to_string())].into_iter().chain(rows).collect();
    let width = rows.iter().map(|(group, _)| group.len()).max().unwrap_or(0) + COLUMN_GAP;
    rows.iter()
        .map(|(group, kinds)| format!("{group:width$}{kinds}\n"))
        .collect()
}

fn group(object: &Tree) -> &str {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    labels
        .and_then(|labels| labels.str(labels::INSTANCE_GROUP_NAME))
        .unwrap_or(DEPLOYMENT_LABEL)
}

fn counts_by_kind(kinds: &IndexMap<&str, usize>) -> String {
    let one = |(kind, count): (&&str, &usize)| match count {
        1 => format!("1 {kind}"),
        count => format!("{count} {}", plural(kind)),
    };
    kinds.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn plural(kind: &str) -> String {
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_has_a_line_and_the_deployment_the_last() {
        let object = |kind: &str, group: Option<&str>| {
            let labels = group.map_or(Tree::object(), |group| {
                Tree::object().with(labels::INSTANCE_GROUP_NAME, group)
            });
            let metadata = Tree::object().with("name", "x").with("labels", labels);
            Tree::object().with("kind", kind).with("metadata", metadata)
        };
        let objects = [
            object("Secret", None),
            object("StatefulSet", Some("message-broker")),
            object("Service", Some("message-broker")),
            object("Job", Some("smoke")),
            object("Service", Some("message-broker")),
            object("NetworkPolicy", None),
            object("NetworkPolicy", None),
        ];
        assert_eq!(
            table(&objects),
            "INSTANCE GROUP   OBJECTS\n\
             message-broker   1 StatefulSet, 2 Services\n\
             smoke            1 Job\n\
             (deployment)     1 Secret, 2 NetworkPolicies\n"
        );
        assert_eq!(table(&[]), "INSTANCE GROUP   OBJECTS\n");
    }
}
