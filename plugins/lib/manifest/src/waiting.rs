//! Which Services the pods of an instance group wait for before they start: those of the annotation `wait-for`, and by
//! `update.serial` that of an earlier instance group.

use crate::labels::WAIT_FOR;
use crate::names::Names;
use crate::syntax::is_label;
use boson_document::{Tree, json};

/// Key of a resolved document: names of the instance groups that the group waits for. Whether a Service belongs to an
/// instance group cannot be determined from a single group.
pub const RESOLVED_KEY: &str = "wait_for";

/// An instance group of the manifest, in its place.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub name: &'a str,
    /// `update.serial`, its own or the manifest's. Only what is written counts: by BOSH's default, all groups would
    /// wait.
    pub serial: Option<bool>,
    /// It runs all the time, so others can wait for it, and it can wait.
    pub is_service: bool,
    /// Its jobs list ports.
    pub has_ports: bool,
    /// Its settings, with the annotations.
    pub settings: Option<&'a Tree>,
}

/// For each group the groups that it waits for. A serial group waits for the last one before it that has ports; a group
/// that is explicitly not serial waits for the last serial one with ports.
pub fn groups<'a>(all: &[Member<'a>], names: &Names) -> Vec<Vec<&'a str>> {
    let (mut last, mut barrier) = (None, None);
    let mut waits = Vec::with_capacity(all.len());
    for one in all {
        let serial = match one.serial.filter(|_| one.is_service) {
            Some(true) => last,
            Some(false) => barrier,
            None => None,
        };
        let services = one.settings.and_then(|settings| services(settings).ok());
        let services = services.unwrap_or_default();
        let named = all.iter().filter(|other| {
            let service = names.service(other.name);
            other.is_service && service.is_ok_and(|service| services.contains(&service))
        });
        let mut found: Vec<&str> = named.map(|other| other.name).collect();
        found.extend(serial.filter(|name| !found.contains(name)));
        waits.push(found);
        if one.is_service && one.has_ports {
            last = Some(one.name);
            if one.serial == Some(true) {
                barrier = Some(one.name);
            }
        }
    }
    waits
}

/// The Services of the annotation in `env.bosh.agent.settings`, each `<service>` or `<service>.<namespace>`. None where
/// there is no annotation.
///
/// # Errors
/// What is wrong with it.
pub fn services(settings: &Tree) -> Result<Vec<String>, &'static str> {
    let given = settings.get("annotations").and_then(|all| all.get(WAIT_FOR));
    let Some(given) = given.filter(|given| !given.is_null()) else {
        return Ok(Vec::new());
    };
    let text = given.as_str().ok_or("it is not a string")?;
    let list = json::parse(text).map_err(|_| "it is not JSON")?;
    let list = list.as_array().ok_or("it is not a JSON array")?;
    let mut services: Vec<String> = Vec::new();
    for item in list {
        let name = item.as_str().ok_or("an item is not a string")?;
        if !name.splitn(3, '.').all(is_label) || name.matches('.').count() > 1 {
            return Err("an item is not the name of a Service, <service> or <service>.<namespace>");
        }
        if !services.iter().any(|known| known == name) {
            services.push(name.to_string());
        }
    }
    Ok(services)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(annotation: &str) -> Tree {
        let annotations = Tree::object().with(WAIT_FOR, annotation);
        Tree::object().with("annotations", annotations)
    }

    #[test]
    fn serial_groups_wait_for_the_last_one_with_ports_before_them() {
        let names = Names::new("d", "n", "cluster.local").unwrap();
        let of = |all: &str| {
            let member = |word: &'static str| Member {
                name: word,
                serial: word
                    .contains('s')
                    .then_some(true)
                    .or(word.contains('p').then_some(false)),
                is_service: !word.contains('e'),
                has_ports: !word.contains('x'),
                settings: None,
            };
            let words: Vec<&'static str> = all.split(' ').map(|word| &*word.to_string().leak()).collect();
            let all: Vec<Member<'_>> = words.into_iter().map(member).collect();
            let found = groups(&all, &names);
            let texts: Vec<String> = found.iter().map(|one| one.join("+")).collect();
            texts.join(",")
        };
        // `s` serial, `p` explicitly not, neither: no key; `x` without ports, `e` an errand.
        for (groups, waits) in [
            ("a b c", ",,"),
            ("as bs cs", ",as,bs"),
            ("a bs", ",a"),
            ("as bxs cs", ",as,as"),
            ("as es bs", ",,as"),
            ("ap bs cp dp", ",ap,bs,bs"),
            ("ap bp cs", ",,bp"),
            ("as b", ","),
        ] {
            assert_eq!(of(groups), waits, "{groups}");
        }
    }

    #[test]
    fn annotations_name_services_and_lead_to_groups() {
        let (names, own) = (
            Names::new("d", "n", "cluster.local").unwrap(),
            settings(r#"["d-b", "other"]"#),
        );
        let member = |name: &'static str| Member {
            name,
            serial: None,
            is_service: true,
            has_ports: false,
            settings: (name == "a").then_some(&own),
        };
        assert_eq!(groups(&[member("a"), member("b")], &names), [vec!["b"], vec![]]);
        assert_eq!(services(&own).unwrap(), ["d-b", "other"]);
        assert!(services(&Tree::object()).unwrap().is_empty());
        assert_eq!(services(&settings(r#"["a", "a.ns", "a"]"#)).unwrap(), ["a", "a.ns"]);
        for (wrong, why) in [
            ("a", "it is not JSON"),
            (r#""a""#, "it is not a JSON array"),
            ("[1]", "an item is not a string"),
            (
                r#"["A"]"#,
                "an item is not the name of a Service, <service> or <service>.<namespace>",
            ),
            (
                r#"["a.b.c"]"#,
                "an item is not the name of a Service, <service> or <service>.<namespace>",
            ),
            (
                r#"[""]"#,
                "an item is not the name of a Service, <service> or <service>.<namespace>",
            ),
        ] {
            assert_eq!(services(&settings(wrong)).unwrap_err(), why, "{wrong}");
        }
    }
}
