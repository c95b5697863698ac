//! The ig-resolved document: what templates and rules need of one instance group.

use boson_document::Tree;
use indexmap::IndexMap;

/// The entry of the group; null if there is none.
pub fn group(document: &Tree) -> &Tree {
    document.items("instance_groups").first().unwrap_or(&Tree::Null)
}

/// The name of the group; empty if it has none.
pub fn name(document: &Tree) -> &str {
    group(document).str("name").unwrap_or_default()
}

pub fn jobs(document: &Tree) -> &[Tree] {
    group(document).items("jobs")
}

/// What the stage `links` has added to a job.
pub fn quarks(job: &Tree) -> Option<&Tree> {
    job.get("properties")?.get("quarks")
}

/// Instances in the largest zone of the group; `None` if the group has no job.
pub fn replicas(document: &Tree) -> Option<u32> {
    let zones = zones(document)?.into_values().map(|instances| instances.len()).max();
    u32::try_from(zones.unwrap_or(0)).ok()
}

/// `spec.index` of the pod number `ordinal` in the zone number `zone`, both from 0. How indexes are distributed over
/// the zones is known to the stage `links` only. `None` if there is no such instance.
pub fn index(document: &Tree, zone: usize, ordinal: usize) -> Option<u32> {
    let zones = zones(document)?;
    let (_, instances) = zones.get_index(zone)?;
    let index = instances.get(ordinal)?.get("index")?.as_i64()?;
    u32::try_from(index).ok()
}

/// The instances of each zone. They are in the order of their indexes, and so are the zones, of which only the last may
/// have none. `None` if the group has no job.
fn zones(document: &Tree) -> Option<IndexMap<Option<&str>, Vec<&Tree>>> {
    let mut zones = IndexMap::<_, Vec<&Tree>>::new();
    for instance in quarks(jobs(document).first()?)?.items("instances") {
        zones.entry(instance.str("az")).or_default().push(instance);
    }
    Some(zones)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    fn group(instances: &str) -> Tree {
        let job = format!(r#"{{"properties": {{"quarks": {{"instances": [{instances}]}}}}}}"#);
        parse(&format!(r#"{{"instance_groups": [{{"jobs": [{job}]}}]}}"#)).unwrap()
    }

    #[test]
    fn containers_get_the_number_of_instances_in_the_fullest_zone() {
        assert_eq!(replicas(&group("")), Some(0));
        assert_eq!(replicas(&group(r#"{"az": "z1"}, {"az": "z2"}, {"az": "z1"}"#)), Some(2));
        assert_eq!(
            replicas(&parse(r#"{"instance_groups": [{"instances": 3, "jobs": []}]}"#).unwrap()),
            None
        );
    }

    #[test]
    fn a_pod_finds_its_index_by_zone_and_ordinal_however_indexes_are_distributed() {
        let found = |azs: &[&str]| {
            let one = |(index, az): (usize, &&str)| match *az {
                "" => format!(r#"{{"index": {index}, "az": null}}"#),
                az => format!(r#"{{"index": {index}, "az": "{az}"}}"#),
            };
            let document = group(&azs.iter().enumerate().map(one).collect::<Vec<_>>().join(","));
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)].map(|(zone, ordinal)| index(&document, zone, ordinal))
        };
        assert_eq!(found(&["a", "b", "c", "a"]), [Some(0), Some(3), Some(1), None, Some(2)]);
        assert_eq!(found(&["b", "b", "a", "a"]), [Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!(found(&["", ""]), [Some(0), Some(1), None, None, None]);
        assert_eq!(found(&[]), [None; 5]);
    }
}
