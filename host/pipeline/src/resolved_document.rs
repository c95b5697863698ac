//! The ig-resolved document: what templates and rules need of one instance group.

use boson_document::Tree;
use std::collections::HashMap;

/// The name of the group; empty if it has none.
pub fn name(document: &Tree) -> &str {
    let group = document.items("instance_groups").first();
    group.and_then(|group| group.str("name")).unwrap_or_default()
}

/// The jobs of the group.
pub fn jobs(document: &Tree) -> &[Tree] {
    document
        .items("instance_groups")
        .first()
        .map_or(&[], |group| group.items("jobs"))
}

/// What the stage `links` has added to a job.
pub fn quarks(job: &Tree) -> Option<&Tree> {
    job.get("properties")?.get("quarks")
}

/// Instances in the largest zone of the group, from which pods compute their index; `None` if the group has no job.
pub fn replicas(document: &Tree) -> Option<u32> {
    let quarks = quarks(jobs(document).first()?)?;
    let mut zones: HashMap<Option<&str>, u32> = HashMap::new();
    for instance in quarks.items("instances") {
        *zones.entry(instance.str("az")).or_default() += 1;
    }
    Some(zones.into_values().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    #[test]
    fn pods_count_with_the_instances_of_the_fullest_zone() {
        let group = |instances: &str| {
            let job = format!(r#"{{"properties": {{"quarks": {{"instances": [{instances}]}}}}}}"#);
            parse(&format!(r#"{{"instance_groups": [{{"jobs": [{job}]}}]}}"#)).unwrap()
        };
        assert_eq!(replicas(&group("")), Some(0));
        assert_eq!(replicas(&group(r#"{"az": "z1"}, {"az": "z2"}, {"az": "z1"}"#)), Some(2));
        assert_eq!(
            replicas(&parse(r#"{"instance_groups": [{"instances": 3, "jobs": []}]}"#).unwrap()),
            None
        );
    }
}
