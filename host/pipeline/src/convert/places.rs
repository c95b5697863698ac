//! Maps places of the resolved document to the manifest that the user wrote.

use crate::diagnostic::{Diagnostic, Place};
use crate::stage::{JobFiles, Named};
use boson_document::{Pointer, Tree};

/// The job property for the conversion, and its older name, which the resolved document does not have.
const QUARKS: &str = "quarks";
const BOSH_CONTAINERIZATION: &str = "bosh_containerization";

/// The place of the group with this name in the manifest.
pub fn of_group(manifest: &Tree, group: &str) -> String {
    let index = manifest
        .items("instance_groups")
        .iter()
        .position(|one| one.str("name") == Some(group));
    let root = Pointer::root().at("instance_groups");
    index.map_or(root.clone(), |index| root.at(index)).to_string()
}

/// Moves diagnostics about a resolved group's jobs to the place of these jobs in the manifest: the resolved document
/// has the jobs of addons after the group's own, and leaves some out. Diagnostics about the bpm.yml of an addon's job
/// point to the addon as well: it is the same in all groups.
pub fn of_jobs(diagnostics: &mut [Diagnostic], manifest: Named<'_>, group: &Tree, pointer: &str, jobs: &[JobFiles]) {
    let origins: Vec<Option<Origin>> = jobs
        .iter()
        .map(|job| {
            origin(manifest.tree, group, pointer, |one| {
                one.str("name") == Some(&job.job) && one.str("release") == Some(&job.release)
            })
        })
        .collect();
    let Some(listed) = Pointer::parse(pointer).map(|at| at.at("jobs")) else {
        return;
    };
    for one in diagnostics {
        let place = &mut one.place;
        if place.document.as_deref() == Some(manifest.name) {
            let found = place.pointer.as_deref().and_then(Pointer::parse);
            let moved = found.and_then(|found| moved(&found, &listed, &origins));
            if let Some(moved) = moved {
                place.pointer = Some(moved.to_string());
            }
            continue;
        }
        let document = place.document.as_deref().unwrap_or_default();
        let rendered = |job: &&JobFiles| job.bpm.iter().any(|copy| copy.document_name == document);
        let origin = jobs.iter().zip(&origins).find(|(job, _)| rendered(job));
        if let Some((_, Some(Origin { at, addon: true }))) = origin {
            *place = Place::new(manifest.name, at);
        }
    }
}

/// The place of a resolved group's job in the manifest.
struct Origin {
    at: Pointer,
    addon: bool,
}

/// The place in the manifest of a job of a group, which may be in an addon.
pub fn of_job(manifest: &Tree, group: &str, job: &str) -> Option<Pointer> {
    let group = of_group(manifest, group);
    let tree = Pointer::parse(&group)?.find(manifest)?;
    Some(origin(manifest, tree, &group, |one| one.str("name") == Some(job))?.at)
}

fn origin(manifest: &Tree, group: &Tree, pointer: &str, is: impl Fn(&Tree) -> bool) -> Option<Origin> {
    let position = |owner: &Tree| owner.items("jobs").iter().position(&is);
    let here = Pointer::parse(pointer).and_then(|at| Some((position(at.find(manifest)?)?, at)));
    if let Some((index, at)) = here {
        let at = at.at("jobs").at(index);
        return Some(Origin { at, addon: false });
    }
    let name = group.str("name");
    // An addon that names this group comes before one that applies to all: the same job may be in several addons.
    let names = |addon: &Tree| {
        let included = addon
            .get("include")
            .map_or(&[][..], |include| include.items("instance_groups"));
        included.iter().any(|one| one.as_str() == name)
    };
    let addons = manifest.items("addons").iter().enumerate();
    let (index, job, _) = addons
        .filter_map(|(index, addon)| Some((index, position(addon)?, names(addon))))
        .min_by_key(|(_, _, named)| !named)?;
    let at = Pointer::root().at("addons").at(index).at("jobs").at(job);
    Some(Origin { at, addon: true })
}

fn moved(pointer: &Pointer, listed: &Pointer, origins: &[Option<Origin>]) -> Option<Pointer> {
    let (number, below) = pointer.below(listed)?.split_first()?;
    let origin = origins.get(number.parse::<usize>().ok()?)?;
    Some(origin.as_ref()?.at.join(below))
}

/// Moves diagnostics about the property `quarks` to the name that it has in the manifest.
pub fn as_written(diagnostics: &mut [Diagnostic], manifest_name: &str, manifest: &Tree) {
    for one in diagnostics {
        if one.place.document.as_deref() != Some(manifest_name) {
            continue;
        }
        let pointer = one.place.pointer.as_deref();
        if let Some(found) = pointer.and_then(|pointer| written(pointer, manifest)) {
            one.place.pointer = Some(found.to_string());
        }
    }
}

fn written(pointer: &str, manifest: &Tree) -> Option<Pointer> {
    let tokens = Pointer::parse(pointer)?.tokens().to_vec();
    let at = tokens.windows(2).position(|pair| pair == ["properties", QUARKS])?;
    let (above, below) = (&tokens[..=at], &tokens[at + 2..]);
    let properties = Pointer::from(above.to_vec());
    let has = |name: &str| properties.at(name).find(manifest).is_some();
    (!has(QUARKS) && has(BOSH_CONTAINERIZATION)).then(|| properties.at(BOSH_CONTAINERIZATION).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::BpmCopy;
    use boson_document::json;

    fn files(job: &str, document: &str) -> JobFiles {
        let copy = BpmCopy {
            document_name: document.into(),
            instances: vec![0],
            bpm: Tree::Null,
        };
        JobFiles {
            job: job.into(),
            release: "r".into(),
            bpm: vec![copy],
            ..JobFiles::default()
        }
    }

    #[test]
    fn diagnostics_about_an_addons_job_point_to_the_addon() {
        let manifest = r#"{"instance_groups": [{"name": "web", "jobs": [{"name": "dns", "release": "bosh-dns"}, {"name": "app", "release": "r"}]}],
            "addons": [{"jobs": [{"name": "agent", "release": "r"}], "include": {"instance_groups": ["db"]}},
                       {"jobs": [{"name": "other", "release": "r"}, {"name": "agent", "release": "r"}], "include": {"instance_groups": ["web"]}}]}"#;
        let tree = json::parse(manifest).unwrap();
        let manifest = Named::new("m.yml", &tree);
        let group = tree.items("instance_groups")[0].clone();
        let jobs = [files("app", "app/bpm.yml"), files("agent", "agent/bpm.yml")];
        for (document, pointer, wanted) in [
            (
                "m.yml",
                "/instance_groups/0/jobs/0/release",
                ("m.yml", "/instance_groups/0/jobs/1/release"),
            ),
            (
                "m.yml",
                "/instance_groups/0/jobs/1/properties/x",
                ("m.yml", "/addons/1/jobs/1/properties/x"),
            ),
            (
                "m.yml",
                "/instance_groups/0/azs/0",
                ("m.yml", "/instance_groups/0/azs/0"),
            ),
            ("app/bpm.yml", "/processes/0", ("app/bpm.yml", "/processes/0")),
            ("agent/bpm.yml", "/processes/0", ("m.yml", "/addons/1/jobs/1")),
        ] {
            let mut reported = [Diagnostic::reported_error("x", "y").in_document(document).at(pointer)];
            of_jobs(&mut reported, manifest, &group, "/instance_groups/0", &jobs);
            let place = &reported[0].place;
            assert_eq!(
                (place.document.as_deref().unwrap(), place.pointer.as_deref().unwrap()),
                wanted
            );
        }
    }

    #[test]
    fn the_older_name_of_the_property_quarks_is_found() {
        let manifest =
            r#"{"jobs": [{"properties": {"bosh_containerization": {"run": 1}}}, {"properties": {"quarks": {}}}]}"#;
        let manifest = json::parse(manifest).unwrap();
        for (pointer, wanted) in [
            (
                "/jobs/0/properties/quarks/run/x",
                Some("/jobs/0/properties/bosh_containerization/run/x"),
            ),
            (
                "/jobs/0/properties/quarks",
                Some("/jobs/0/properties/bosh_containerization"),
            ),
            ("/jobs/1/properties/quarks/run", None),
            ("/jobs/0/properties/other", None),
        ] {
            let found = written(pointer, &manifest).map(|pointer| pointer.to_string());
            assert_eq!(found.as_deref(), wanted);
        }
    }
}
