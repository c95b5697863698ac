//! The manifest as the stages that replace a director get it.

use crate::diagnostic::Diagnostic;
use crate::stage::VariableRules;
use crate::variables::codes;
use crate::yaml;
use boson_document::{Number, Pointer, Tree, ruby};
use boson_manifest::cloud;
use boson_manifest::job::QUARKS as PROPERTY;
use boson_manifest::schema::{GROUP, JOB, Key, MANIFEST, QUARKS};
use boson_manifest::types::Type;

/// Keys whose value is a number or a text, and so stays as it is.
const NUMBER_OR_TEXT: &str = "update.";

/// The manifest as the director reads it; numbers that stand for strings, such as names and versions, are strings.
pub fn sent(manifest: Tree) -> Tree {
    let mut manifest = yaml::as_sent(manifest);
    for_each_number(&mut manifest, &mut |_, _, value| *value = ruby::string(value).into());
    manifest
}

/// The manifest as the program with these rules reads it: only the director gets what was sent.
pub fn as_read(manifest: Tree, rules: VariableRules) -> Tree {
    match rules {
        VariableRules::Director => sent(manifest),
        VariableRules::Cli => manifest,
    }
}

/// Warnings about names and versions that are not sent as they are written, because they are numbers: `3363.20`.
pub fn rounding_warnings(manifest: &mut Tree, document: &str) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for_each_number(manifest, &mut |path, pointer, value| {
        let key = path.rsplit('.').next().unwrap_or(path);
        let (Tree::Number(number), "name" | "version") = (&*value, key) else {
            return;
        };
        let sent = ruby::string(&yaml::as_sent(value.clone())).unwrap_or_default();
        if sent != number.text() {
            warnings.push(rounding_warning(key, number, &sent).in_document(document).at(pointer));
        }
    });
    warnings
}

fn rounding_warning(key: &str, written: &Number, sent: &str) -> Diagnostic {
    let written = written.text();
    let message = format!("The {key} {written} is a number without quotes, which BOSH takes for '{sent}'");
    Diagnostic::warning(codes::VARIABLES_ROUNDED, message).help(format!("quote it: \"{written}\""))
}

/// Where a number stands for a string: the key's path in its table, the place, and the number.
type Change<'c> = dyn FnMut(&str, &Pointer, &mut Tree) + 'c;

fn for_each_number(manifest: &mut Tree, change: &mut Change<'_>) {
    let root = Pointer::root();
    in_table(MANIFEST, manifest, &root, change);
    if let Some(config) = manifest.get_mut(cloud::KEY) {
        for list in cloud::LISTS {
            for_each(config, list, &root.at(cloud::KEY), &mut |entry, pointer| {
                at_path(entry, "name", pointer, &mut |pointer, value| {
                    change("name", pointer, value)
                });
            });
        }
    }
    for_each(manifest, "instance_groups", &root, &mut |group, pointer| {
        in_table(GROUP, group, pointer, change);
        for_each(group, "jobs", pointer, &mut |job, pointer| in_job(job, pointer, change));
    });
    for_each(manifest, "addons", &root, &mut |addon, pointer| {
        for_each(addon, "jobs", pointer, &mut |job, pointer| in_job(job, pointer, change));
    });
}

fn in_job(job: &mut Tree, pointer: &Pointer, change: &mut Change<'_>) {
    in_table(JOB, job, pointer, change);
    for name in PROPERTY {
        let properties = job.get_mut("properties");
        if let Some(quarks) = properties.and_then(|properties| properties.get_mut(name)) {
            in_table(QUARKS, quarks, &pointer.at("properties").at(name), change);
        }
    }
}

fn in_table(keys: &[Key], tree: &mut Tree, pointer: &Pointer, change: &mut Change<'_>) {
    let strings = keys.iter().filter(|key| key.kind == Type::String);
    for key in strings.filter(|key| !key.path.starts_with(NUMBER_OR_TEXT)) {
        at_path(tree, key.path, pointer, &mut |pointer, value| {
            change(key.path, pointer, value)
        });
    }
}

fn at_path(tree: &mut Tree, path: &str, pointer: &Pointer, change: &mut dyn FnMut(&Pointer, &mut Tree)) {
    let Some((first, rest)) = path.split_once('.') else {
        if let Some(value @ Tree::Number(_)) = tree.get_mut(path) {
            change(&pointer.at(path), value);
        }
        return;
    };
    match first.strip_suffix("[]") {
        Some(list) => for_each(tree, list, pointer, &mut |item, pointer| {
            at_path(item, rest, pointer, change)
        }),
        None => {
            if let Some(below) = tree.get_mut(first) {
                at_path(below, rest, &pointer.at(first), change);
            }
        }
    }
}

fn for_each(tree: &mut Tree, key: &str, pointer: &Pointer, visit: &mut dyn FnMut(&mut Tree, &Pointer)) {
    let items = tree.get_mut(key).and_then(Tree::as_array_mut);
    let list = pointer.at(key);
    for (index, item) in items.into_iter().flatten().enumerate() {
        visit(item, &list.at(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn names_and_versions_that_are_numbers_are_strings() {
        let manifest = yaml::read(
            "m",
            "releases: [{name: 1, version: 1.10, stemcell: {os: a, version: 2.0}}]\n\
             instance_groups:\n- name: 0x10\n  instances: 2.0\n  update: {canaries: 1}\n  networks: [{name: 7}]\n  \
             jobs: [{name: 5, release: 1, properties: {name: 8, quarks: {ports: [{name: 9, internal: 9}]}}}]\n\
             addons: [{name: 3, jobs: [{name: 4, release: 1}]}]\n\
             cloud_config: {vm_types: [{name: 6, cloud_properties: {cpu: 1}}]}\n",
        );
        let sent = sent(manifest.unwrap().tree);
        let wanted = r#"{"addons":[{"jobs":[{"name":"4","release":"1"}],"name":"3"}],"cloud_config":{"vm_types":[{"cloud_properties":{"cpu":1},"name":"6"}]},"instance_groups":[{"instances":2,"jobs":[{"name":"5","properties":{"name":8,"quarks":{"ports":[{"internal":9,"name":"9"}]}},"release":"1"}],"name":"16","networks":[{"name":"7"}],"update":{"canaries":1}}],"releases":[{"name":"1","stemcell":{"os":"a","version":"2"},"version":"1.1"}]}"#;
        assert_eq!(json::to_text(&sent), wanted);
    }

    #[test]
    fn a_version_that_loses_a_digit_is_reported_as_it_is_written() {
        let text = "stemcells: [{version: 3363.20}, {version: '3363.20'}, {version: 3363.2}, {version: 2.0}]\n\
                    releases: [{version: 7, credentials: {username: a, password: 1.0}}]\n";
        let found = rounding_warnings(&mut yaml::read("m", text).unwrap().tree, "m");
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.message.as_str(), one.help.as_deref()))
            .collect();
        let message =
            |written, sent| format!("The version {written} is a number without quotes, which BOSH takes for '{sent}'");
        assert_eq!(
            shown,
            [
                (message("3363.20", "3363.2").as_str(), Some("quote it: \"3363.20\"")),
                (message("2.0", "2").as_str(), Some("quote it: \"2.0\""))
            ]
        );
        assert_eq!(found[0].place.pointer.as_deref(), Some("/stemcells/0/version"));
    }
}
