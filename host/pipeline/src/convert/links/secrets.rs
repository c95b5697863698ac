//! The Secrets of the links that a deployment provides: pods that are not part of the deployment read the properties
//! from them. A key for each property, with dots between its parts; a text as it is, anything else as JSON, and nothing
//! for a property without a value. A map with a member whose name a Secret cannot have, such as a path, is JSON too.

use crate::bundle::limits::{MAX_DATA_BYTES, is_json};
use crate::convert::{codes, places};
use crate::diagnostic::Diagnostic;
use crate::object::{metadata, new_object};
use crate::plain;
use crate::stage::{Named, Provider};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Tree, json};
use boson_manifest::labels;
use boson_manifest::names::{NameClaims, Names, label, label_value};
use boson_manifest::syntax::is_data_key;
use std::collections::BTreeMap;

/// The properties of a link by their dotted names.
type Data = BTreeMap<String, String>;

/// The Secrets of these links. A link that several jobs provide with different properties gets none, and a warning.
///
/// # Errors
/// Links that a Secret cannot hold, or whose Secrets would have the same name.
pub fn secrets(
    names: &Names,
    providers: &[Provider],
    manifest: Named<'_>,
    reported: &mut Vec<Diagnostic>,
) -> Result<Vec<Tree>, Vec<Diagnostic>> {
    let (mut claims, mut errors) = (NameClaims::default(), Vec::new());
    let mut links: Vec<Link<'_>> = Vec::new();
    for provider in providers {
        let placed = |error: Diagnostic| {
            let pointer = places::of_group(manifest.tree, &provider.group);
            error.in_document(manifest.name).at(pointer)
        };
        let mut left_out = Vec::new();
        let found = Link::of(names, provider, &mut claims, &mut left_out);
        reported.extend(left_out.into_iter().map(placed));
        match found {
            Ok(Some(link)) => match links.iter_mut().find(|other| other.name == link.name) {
                Some(other) if other.data == link.data => {}
                Some(other) => {
                    reported.push(placed(link.ambiguous(other)));
                    other.is_ambiguous = true;
                }
                None => links.push(link),
            },
            Ok(None) => {}
            Err(error) => errors.push(placed(error)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let links = links.iter().filter(|link| !link.is_ambiguous);
    Ok(links.map(|link| link.secret(names, manifest.tree)).collect())
}

/// A link and its Secret.
struct Link<'p> {
    provider: &'p Provider,
    /// Of the Secret.
    name: String,
    data: Data,
    /// Another job provides it with other properties.
    is_ambiguous: bool,
}

// === impl Link ===

impl<'p> Link<'p> {
    /// None if the link has no properties. `left_out`: a warning for each property that a Secret cannot hold. A
    /// manifest must convert, whether or not pods consume its links.
    fn of(
        names: &Names,
        provider: &'p Provider,
        claims: &mut NameClaims,
        left_out: &mut Vec<Diagnostic>,
    ) -> Result<Option<Self>, Diagnostic> {
        let name = names.link(&provider.kind, &provider.name);
        let invalid = |why: &str| {
            let message = format!("Secret '{name}' of {}: {why}", text(provider));
            Diagnostic::error(codes::CONVERT_LINK_INVALID, message)
        };
        let mut data = Data::new();
        for (key, value) in provider.properties.as_map().into_iter().flatten() {
            if let Err(why) = property(key, value, &mut data) {
                let key = key.escape_debug();
                let message = format!("Secret '{name}' of {}, has no property '{key}': {why}", text(provider));
                left_out.push(Diagnostic::warning(codes::CONVERT_LINK_KEY, message));
            }
        }
        if data.is_empty() {
            return Ok(None);
        }
        if [&provider.kind, &provider.name]
            .iter()
            .any(|part| label(part).is_empty())
        {
            return Err(invalid(
                "its type or name has no letter or digit that Kubernetes accepts in names",
            ));
        }
        let size: usize = data.values().map(String::len).sum();
        if size > MAX_DATA_BYTES {
            let largest = data.iter().max_by_key(|(_, value)| value.len());
            let largest = largest.map(|(key, value)| format!("; '{key}' has {} of them", value.len()));
            let why = format!("it would have {size} bytes, but a Secret may have at most {MAX_DATA_BYTES}");
            return Err(invalid(&(why + &largest.unwrap_or_default())));
        }
        let input = format!("link '{}' of type '{}'", provider.name, provider.kind);
        if let Err(conflict) = claims.claim("Secret", &name, &input) {
            let error = Diagnostic::error(codes::CONVERT_NO_NAME, conflict.to_string());
            return Err(error.help("rename one of them: `provides: {link: {as: name}}`"));
        }
        Ok(Some(Self {
            provider,
            name,
            data,
            is_ambiguous: false,
        }))
    }

    fn ambiguous(&self, other: &Self) -> Diagnostic {
        let site = |provider: &Provider| format!("job '{}' in instance group '{}'", provider.job, provider.group);
        let message = format!(
            "Pods outside of the deployment cannot get the link '{}' of type '{}': {} and {} provide it with different \
             properties",
            self.provider.name,
            self.provider.kind,
            site(other.provider),
            site(self.provider)
        );
        Diagnostic::warning(codes::CONVERT_LINK_AMBIGUOUS, message)
            .help("give one of them another name: `provides: {link: {as: name}}`")
    }

    fn secret(&self, names: &Names, manifest: &Tree) -> Tree {
        let provider = self.provider;
        let labels = Tree::object()
            .with(labels::DEPLOYMENT_NAME, names.deployment())
            // A group that is held back keeps its links, too.
            .with(labels::INSTANCE_GROUP_NAME, label_value(&provider.group))
            .with(labels::ENTANGLEMENT, "true");
        let link = Tree::object()
            .with("name", provider.name.as_str())
            .with("type", provider.kind.as_str());
        let tags: Tree = plain::tags(manifest, Some(&provider.group)).into_iter().collect();
        let data = self.data.iter();
        let data: Tree = data.map(|(key, value)| (key.clone(), STANDARD.encode(value))).collect();
        let annotations = tags.with(labels::LINK, json::to_text(&link));
        new_object("v1", "Secret", metadata(&self.name, None, labels, annotations))
            .with("type", "Opaque")
            .with("data", data)
    }
}

fn text(provider: &Provider) -> String {
    format!(
        "the link '{}' of type '{}', which job '{}' in instance group '{}' provides",
        provider.name, provider.kind, provider.job, provider.group
    )
}

/// Adds a property as a whole, or nothing of it.
fn property(key: &str, value: &Tree, data: &mut Data) -> Result<(), String> {
    let mut keys = Data::new();
    flatten(value, key, &mut keys)?;
    if let Some(key) = keys.keys().find(|key| data.contains_key(*key)) {
        return Err(format!("two properties become its key '{key}'"));
    }
    data.extend(keys);
    Ok(())
}

/// Adds what is below a path. Errors name the key, never the value.
fn flatten(tree: &Tree, path: &str, data: &mut Data) -> Result<(), String> {
    match tree {
        Tree::Null => return Ok(()),
        Tree::Object(map) if has_keys(tree, path) => {
            for (key, value) in map {
                flatten(value, &format!("{path}.{key}"), data)?;
            }
            return Ok(());
        }
        _ => {}
    }
    if !is_data_key(path) {
        return Err(format!(
            "Kubernetes does not accept the key '{}' in a Secret",
            path.escape_debug()
        ));
    }
    let value = match tree {
        Tree::String(text) => text.clone(),
        other if is_json(other) => json::to_text(other),
        _ => return Err(format!("the value of its key '{path}' cannot be represented as JSON")),
    };
    match data.insert(path.to_string(), value) {
        None => Ok(()),
        Some(_) => Err(format!("two properties become its key '{path}'")),
    }
}

/// Whether the members of a map can be keys of their own in a Secret.
fn has_keys(tree: &Tree, path: &str) -> bool {
    let fits = |key: &String| !key.is_empty() && is_data_key(&format!("{path}.{key}"));
    tree.as_map().is_some_and(|map| !map.is_empty() && map.keys().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(kind: &str, name: &str, group: &str, properties: &str) -> Provider {
        Provider {
            name: name.into(),
            kind: kind.into(),
            group: group.into(),
            job: "j".into(),
            properties: json::parse(properties).unwrap(),
            shared: None,
        }
    }

    /// The Secrets, or the messages of the errors; and the warnings.
    fn made_of(providers: &[Provider]) -> (Result<Vec<Tree>, Vec<String>>, Vec<Diagnostic>) {
        let names = Names::new("Dep_1", "n", "cluster.local").unwrap();
        let manifest =
            json::parse(r#"{"tags": {"team": "x"}, "instance_groups": [{"name": "a"}, {"name": "b"}]}"#).unwrap();
        let named = Named::new("m.yml", &manifest);
        let mut reported = Vec::new();
        let made = secrets(&names, providers, named, &mut reported);
        let made = made.map_err(|errors| errors.into_iter().map(|error| error.message).collect());
        (made, reported)
    }

    fn data(secret: &Tree) -> BTreeMap<String, String> {
        let data = secret.get("data").and_then(Tree::as_object).unwrap();
        let text = |value: &Tree| String::from_utf8(STANDARD.decode(value.as_str().unwrap()).unwrap()).unwrap();
        data.iter().map(|(key, value)| (key.clone(), text(value))).collect()
    }

    #[test]
    fn properties_become_flat_keys_texts_stay_and_other_values_are_json() {
        let properties = r#"{"nats": {"user": "u", "port": 4222, "ratio": 1.50, "tls": {"enabled": true},
            "machines": ["a", {"b": 1}], "none": null, "empty": {}, "blank": "", "big": 12345678901234567890123,
            "paths": {"/a b": {"c": 1}, "d": null}, "unnamed": {"": "x"}}}"#;
        let (made, reported) = made_of(&[
            provider("nats_x", "nats", "b", properties),
            provider("t", "none", "a", "{}"),
        ]);
        let made = made.unwrap();
        assert_eq!(
            (made.len(), reported.len()),
            (1, 0),
            "a link without properties has no Secret"
        );
        let metadata = json::to_text(made[0].get("metadata").unwrap());
        assert_eq!(
            metadata,
            r#"{"name":"link-dep-1-nats-x-nats","labels":{"quarks.cloudfoundry.org/deployment-name":"dep-1","quarks.cloudfoundry.org/instance-group-name":"b","quarks.cloudfoundry.org/entanglement":"true"},"annotations":{"team":"x","quarks.cloudfoundry.org/link":"{\"name\":\"nats\",\"type\":\"nats_x\"}"}}"#
        );
        let wanted = [
            ("nats.big", "12345678901234567890123"),
            ("nats.blank", ""),
            ("nats.empty", "{}"),
            ("nats.machines", r#"["a",{"b":1}]"#),
            ("nats.paths", r#"{"/a b":{"c":1},"d":null}"#),
            ("nats.port", "4222"),
            ("nats.ratio", "1.50"),
            ("nats.tls.enabled", "true"),
            ("nats.unnamed", r#"{"":"x"}"#),
            ("nats.user", "u"),
        ];
        let wanted = wanted.map(|(key, value)| (key.to_string(), value.to_string()));
        assert_eq!(data(&made[0]), wanted.into());
    }

    #[test]
    fn a_secret_that_is_too_large_is_an_error_that_names_secret_and_key_and_no_value() {
        let large = format!(
            r#"{{"a": {{"small": "SECRET", "large": "{}"}}}}"#,
            "SECRET".repeat(200_000)
        );
        let (made, _) = made_of(&[provider("t", "l", "a", &large)]);
        let errors = made.unwrap_err();
        let [error] = errors.as_slice() else {
            unreachable!("{errors:?}")
        };
        assert!(
            error.contains("Secret 'link-dep-1-t-l' of the link 'l' of type 't'"),
            "{error}"
        );
        assert!(
            error.contains("'a.large' has 1200000 of them") && !error.contains("SECRET"),
            "{error}"
        );
    }

    #[test]
    fn a_property_that_a_secret_cannot_hold_is_left_out_with_a_warning_that_names_it_and_no_value() {
        for (property, wanted) in [
            (r#""b/c": "SECRET""#, "'b/c': Kubernetes does not accept the key 'b/c'"),
            (r#""": "SECRET""#, "'': Kubernetes does not accept the key ''"),
            (
                "\"a\": {\"\\u00007\": \"SECRET\"}",
                "'a': the value of its key 'a' cannot",
            ),
            (
                "\"a\": [{\"\\u00007\": \"SECRET\"}]",
                "'a': the value of its key 'a' cannot",
            ),
            (
                "\"a\": {\"b\": 1, \"c\": {\"\\u0000\": \".nan\"}}",
                "'a': the value of its key 'a.c' cannot",
            ),
            (
                r#""z": {"x": 1, "y": "SECRET"}"#,
                "'z': two properties become its key 'z.y'",
            ),
            (
                r#""a": {"b.c": "SECRET", "b": {"c": "SECRET"}}"#,
                "'a': two properties become its key 'a.b.c'",
            ),
        ] {
            let (made, reported) = made_of(&[provider("t", "l", "a", &format!(r#"{{"z.y": 1, {property}}}"#))]);
            let kept = [("z.y".to_string(), "1".to_string())];
            assert_eq!(data(&made.unwrap()[0]), kept.into(), "{property}");
            let [warning] = reported.as_slice() else {
                unreachable!("{reported:?}")
            };
            let message = &warning.message;
            assert!(
                message.starts_with("Secret 'link-dep-1-t-l' of the link 'l' of type 't'"),
                "{message}"
            );
            assert!(
                message.contains(&format!(" provides, has no property {wanted}")),
                "{message}"
            );
            assert!(
                !message.contains("SECRET") && warning.code == "convert-link-key",
                "{message}"
            );
        }
    }

    #[test]
    fn a_link_that_pods_could_mistake_for_another_gets_no_secret() {
        let same = r#"{"a": 1}"#;
        let (made, reported) = made_of(&[provider("t", "l", "a", same), provider("t", "l", "b", same)]);
        assert_eq!(
            (made.unwrap().len(), reported.len()),
            (1, 0),
            "both have the same properties"
        );
        let (made, reported) = made_of(&[
            provider("t", "l", "a", same),
            provider("t", "l", "b", r#"{"a": "SECRET"}"#),
            provider("t", "m", "b", same),
        ]);
        assert_eq!(made.unwrap().len(), 1);
        assert_eq!(
            (reported[0].message.as_str(), reported[0].place.pointer.as_deref()),
            (
                "Pods outside of the deployment cannot get the link 'l' of type 't': job 'j' in instance group 'a' and job \
                 'j' in instance group 'b' provide it with different properties",
                Some("/instance_groups/1")
            )
        );
        let (made, _) = made_of(&[provider("a-b", "c", "a", same), provider("a", "b_c", "b", same)]);
        assert_eq!(
            made.unwrap_err(),
            [
                "link 'c' of type 'a-b' and link 'b_c' of type 'a' have the same Secret name 'link-dep-1-a-b-c' in Kubernetes"
            ]
        );
    }
}
