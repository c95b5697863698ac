//! The objects of a conversion. The host checks every object that a plugin returns before it writes it.
//!
//! # Guarantees
//! Every object is of an [allowed kind](kinds::KINDS), has a valid name that no other object of its kind has, belongs
//! to the deployment by namespace and label, has no label or annotation that is reserved for the operator, gives its
//! pods no [privileges] beyond the granted ones, and is within the [limits]. What an administrator allows beyond that,
//! for all plugins or for some, are [`Permissions`]. A call that fails changes nothing.

pub mod codes;
mod fields;
pub mod kinds;
pub mod limits;
mod marks;
pub mod patch;
mod permissions;
pub mod privileges;
mod writers;

pub use permissions::{ConflictingKinds, Grant, KeyPattern, Permissions};
pub use writers::Writer;

use crate::Diagnostic;
use crate::author::Author;
use crate::object::{map, name, object_error};
use crate::stage::{Deployment, Edit, ObjectReference};
use boson_document::{Map, Tree};
use boson_manifest::labels;
use boson_manifest::names::label_value;
use permissions::Rights;
use privileges::GrantedPrivileges;
use std::collections::{BTreeSet, HashMap};
use writers::Writers;

/// Label on every object: the tool that created it.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label on every object: the deployment, for tools that do not know the operator's labels.
pub const PART_OF: &str = "app.kubernetes.io/part-of";
/// Value of [`MANAGED_BY`].
pub const MANAGER: &str = "boson";

/// Errors about the objects of one reply: a plugin may return a million edits, and each costs a copy of its object.
const MAX_ERRORS: usize = 100;
/// Bytes of a message about an object, whose name may have any length.
const MAX_MESSAGE_BYTES: usize = 2000;

/// The objects of one deployment, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Bundle {
    namespace: String,
    deployment: String,
    /// `None`: the host creates the objects itself from checked ones.
    rules: Option<Rules>,
    /// Additional kinds among the checked ones.
    additional: Vec<kinds::Kind>,
    objects: Vec<Tree>,
    index: HashMap<ObjectKey, usize>,
    writers: Writers,
}

/// What the objects of plugins may have.
#[derive(Clone, Debug, Default)]
struct Rules {
    /// What the deployment requests for its pods.
    granted: GrantedPrivileges,
    /// What an administrator allows.
    permissions: Permissions,
    /// Labels and annotations that the manifest sets; empty if all are allowed.
    requested: BTreeSet<String>,
}

/// What distinguishes an object from the others of its deployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ObjectKey {
    /// API group, empty for Kubernetes' core.
    group: String,
    kind: String,
    name: String,
}

// === impl Bundle ===

impl Bundle {
    /// An empty bundle whose pods get no extra privileges.
    pub fn new(deployment: &Deployment) -> Self {
        Self {
            rules: Some(Rules::default()),
            ..Self::of_host(deployment)
        }
    }

    /// An empty bundle whose pods may have the privileges that the deployment requests, and whose plugins may do what
    /// an administrator allows. `manifest`: may request labels and annotations.
    pub fn with_rules(
        deployment: &Deployment,
        granted: GrantedPrivileges,
        permissions: &Permissions,
        manifest: &Tree,
    ) -> Self {
        let requested = permissions.restrict_keys().then(|| marks::requested(manifest));
        Self {
            rules: Some(Rules {
                granted,
                permissions: permissions.clone(),
                requested: requested.unwrap_or_default(),
            }),
            ..Self::of_host(deployment)
        }
    }

    /// An empty bundle for objects that the host creates itself.
    pub fn of_host(deployment: &Deployment) -> Self {
        Self {
            namespace: deployment.namespace.clone(),
            deployment: owner(deployment),
            rules: None,
            additional: Vec::new(),
            objects: Vec::new(),
            index: HashMap::new(),
            writers: Writers::default(),
        }
    }

    /// Sets the kinds of checked objects, besides those that every conversion may create.
    #[must_use]
    pub fn with_kinds(mut self, additional: Vec<kinds::Kind>) -> Self {
        self.additional = additional;
        self
    }

    pub fn objects(&self) -> &[Tree] {
        &self.objects
    }

    pub fn into_objects(self) -> Vec<Tree> {
        self.objects
    }

    /// Adds the objects that a plugin returned.
    ///
    /// # Errors
    /// The first hundred.
    pub fn add(&mut self, objects: Vec<Tree>, from: impl Into<Author>) -> Result<(), Vec<Diagnostic>> {
        let before = self.objects.len();
        let author = from.into();
        let rights = self.rights(&author);
        let errors = objects
            .into_iter()
            .filter_map(|object| self.add_one(object, &rights).err());
        let errors: Vec<_> = errors
            .map(|error| with_author(error, &author.called))
            .take(MAX_ERRORS)
            .collect();
        if errors.is_empty() {
            return Ok(());
        }
        self.objects.truncate(before);
        self.index.retain(|_, at| *at < before);
        Err(errors)
    }

    /// Applies the edits of a plugin of the resources stage in order, all or none. Warns if it overrides another plugin
    /// and the order of both is explicit.
    ///
    /// # Errors
    /// The first hundred of the edits; fields that another plugin has set to another value.
    pub fn edit(&mut self, edits: Vec<Edit>, writer: Writer<'_>) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let mut edited = self.clone();
        let mut removed = BTreeSet::new();
        let (mut touched, mut errors) = (BTreeSet::new(), Vec::new());
        let mut budget = patch::Budget::default();
        let rights = &self.rights(writer.author);
        for edit in edits {
            if errors.len() >= MAX_ERRORS {
                break;
            }
            touched.insert(match &edit {
                Edit::JsonPatch(object, _) | Edit::MergePatch(object, _) | Edit::Remove(object) => {
                    ObjectKey::of_reference(object)
                }
                Edit::Add(object) => ObjectKey::of(object),
            });
            let outcome = match edit {
                Edit::JsonPatch(object, patch) => {
                    edited.patch(&object, rights, |tree| patch::apply(tree, &patch, &mut budget))
                }
                Edit::MergePatch(object, patch) => {
                    edited.patch(&object, rights, |tree| patch::merge(tree, &patch, &mut budget))
                }
                Edit::Add(object) => edited.add_one(object, rights),
                Edit::Remove(object) => edited.remove(&object, rights).map(|at| {
                    removed.insert(at);
                }),
            };
            errors.extend(outcome.err());
        }
        edited.compact(&removed);
        if !errors.is_empty() {
            return Err(errors
                .into_iter()
                .map(|error| with_author(error, &writer.author.called))
                .collect());
        }
        let mut writers = std::mem::take(&mut edited.writers);
        let reported = touched
            .iter()
            .flat_map(|object| writers.record(object, self.object(object), edited.object(object), writer));
        let reported: Vec<Diagnostic> = reported.collect();
        if reported.iter().any(Diagnostic::is_error) {
            return Err(reported);
        }
        let all_removed = edited.objects.is_empty() && !self.objects.is_empty();
        let all_removed = all_removed.then(|| {
            let warning = Diagnostic::warning(codes::BUNDLE_ALL_REMOVED, "all objects of the deployment were removed");
            with_author(warning, &writer.author.called)
        });
        edited.writers = writers;
        *self = edited;
        Ok(reported.into_iter().chain(all_removed).collect())
    }

    /// Drops the objects with these indexes.
    fn compact(&mut self, removed: &BTreeSet<usize>) {
        if removed.is_empty() {
            return;
        }
        let mut at = 0..;
        self.objects
            .retain(|_| !at.next().is_some_and(|at| removed.contains(&at)));
        let objects = self.objects.iter().enumerate();
        self.index = objects.map(|(at, object)| (ObjectKey::of(object), at)).collect();
    }

    fn object(&self, object: &ObjectKey) -> Option<&Tree> {
        self.index.get(object).and_then(|at| self.objects.get(*at))
    }

    fn add_one(&mut self, mut object: Tree, rights: &Rights<'_>) -> Result<(), Diagnostic> {
        self.accept(&mut object, None, rights)?;
        if self.objects.len() >= limits::MAX_OBJECTS {
            let why = format!("a deployment has at most {} objects", limits::MAX_OBJECTS);
            return Err(object_error(&object, codes::BUNDLE_TOO_MANY_OBJECTS, &why));
        }
        let key = ObjectKey::of(&object);
        if self.index.contains_key(&key) {
            let why = "there are two objects of this kind and name";
            return Err(object_error(&object, codes::BUNDLE_DUPLICATE_OBJECT, why));
        }
        self.index.insert(key, self.objects.len());
        self.objects.push(object);
        Ok(())
    }

    fn patch(
        &mut self,
        reference: &ObjectReference,
        rights: &Rights<'_>,
        apply: impl FnOnce(&mut Tree) -> Result<(), patch::Error>,
    ) -> Result<(), Diagnostic> {
        let at = self.find(reference)?;
        let mut object = self.objects[at].clone();
        let failed =
            |error: patch::Error| object_error(&self.objects[at], codes::BUNDLE_PATCH_FAILED, &error.to_string());
        apply(&mut object).map_err(failed)?;
        if ObjectKey::of(&object) != ObjectKey::of(&self.objects[at]) {
            let why = "a patch must not change the object's kind or name";
            let error = object_error(&self.objects[at], codes::BUNDLE_IDENTITY_CHANGED, why);
            return Err(error.help("remove the object and add another one"));
        }
        self.accept(&mut object, Some(&self.objects[at]), rights)?;
        self.objects[at] = object;
        Ok(())
    }

    /// Removes an object from the index, and returns its position. A plugin may not remove an object of a kind that it
    /// may not create.
    fn remove(&mut self, reference: &ObjectReference, rights: &Rights<'_>) -> Result<usize, Diagnostic> {
        let at = self.find(reference)?;
        kinds::check(&self.objects[at], Some(rights.author), &rights.kinds)?;
        self.index.remove(&ObjectKey::of_reference(reference));
        Ok(at)
    }

    /// What an administrator allows a plugin.
    fn rights<'a>(&self, author: &'a Author) -> Rights<'a> {
        match &self.rules {
            Some(rules) => rules.permissions.of(author),
            None => Permissions::default().of(author),
        }
    }

    /// Checks one object that a plugin added, or changed from `before`; adds the deployment's namespace and labels.
    fn accept(&self, object: &mut Tree, before: Option<&Tree>, rights: &Rights<'_>) -> Result<(), Diagnostic> {
        match self.rules {
            Some(_) => kinds::check(object, Some(rights.author), &rights.kinds)?,
            None => kinds::check(object, None, &self.additional)?,
        }
        self.set_owner(object)?;
        if let Some(rules) = &self.rules {
            marks::check(object, &self.deployment)?;
            marks::check_allowed(object, before, rights, &rules.requested)?;
            rules.granted.check(object, before, rights.author, &rights.privileges)?;
        }
        limits::check(object)?;
        fields::check(object)
    }

    fn find(&self, wanted: &ObjectReference) -> Result<usize, Diagnostic> {
        self.index
            .get(&ObjectKey::of_reference(wanted))
            .copied()
            .ok_or_else(|| {
                let message = format!(
                    "There is no {} '{}' of {} to change",
                    wanted.kind, wanted.name, wanted.api_version
                );
                let error = Diagnostic::error(codes::BUNDLE_NO_SUCH_OBJECT, message);
                match self.source_help(wanted) {
                    Some(help) => error.help(help),
                    None => {
                        let same_kind = |object: &&Tree| object.str("kind") == Some(&wanted.kind);
                        error.suggest(&wanted.name, self.objects.iter().filter(same_kind).map(name))
                    }
                }
            })
    }

    /// The object to change instead, if the wanted one is made of it after all plugins.
    fn source_help(&self, wanted: &ObjectReference) -> Option<String> {
        let (kind, template) = match wanted.kind.as_str() {
            "StatefulSet" => ("QuarksStatefulSet", ", whose `spec.template` is the StatefulSet"),
            "Job" => ("QuarksJob", ", whose `spec.template` is the Job"),
            "Secret" => ("QuarksSecret", ", which the Secret is made of"),
            _ => return None,
        };
        let ours = self.objects.iter().filter(|object| object.str("kind") == Some(kind));
        // The made object has a longer name, such as `nats-broker-z0-v1`.
        let source = ours
            .map(name)
            .filter(|name| wanted.name.starts_with(name))
            .max_by_key(|name| name.len())?;
        Some(format!("change {kind} '{source}' of {}{template}", labels::API_VERSION))
    }

    /// Adds the deployment's namespace and labels.
    fn set_owner(&self, object: &mut Tree) -> Result<(), Diagnostic> {
        let metadata = object.get("metadata").cloned().unwrap_or_else(Tree::object);
        let foreign = |what: &str| Err(object_error(object, codes::BUNDLE_FOREIGN_OBJECT, what));
        match metadata.get("namespace").unwrap_or(&Tree::Null) {
            Tree::Null => {}
            Tree::String(namespace) if *namespace == self.namespace => {}
            _ => return foreign("it is in another namespace than the deployment"),
        }
        let mut labels = map(object, "labels");
        match labels.get(labels::DEPLOYMENT_NAME).unwrap_or(&Tree::Null) {
            Tree::Null => {}
            Tree::String(name) if *name == self.deployment => {}
            _ => return foreign("its label names another deployment"),
        }
        if metadata.get("ownerReferences").is_some() || metadata.get("finalizers").is_some() {
            return foreign("owners and finalizers are set by the host alone");
        }
        labels.set(labels::DEPLOYMENT_NAME, self.deployment.as_str());
        labels.set(MANAGED_BY, MANAGER).set(PART_OF, self.deployment.as_str());
        object.set("metadata", self.metadata(metadata, labels));
        Ok(())
    }

    /// Members in the order in which people write and read them.
    fn metadata(&self, metadata: Tree, labels: Tree) -> Tree {
        let mut ordered = Map::new();
        ordered.extend(metadata.get("name").map(|name| ("name".to_string(), name.clone())));
        ordered.insert("namespace".to_string(), self.namespace.as_str().into());
        ordered.insert("labels".to_string(), labels);
        let others = metadata.as_object().into_iter().flatten();
        let others = others.filter(|(name, _)| !["name", "namespace", "labels"].contains(&name.as_str()));
        ordered.extend(others.map(|(name, value)| (name.clone(), value.clone())));
        Tree::Object(ordered)
    }
}

/// Value of the labels that name the deployment.
pub fn owner(deployment: &Deployment) -> String {
    label_value(&deployment.name)
}

fn with_author(mut error: Diagnostic, from: &str) -> Diagnostic {
    let message = &error.message;
    let shown = &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)];
    let more = if shown.len() < message.len() { "..." } else { "" };
    error.message = format!("{shown}{more} (made by {from})");
    error
}

// === impl ObjectKey ===

impl ObjectKey {
    fn of(object: &Tree) -> Self {
        Self {
            group: group(object.str("apiVersion").unwrap_or_default()).to_string(),
            kind: object.str("kind").unwrap_or_default().to_string(),
            name: name(object).to_string(),
        }
    }

    fn of_reference(reference: &ObjectReference) -> Self {
        Self {
            group: group(&reference.api_version).to_string(),
            kind: reference.kind.clone(),
            name: reference.name.clone(),
        }
    }
}

/// API group of an `apiVersion`, empty for Kubernetes' core.
fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}
