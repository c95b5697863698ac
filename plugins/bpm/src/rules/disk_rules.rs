//! Kubernetes' rules beyond types for the `disks` of a group: claims, volumes and mounts.

use crate::codes;
use crate::rules::kubernetes_rules::quantity;
use boson_document::{Place, Report, Tree, go};
use boson_manifest::syntax::is_label;

const ACCESS_MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];

/// Checks a part of a disk: `pvc`, `volume` or `volumeMount`.
pub fn check(part: &str, value: &Tree, place: &Place, report: &mut Report) {
    let mut report_error = |place: Place, why: &str| {
        report.error(codes::FIELD, place, why);
    };
    match part {
        "pvc" => claim(value, place, &mut report_error),
        "volume" => volume(value, place, &mut report_error),
        _ => mount(value, place, &mut report_error),
    }
}

fn claim(claim: &Tree, place: &Place, report_error: &mut impl FnMut(Place, &str)) {
    if let Some(metadata) = claim.get("metadata") {
        name(metadata, &place.at("metadata"), report_error);
    }
    let (spec, place) = (claim.get("spec").unwrap_or(&Tree::Null), place.at("spec"));
    let (modes, mode_place) = (spec.items("accessModes"), place.at("accessModes"));
    if modes.is_empty() {
        report_error(mode_place.clone(), "A claim needs at least one access mode");
    }
    for (index, mode) in modes.iter().enumerate() {
        if !mode.as_str().is_some_and(|mode| ACCESS_MODES.contains(&mode)) {
            let why = format!("An access mode must be one of {}", ACCESS_MODES.join(", "));
            report_error(mode_place.at(index), &why);
        }
    }
    let storage = spec.find(&["resources", "requests", "storage"]);
    if !storage.and_then(size).is_some_and(|size| size > 0.0) {
        let place = place.at("resources").at("requests").at("storage");
        report_error(place, "A claim needs a size greater than 0, such as 1Gi");
    }
    if !matches!(spec.str("volumeMode"), None | Some("Filesystem" | "Block")) {
        report_error(place.at("volumeMode"), "'volumeMode' must be Filesystem or Block");
    }
}

fn volume(volume: &Tree, place: &Place, report_error: &mut impl FnMut(Place, &str)) {
    name(volume, place, report_error);
    let sources = volume.as_object().into_iter().flatten();
    let given = sources
        .filter(|(key, value)| *key != "name" && !value.is_null())
        .count();
    if given > 1 {
        report_error(place.clone(), "A volume has one source");
    }
    if let Some(empty) = volume.get("emptyDir") {
        let place = place.at("emptyDir");
        let limit = empty.get("sizeLimit").filter(|limit| !limit.is_null());
        if limit.is_some_and(|limit| size(limit).is_none()) {
            report_error(place.at("sizeLimit"), "'sizeLimit' must be a quantity, such as 64Mi");
        }
        let medium = empty.str("medium").unwrap_or_default();
        if !matches!(medium, "" | "Memory") && !medium.starts_with("HugePages") {
            report_error(place.at("medium"), "'medium' must be empty, Memory or HugePages");
        }
    }
}

fn mount(mount: &Tree, place: &Place, report_error: &mut impl FnMut(Place, &str)) {
    let text = |key: &str| mount.str(key).unwrap_or_default();
    if text("mountPath").is_empty() || text("mountPath").contains(':') {
        report_error(place.at("mountPath"), "'mountPath' must be a path without ':'");
    }
    for key in ["subPath", "subPathExpr"] {
        if text(key).starts_with('/') || text(key).split('/').any(|part| part == "..") {
            report_error(place.at(key), &format!("'{key}' must be a relative path without '..'"));
        }
    }
    if !text("subPath").is_empty() && !text("subPathExpr").is_empty() {
        let message = "'subPath' and 'subPathExpr' exclude each other";
        report_error(place.at("subPathExpr"), message);
    }
    if !matches!(
        text("mountPropagation"),
        "" | "None" | "HostToContainer" | "Bidirectional"
    ) {
        let why = "'mountPropagation' must be None, HostToContainer or Bidirectional";
        report_error(place.at("mountPropagation"), why);
    }
}

fn name(tree: &Tree, place: &Place, report_error: &mut impl FnMut(Place, &str)) {
    if tree.str("name").is_some_and(|name| !is_label(name)) {
        let why = "'name' must have at most 63 lower-case letters, digits and `-`, with no `-` at the ends";
        report_error(place.at("name"), why);
    }
}

fn size(tree: &Tree) -> Option<f64> {
    quantity(&go::text(tree)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn disks_obey_kubernetes() {
        let claim = |spec: &str| format!(r#"{{"metadata": {{"name": "a"}}, "spec": {spec}}}"#);
        let good = r#"{"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}"#;
        let bad = r#"{"accessModes": ["a"], "resources": {"requests": {"storage": 0}}, "volumeMode": ""}"#;
        let (size, mode) = ("/spec/resources/requests/storage", "/spec/accessModes");
        for (part, text, expected) in [
            ("pvc", claim(good), &[][..]),
            ("pvc", claim("{}"), &[mode, size]),
            ("pvc", claim(bad), &["/spec/accessModes/0", size, "/spec/volumeMode"]),
            ("pvc", claim(good).replace(r#""a""#, r#""a.b""#), &["/metadata/name"]),
            (
                "volume",
                r#"{"name": "a", "emptyDir": {"sizeLimit": "64Mi", "medium": "Memory"}}"#.into(),
                &[],
            ),
            (
                "volume",
                r#"{"name": "A", "emptyDir": {}, "hostPath": {"path": "/a"}}"#.into(),
                &["/name", ""],
            ),
            (
                "volume",
                r#"{"name": "a", "emptyDir": {"sizeLimit": "a", "medium": "a"}}"#.into(),
                &["/emptyDir/sizeLimit", "/emptyDir/medium"],
            ),
            (
                "volumeMount",
                r#"{"name": "a", "mountPath": "/a", "subPath": "b/c"}"#.into(),
                &[],
            ),
            (
                "volumeMount",
                r#"{"name": "a", "mountPath": "", "subPath": "../b", "subPathExpr": "/c", "mountPropagation": "d"}"#
                    .into(),
                &[
                    "/mountPath",
                    "/subPath",
                    "/subPathExpr",
                    "/subPathExpr",
                    "/mountPropagation",
                ],
            ),
        ] {
            let mut report = Report::default();
            check(part, &json::parse(&text).unwrap(), &Place::default(), &mut report);
            let found = report.into_diagnostics();
            let found: Vec<String> = found.iter().map(|one| one.pointer_text()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
