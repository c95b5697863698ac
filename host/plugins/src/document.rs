//! `plugin.yaml`: the name of a plugin, where it is used, and the digest or the image of its component. Pure.
//!
//! Unknown members are refused: a misspelled `selector` would select every deployment.

use super::canary::{Canary, MAX_COUNTED_DEPLOYMENTS};
use super::image::ImageSource;
use super::marks;
use crate::codes;
use boson_document::{Pointer, Tree};
use boson_oci::Digest;
use boson_pipeline::stage::CheckPolicy;
use boson_pipeline::yaml::{self, Document};
use boson_pipeline::{Diagnostic, Stage, packed};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The content of `plugin.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginDocument {
    pub name: String,
    /// The stage, from the label of the ConfigMap.
    pub stage: Stage,
    /// It wraps the rule of its stage instead of replacing it.
    pub wraps: bool,
    /// Position among the plugins of `resources`, or the wrappers of a stage; lower ones run first, or are nearer to
    /// the rule. None: not set, like 0.
    pub order: Option<i64>,
    /// Only of `checks`.
    pub policy: CheckPolicy,
    /// It runs beside the plugin of its name, without effect.
    pub is_shadow: bool,
    /// Some of the deployments use it in place of the plugin of its name.
    pub canary: Option<Canary>,
    /// Settings, an object.
    pub settings: Tree,
    pub selector: Selector,
    /// Digest of the component; none: not known before the image with the component was read.
    pub digest: Option<Digest>,
    /// Number of parts of the component; none: any number.
    pub parts: Option<usize>,
    /// The image with the component; none: it is in ConfigMaps.
    pub image: Option<ImageSource>,
}

/// Which deployments a plugin is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Only in these namespaces; none: in all.
    pub namespaces: Option<Vec<String>>,
    /// Only deployments with these names; none: with any.
    pub deployments: Option<Vec<String>>,
    /// Only the instance groups with these names, of the deployments that it selects; none: all. Of wrappers of
    /// `render` and `bpm` only, whose calls are for one group.
    pub instance_groups: Option<Vec<String>>,
}

// === impl PluginDocument ===

impl PluginDocument {
    /// Whether this deployment uses it.
    pub fn serves(&self, namespace: &str, deployment: &str) -> bool {
        let is_canary_of = |canary: &Canary| canary.holds(namespace, deployment);
        self.selector.holds(namespace, deployment) && self.canary.as_ref().is_none_or(is_canary_of)
    }
}

// === impl Selector ===

impl Selector {
    pub fn holds(&self, namespace: &str, deployment: &str) -> bool {
        let has = |list: &Option<Vec<String>>, name: &str| {
            list.as_ref().is_none_or(|list| list.iter().any(|one| one == name))
        };
        has(&self.namespaces, namespace) && has(&self.deployments, deployment)
    }
}

/// Checks a `plugin.yaml` as the operator will.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check(text: &str, stage: Stage) -> Result<(), Vec<Diagnostic>> {
    let document = yaml::read(marks::DOCUMENT, text)?;
    read(&document, stage).map(drop)
}

/// Reads a `plugin.yaml`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(document: &Document, stage: Stage) -> Result<PluginDocument, Vec<Diagnostic>> {
    let mut reader = Reader {
        document,
        errors: Vec::new(),
    };
    let read = reader.read(stage);
    if reader.errors.is_empty() {
        Ok(read)
    } else {
        Err(reader.errors)
    }
}

const MAX_SECRETS: usize = 8;

const CANARY_MEMBERS: [&str; 4] = ["percent", "deployments", "maxFailedPercent", "minDeployments"];
const INSTANCE_GROUPS: &str = "instanceGroups";

struct Reader<'a> {
    document: &'a Document,
    errors: Vec<Diagnostic>,
}

const DOCUMENT_MEMBERS: [&str; 14] = [
    "name",
    "replaces",
    "wraps",
    "order",
    "enforce",
    "onFailure",
    "shadow",
    "canary",
    "settings",
    "selector",
    "digest",
    "parts",
    "image",
    "imagePullSecrets",
];

// === impl Reader ===

impl Reader<'_> {
    fn read(&mut self, stage: Stage) -> PluginDocument {
        let (tree, root) = (&self.document.tree, Pointer::root());
        self.known(tree, &root, &DOCUMENT_MEMBERS);
        let name = tree.str("name").unwrap_or_default();
        if !is_name(name) {
            self.wrong_member(
                "name",
                "'name' is required: lower-case letters, digits, '-' and '.', at most 253",
            );
        }
        self.place(tree, stage);
        let settings = match tree.get("settings") {
            None | Some(Tree::Null) => Tree::object(),
            Some(settings) => settings.clone(),
        };
        if settings.as_object().is_none() {
            self.wrong_member("settings", "'settings' must be an object");
        }
        PluginDocument {
            name: name.to_string(),
            stage,
            wraps: tree.get("wraps").is_some(),
            order: tree.get("order").and_then(Tree::as_i64),
            policy: CheckPolicy {
                is_enforced: tree.get("enforce") == Some(&Tree::Bool(true)),
                is_optional: tree.str("onFailure") == Some("skip"),
            },
            is_shadow: tree.get("shadow") == Some(&Tree::Bool(true)),
            canary: self.canary(tree),
            settings,
            selector: self.selector(tree, stage),
            digest: self.digest(tree),
            parts: self.number(tree, &root, "parts", 1..=packed::MAX_PARTS),
            image: self.image(tree),
        }
    }

    /// Checks `replaces`, `wraps`, `order`, `enforce`, `onFailure` and `shadow`.
    fn place(&mut self, tree: &Tree, stage: Stage) {
        for key in ["replaces", "wraps"] {
            let Some(named) = tree.get(key) else { continue };
            if !stage.has_rule() {
                let what = format!("the stage '{stage}' has no rule, so a plugin has no '{key}'");
                self.wrong_member(key, &what);
            } else if named.as_str() != Some(stage.name()) {
                self.wrong_member(key, &format!("the label {} has the stage '{stage}'", marks::PLUGIN));
            }
        }
        let wraps = tree.get("wraps").is_some();
        if wraps && tree.get("replaces").is_some() {
            self.wrong_member("wraps", "a plugin either replaces the rule of its stage or wraps it");
        }
        if let Some(order) = tree.get("order") {
            if stage != Stage::Resources && !wraps {
                self.wrong_member("order", "only plugins of 'resources' and wrappers have an 'order'");
            } else if order.as_i64().is_none() {
                self.wrong_member("order", "'order' must be an integer");
            }
        }
        if let Some(enforce) = tree.get("enforce") {
            if stage != Stage::Checks {
                self.wrong_member("enforce", "only plugins of 'checks' have 'enforce'");
            } else if !matches!(enforce, Tree::Bool(_)) {
                self.wrong_member("enforce", "'enforce' must be true or false");
            }
        }
        self.on_failure(tree, stage);
        if tree
            .get("shadow")
            .is_some_and(|shadow| !matches!(shadow, Tree::Bool(_)))
        {
            self.wrong_member("shadow", "'shadow' must be true or false");
        }
        if tree.get("shadow") == Some(&Tree::Bool(true)) && tree.get("canary").is_some() {
            self.wrong_member("canary", "a shadow plugin has no effect, so it is no canary");
        }
    }

    /// Checks `onFailure`. A conversion without a rule, or without a plugin of `resources`, would create other objects.
    fn on_failure(&mut self, tree: &Tree, stage: Stage) {
        let Some(given) = tree.get("onFailure") else { return };
        let what = match given.as_str() {
            Some("fail") => return,
            Some("skip") if stage == Stage::Checks => return,
            Some("skip") => format!("a plugin of '{stage}' cannot be skipped, because the objects depend on it"),
            _ => "'onFailure' must be 'fail' or 'skip'".to_string(),
        };
        self.wrong_member("onFailure", &what);
    }

    fn canary(&mut self, tree: &Tree) -> Option<Canary> {
        let (tree, place) = (tree.get("canary")?, Pointer::root().at("canary"));
        if tree.as_object().is_none() {
            self.wrong(&place, "'canary' must be an object");
            return None;
        }
        self.known(tree, &place, &CANARY_MEMBERS);
        let [percent, deployments, max_failed, min_deployments] = CANARY_MEMBERS;
        let canary = Canary {
            percent: self.number(tree, &place, percent, 0..=100).unwrap_or(0),
            deployments: self.names(tree, &place, deployments).unwrap_or_default(),
            max_failed_percent: self.number(tree, &place, max_failed, 0..=100).unwrap_or(0),
            min_deployments: self
                .number(tree, &place, min_deployments, 1..=MAX_COUNTED_DEPLOYMENTS)
                .unwrap_or(1),
        };
        if tree.get(percent).is_none() && tree.get(deployments).is_none() {
            self.wrong(&place, "'canary' needs 'percent' or 'deployments'");
        }
        Some(canary)
    }

    /// A number in these bounds.
    fn number<N>(&mut self, tree: &Tree, place: &Pointer, key: &str, bounds: RangeInclusive<N>) -> Option<N>
    where
        N: TryFrom<i64> + PartialOrd + Display,
    {
        let number = tree.get(key)?.as_i64().and_then(|number| N::try_from(number).ok());
        let number = number.filter(|number| bounds.contains(number));
        if number.is_none() {
            let what = format!("'{key}' must be a number from {} to {}", bounds.start(), bounds.end());
            self.wrong(&place.at(key), &what);
        }
        number
    }

    /// The digest of the component, which only an image makes unnecessary.
    fn digest(&mut self, tree: &Tree) -> Option<Digest> {
        if tree.get("digest").is_none() && tree.get("image").is_some() {
            return None;
        }
        let digest = tree.str("digest").unwrap_or_default();
        let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
        let digest = boson_oci::parse_hex_digest(&digits.to_ascii_lowercase());
        if digest.is_none() {
            self.wrong_member(
                "digest",
                "'digest' is required: sha256: and the 64 hexadecimal digits of the component's checksum",
            );
        }
        digest
    }

    /// Reads `image` and `imagePullSecrets`.
    fn image(&mut self, tree: &Tree) -> Option<ImageSource> {
        let secrets = self.secrets(tree);
        let Some(image) = tree.get("image") else {
            if !secrets.is_empty() {
                self.wrong_member("imagePullSecrets", "'imagePullSecrets' is for plugins with an 'image'");
            }
            return None;
        };
        if tree.get("parts").is_some() {
            self.wrong_member("parts", "a plugin with an 'image' has no 'parts' in ConfigMaps");
        }
        let source = image.as_str().map(|reference| ImageSource::new(reference, secrets));
        match source {
            Some(Ok(source)) => return Some(source),
            Some(Err(why)) => self.wrong_member("image", &format!("'image' {why}")),
            None => self.wrong_member("image", "'image' must be a text"),
        }
        None
    }

    /// The names in `imagePullSecrets`, which has the form of a pod's.
    fn secrets(&mut self, tree: &Tree) -> Vec<String> {
        let Some(given) = tree.get("imagePullSecrets") else {
            return Vec::new();
        };
        let name = |item: &Tree| item.str("name").filter(|name| is_name(name)).map(str::to_string);
        let names: Option<Vec<String>> = given.as_array().and_then(|items| items.iter().map(name).collect());
        match names {
            Some(names) if names.len() <= MAX_SECRETS => names,
            _ => {
                let what =
                    format!("'imagePullSecrets' must be a list of at most {MAX_SECRETS} entries '{{name: SECRET}}'");
                self.wrong_member("imagePullSecrets", &what);
                Vec::new()
            }
        }
    }

    fn selector(&mut self, document: &Tree, stage: Stage) -> Selector {
        let Some(tree) = document.get("selector") else {
            return Selector::default();
        };
        let place = Pointer::root().at("selector");
        if tree.as_object().is_none() {
            self.wrong(
                &place,
                "'selector' must be an object with 'namespaces', 'deployments' and 'instanceGroups'",
            );
        }
        self.known(tree, &place, &["namespaces", "deployments", INSTANCE_GROUPS]);
        if tree.get(INSTANCE_GROUPS).is_some() && !(stage.is_by_group() && document.get("wraps").is_some()) {
            self.wrong(
                &place.at(INSTANCE_GROUPS),
                "'instanceGroups' is for wrappers of the stages 'render' and 'bpm'; other plugins serve all groups of a \
                 deployment",
            );
        }
        Selector {
            namespaces: self.names(tree, &place, "namespaces"),
            deployments: self.names(tree, &place, "deployments"),
            instance_groups: self.names(tree, &place, INSTANCE_GROUPS),
        }
    }

    fn names(&mut self, tree: &Tree, place: &Pointer, key: &str) -> Option<Vec<String>> {
        let given = tree.get(key)?;
        let text = |item: &Tree| item.as_str().map(str::to_string);
        let names: Option<Vec<String>> = given.as_array().and_then(|items| items.iter().map(text).collect());
        if names.is_none() {
            self.wrong(&place.at(key), &format!("'{key}' must be a list of names"));
        }
        names
    }

    fn known(&mut self, tree: &Tree, place: &Pointer, known: &[&str]) {
        let Some(map) = tree.as_object() else {
            if place == &Pointer::root() {
                self.wrong(place, "it must be an object with 'name' and 'digest' or 'image'");
            }
            return;
        };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let error = self.error(&place.at(key), &format!("unknown member '{key}'"));
            self.errors.push(error.suggest(key, known.iter().copied()));
        }
    }

    fn wrong_member(&mut self, key: &str, what: &str) {
        self.wrong(&Pointer::root().at(key), what);
    }

    fn wrong(&mut self, place: &Pointer, what: &str) {
        let error = self.error(place, what);
        self.errors.push(error);
    }

    fn error(&self, place: &Pointer, what: &str) -> Diagnostic {
        let error = Diagnostic::error(codes::PLUGIN_DOCUMENT, format!("{}: {what}", marks::DOCUMENT));
        error.in_document(&self.document.name).at(place)
    }
}

fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    name.len() <= 253 && name.bytes().all(inner) && edge(name.bytes().next()) && edge(name.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::yaml;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn parse(text: &str, stage: Stage) -> Result<PluginDocument, Vec<String>> {
        let document = yaml::read("configmap/p/plugin.yaml", text).unwrap();
        let text = |one: Diagnostic| format!("{} {}", one.place.pointer.unwrap_or_default(), one.message);
        read(&document, stage).map_err(|errors| errors.into_iter().map(text).collect())
    }

    #[test]
    fn a_document_selects_namespaces_and_deployments() {
        let text = format!("name: p\norder: 3\ndigest: {DIGEST}\nselector: {{deployments: [a]}}\nsettings: {{x: 1}}\n");
        let read = parse(&text, Stage::Resources).unwrap();
        assert_eq!((read.order, read.digest.unwrap().as_ref()), (Some(3), DIGEST));
        assert!(read.selector.holds("any", "a") && !read.selector.holds("any", "b"));
        assert!(
            !parse(&format!("name: p\nreplaces: ops\ndigest: {DIGEST}\n"), Stage::Ops)
                .unwrap()
                .wraps
        );
        let wrapper = parse(
            &format!("name: p\nwraps: ops\norder: 1\ndigest: {DIGEST}\n"),
            Stage::Ops,
        )
        .unwrap();
        assert!(wrapper.wraps && wrapper.order == Some(1));
        let check = format!("name: p\nenforce: true\ndigest: {DIGEST}\n");
        assert!(parse(&check, Stage::Checks).unwrap().policy.is_enforced);
        assert!(parse(&check, Stage::Ops).is_err());
        let on_failure =
            |value: &str, stage: Stage| parse(&format!("name: p\nonFailure: {value}\ndigest: {DIGEST}\n"), stage);
        assert!(on_failure("skip", Stage::Checks).unwrap().policy.is_optional);
        assert!(
            !on_failure("fail", Stage::Checks).unwrap().policy.is_optional && on_failure("fail", Stage::Ops).is_ok()
        );
        for (value, stage) in [
            ("skip", Stage::Resources),
            ("skip", Stage::Bpm),
            ("ignore", Stage::Checks),
        ] {
            let errors = on_failure(value, stage).unwrap_err();
            assert!(errors.len() == 1 && errors[0].starts_with("/onFailure "), "{errors:?}");
        }
        let shadow = |value: &str| parse(&format!("name: p\nshadow: {value}\ndigest: {DIGEST}\n"), Stage::Ops);
        assert!(shadow("true").unwrap().is_shadow && !shadow("false").unwrap().is_shadow);
        assert_eq!(shadow("1").unwrap_err().len(), 1);
        assert!(
            parse(
                &format!("name: p\nwraps: ops\nreplaces: ops\ndigest: {DIGEST}\n"),
                Stage::Ops
            )
            .is_err()
        );
    }

    #[test]
    fn a_canary_names_its_deployments_and_its_limits() {
        let canary = |text: &str| parse(&format!("name: p\ndigest: {DIGEST}\ncanary: {text}\n"), Stage::Ops);
        let read = canary("{percent: 10, maxFailedPercent: 20, minDeployments: 3}").unwrap();
        let wanted = Canary {
            percent: 10,
            deployments: Vec::new(),
            max_failed_percent: 20,
            min_deployments: 3,
        };
        assert_eq!(read.canary, Some(wanted));
        let named = canary("{deployments: [nats]}").unwrap();
        assert!(named.serves("any", "nats") && !named.serves("any", "cf"));
        let limits = named.canary.map(|one| (one.max_failed_percent, one.min_deployments));
        assert_eq!(limits, Some((0, 1)));
        assert!(
            parse(&format!("name: p\ndigest: {DIGEST}\n"), Stage::Ops)
                .unwrap()
                .serves("any", "any")
        );
        for (text, wanted) in [
            ("10", "/canary "),
            ("{}", "/canary "),
            ("{percent: 101}", "/canary/percent "),
            ("{percent: -1}", "/canary/percent "),
            ("{percent: 10 %}", "/canary/percent "),
            ("{percent: 1, minDeployments: 0}", "/canary/minDeployments "),
            ("{deployments: nats}", "/canary/deployments "),
            ("{percent: 1, minCalls: 3}", "/canary/minCalls "),
            ("{percent: 1}\nshadow: true", "/canary "),
        ] {
            let errors = canary(text).unwrap_err();
            assert!(errors.len() == 1 && errors[0].starts_with(wanted), "{text}: {errors:?}");
        }
    }

    #[test]
    fn only_wrappers_of_calls_for_one_group_select_groups() {
        let selecting = |text: &str, stage: Stage| {
            let selector = "selector: {namespaces: [here], instanceGroups: [web, db]}";
            parse(&format!("name: p\ndigest: {DIGEST}\n{text}\n{selector}\n"), stage)
        };
        for stage in [Stage::Render, Stage::Bpm] {
            let read = selecting(&format!("wraps: {stage}"), stage).unwrap();
            assert_eq!(read.selector.instance_groups.unwrap(), ["web", "db"]);
        }
        for (text, stage) in [
            ("replaces: bpm", Stage::Bpm),
            ("wraps: links", Stage::Links),
            ("", Stage::Resources),
            ("", Stage::Checks),
        ] {
            let errors = selecting(text, stage).unwrap_err();
            assert!(
                errors.len() == 1 && errors[0].starts_with("/selector/instanceGroups "),
                "{errors:?}"
            );
        }
    }

    #[test]
    fn an_image_takes_the_place_of_a_component() {
        let image = format!("registry.example.com/team/p:1@{DIGEST}");
        let text = format!("name: p\nimage: {image}\nimagePullSecrets: [{{name: a}}, {{name: b}}]\n");
        let read = parse(&text, Stage::Ops).unwrap();
        let source = read.image.unwrap();
        assert_eq!((read.digest, source.reference.as_str()), (None, image.as_str()));
        assert_eq!(source.secrets, ["a", "b"]);
        let both = format!("name: p\nimage: {image}\ndigest: {DIGEST}\n");
        assert!(parse(&both, Stage::Ops).unwrap().digest.is_some());
        for (text, wanted) in [
            (format!("name: p\nimage: {image}\nparts: 1\n"), "/parts "),
            (format!("name: p\nimage: {image}\ndigest: x\n"), "/digest "),
            ("name: p\nimage: team/p:1\n".into(), "/image "),
            ("name: p\nimage: 7\n".into(), "/image "),
            (
                format!("name: p\nimage: {image}\nimagePullSecrets: [a]\n"),
                "/imagePullSecrets ",
            ),
            (
                format!("name: p\ndigest: {DIGEST}\nimagePullSecrets: [{{name: a}}]\n"),
                "/imagePullSecrets ",
            ),
        ] {
            let errors = parse(&text, Stage::Ops).unwrap_err();
            assert!(errors.len() == 1 && errors[0].starts_with(wanted), "{text}: {errors:?}");
        }
    }

    #[test]
    fn every_error_is_reported_at_its_position() {
        let text = "name: P\nreplaces: links\norder: 1\ndigest: abc\nselektor: {}\nparts: 0\nselector: {deployments: x}\nsettings: 5\n";
        let errors = parse(text, Stage::Ops).unwrap_err();
        for wanted in [
            "/name ",
            "/replaces ",
            "/order ",
            "/digest ",
            "/selektor ",
            "/parts ",
            "/selector/deployments ",
            "/settings ",
        ] {
            assert!(
                errors.iter().any(|error| error.starts_with(wanted)),
                "{wanted}: {errors:?}"
            );
        }
        assert_eq!(
            parse("[]", Stage::Ops).unwrap_err()[0],
            " plugin.yaml: it must be an object with 'name' and 'digest' or 'image'"
        );
    }
}
