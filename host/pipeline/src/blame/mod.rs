//! Where fields of objects come from: which step of the host or plugin wrote them, and which parts of the input
//! determine them.
//!
//! # Guarantees
//! Who wrote a field is exact: the objects before and after each step are compared. Which inputs determine it was found
//! by changing each of them and repeating the call.
//! # Caveats
//! A change that has no effect alone, or that makes the input invalid, is not found. What a plugin of `resources` read
//! to compute a value is unknown: it sees all objects.

pub mod codes;
mod field;
mod influence;
mod observed;
mod origins;

use crate::changes::identity;
use crate::convert::{self, Conversion, Inputs};
use crate::diagnostic::{Diagnostic, Place};
use crate::listing::first_of;
use crate::plain;
use crate::stage::{DeploymentRequest, PluginRef};
use crate::{Stage, Stages, object, resolved_document};
use boson_document::{Pointer, Tree};
use boson_manifest::labels;
use influence::influences;
use observed::{Calls, Observed};

/// Limit on the fields that one question is about.
pub const MAX_FIELDS: usize = 20;

#[derive(Clone, Debug)]
pub struct Question {
    /// `StatefulSet`, in any case; `None`: any kind.
    pub kind: Option<String>,
    pub name: String,
    pub field: String,
}

/// Where one field comes from.
#[derive(Clone, Debug)]
pub struct Blame {
    /// `StatefulSet/nats-broker-v1`
    pub object: String,
    pub field: Pointer,
    pub value: Tree,
    /// The step that wrote it last, and those before it, as far as they can be followed.
    pub steps: Vec<Step>,
}

/// A step that wrote a field.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// `host`, or the plugin with its digest.
    pub by: String,
    /// What it did, as a sentence without its subject.
    pub what: String,
    /// Parts of the input that determine the value.
    pub inputs: Vec<Input>,
    pub unknown: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Input {
    /// What it is a part of: `the manifest`. A whole sentence part, if it has no pointer.
    pub of: String,
    pub pointer: Option<Pointer>,
    /// Where it is, if it is in a document.
    pub place: Option<Place>,
}

/// Converts, and answers a question about the objects.
pub fn convert(
    stages: &dyn Stages,
    inputs: &Inputs<'_>,
    question: &Question,
    progress: &dyn Fn(&str),
) -> (Conversion, Result<Vec<Blame>, Diagnostic>) {
    let observed = Observed::new(stages);
    let conversion = convert::convert(&observed, inputs, progress);
    let Ok(objects) = &conversion.result else {
        return (conversion, Ok(Vec::new()));
    };
    progress("finding the inputs of the field");
    let answer = answer(stages, inputs, &observed.into_calls(), objects, question);
    (conversion, answer)
}

fn answer(
    stages: &dyn Stages,
    inputs: &Inputs<'_>,
    calls: &Calls,
    objects: &[Tree],
    question: &Question,
) -> Result<Vec<Blame>, Diagnostic> {
    let tracing = Tracing { stages, inputs, calls };
    let asked: Vec<&Tree> = objects.iter().filter(|object| question.is_about(object)).collect();
    let Some(first) = asked.first() else {
        return Err(no_object(objects, question));
    };
    let mut blames = Vec::new();
    for object in &asked {
        for field in field::fields(object, &question.field) {
            if blames.len() == MAX_FIELDS {
                let message = format!("the question is about more than {MAX_FIELDS} fields");
                return Err(Diagnostic::error(codes::BLAME_TOO_MANY, message));
            }
            blames.extend(tracing.blame(object, field));
        }
    }
    if blames.is_empty() {
        Err(no_field(first, question))
    } else {
        Ok(blames)
    }
}

fn no_object(objects: &[Tree], question: &Question) -> Diagnostic {
    let message = format!("the conversion has no object '{}'", question.object());
    let similar = objects.iter().filter(|object| question.is_of_kind(object));
    let mut names: Vec<String> = similar.map(identity).collect();
    if names.is_empty() {
        names = objects.iter().map(identity).collect();
    }
    let error = Diagnostic::error(codes::BLAME_NO_OBJECT, message);
    error.help(format!("there are: {}", first_of(&names, MAX_FIELDS, " and ")))
}

fn no_field(object: &Tree, question: &Question) -> Diagnostic {
    let members = object.as_object().into_iter().flatten();
    let members: Vec<&str> = members.map(|(name, _)| name.as_str()).collect();
    let message = format!("{} has no field '{}'", question.object(), question.field);
    let error = Diagnostic::error(codes::BLAME_NO_FIELD, message);
    error.help(format!(
        "name it as in the object: its members are {}; `*` stands for any part of a name",
        members.join(", ")
    ))
}

fn is_same(one: &Tree, other: &Tree) -> bool {
    one.str("apiVersion") == other.str("apiVersion")
        && one.str("kind") == other.str("kind")
        && object::name(one) == object::name(other)
}

fn value_in(objects: &[Tree], object: &Tree, field: &Pointer) -> Option<Tree> {
    let found = objects.iter().find(|one| is_same(one, object))?;
    field.find(found).cloned()
}

// === impl Question ===

impl Question {
    /// Reads `KIND/NAME` or `NAME`.
    pub fn new(object: &str, field: &str) -> Self {
        let (kind, name) = match object.split_once('/') {
            Some((kind, name)) => (Some(kind.to_string()), name),
            None => (None, object),
        };
        Self {
            kind,
            name: name.to_string(),
            field: field.to_string(),
        }
    }

    fn object(&self) -> String {
        match &self.kind {
            Some(kind) => format!("{kind}/{}", self.name),
            None => self.name.clone(),
        }
    }

    fn is_about(&self, object: &Tree) -> bool {
        object::name(object) == self.name && self.is_of_kind(object)
    }

    fn is_of_kind(&self, object: &Tree) -> bool {
        let is_kind = |kind: &String| object.str("kind").is_some_and(|of| of.eq_ignore_ascii_case(kind));
        self.kind.as_ref().is_none_or(is_kind)
    }
}

struct Tracing<'a> {
    stages: &'a dyn Stages,
    inputs: &'a Inputs<'a>,
    calls: &'a Calls,
}

// === impl Tracing ===

impl Tracing<'_> {
    /// Where a field of a final object comes from.
    fn blame(&self, object: &Tree, field: Pointer) -> Option<Blame> {
        let value = field.find(object)?.clone();
        let mut steps = Vec::new();
        let mut current = vec![(object.clone(), field.clone())];
        let is_of_plugins = self.calls.last.iter().any(|one| is_same(one, object));
        if !is_of_plugins {
            let (step, sources) = self.lowering(object, &field);
            steps.push(step);
            current = sources;
        }
        for (object, field) in &current {
            steps.push(self.writer(object, field));
        }
        Some(Blame {
            object: identity(object),
            field,
            value,
            steps,
        })
    }

    /// The object of the operator's kinds from which the host made this one, and its fields that determine the field.
    fn lowering(&self, object: &Tree, field: &Pointer) -> (Step, Vec<(Tree, Pointer)>) {
        let lowered = |source: &Tree| {
            let made = plain::lower(vec![source.clone()], self.inputs.values).ok()?.0;
            made.into_iter().find(|one| is_same(one, object))
        };
        let ours = self
            .calls
            .last
            .iter()
            .filter(|one| one.str("apiVersion") == Some(labels::API_VERSION));
        let mut step = Step {
            by: "host".into(),
            ..Step::default()
        };
        let Some(source) = ours.into_iter().find(|source| lowered(source).is_some()) else {
            step.what = "made this object: no plugin returned it".into();
            step.unknown.push("which inputs it comes from".into());
            return (step, Vec::new());
        };
        step.what = format!("made {} from {}", identity(object), identity(source));
        let found = influences(source, &|source| field.find(&lowered(source)?).cloned());
        if let Some(variable) = plain::secret::variable(source) {
            step.what
                .push_str(&format!(", with the value of the variable '{variable}'"));
            step.inputs.extend(self.definition(variable));
            step.unknown
                .push("whether the value was given, stored or generated: `--vars-store` and `-v` come first".into());
            return (step, Vec::new());
        }
        if found.value.is_empty() {
            step.what.push_str(", and wrote this field itself");
        }
        let fields = found.value.iter().take(MAX_FIELDS);
        step.inputs = fields
            .clone()
            .map(|field| Input {
                of: identity(source),
                pointer: Some(field.clone()),
                place: None,
            })
            .collect();
        (step, fields.map(|field| (source.clone(), field.clone())).collect())
    }

    fn definition(&self, name: &str) -> Option<Input> {
        let variable = self.inputs.variables.iter().find(|variable| variable.name == name)?;
        Some(origins::in_manifest(self.inputs, &Pointer::parse(&variable.pointer)?))
    }

    /// Who wrote a field of an object that plugins returned.
    fn writer(&self, object: &Tree, field: &Pointer) -> Step {
        let mut after = &self.calls.last;
        for (nth, (author, before)) in self.calls.transforms.iter().enumerate().rev() {
            if value_in(before, object, field) != value_in(after, object, field) {
                return Step {
                    by: author.called.clone(),
                    what: change(before, object, field),
                    inputs: origins::settings_of_transform(self.stages, self.inputs, self.calls, nth, object, field),
                    unknown: vec!["which part of the view it used: it sees all objects".into()],
                };
            }
            after = before;
        }
        self.rule(object, field)
    }

    /// The call of the stage `bpm` that returned an object.
    fn rule(&self, object: &Tree, field: &Pointer) -> Step {
        let has = |objects: &[Tree]| objects.iter().any(|one| is_same(one, object));
        let groups = self.calls.groups.iter();
        match groups.clone().find(|call| has(&call.objects)) {
            Some(call) if value_in(&call.objects, object, field).is_some() => {
                let group = resolved_document::name(&call.request.group);
                let made = |stages: &dyn Stages| Some(stages.convert_group(&call.request).ok()?.0);
                layer(self.stages, Some(group), object, field, &made, &|stages| Step {
                    by: stages.author(PluginRef::Rule(Stage::Bpm, Some(group))).called,
                    ..origins::of_group(stages, self.inputs, &call.request, object, field)
                })
            }
            None if value_in(&self.calls.of_deployment, object, field).is_some() => {
                let request = DeploymentRequest {
                    deployment: self.inputs.deployment,
                    manifest: self.inputs.manifest,
                    variables: self.inputs.variables,
                };
                let made = |stages: &dyn Stages| Some(stages.convert_deployment(request).ok()?.0);
                layer(self.stages, None, object, field, &made, &|stages| Step {
                    by: stages.author(PluginRef::Rule(Stage::Bpm, None)).called,
                    ..origins::of_deployment(stages, self.inputs, object, field)
                })
            }
            _ => Step {
                by: "host".into(),
                what: format!("added {field} to {}, as to every object", identity(object)),
                ..Step::default()
            },
        }
    }
}

/// What a plugin did that got these objects, and returned an object with this field.
fn change(before: &[Tree], object: &Tree, field: &Pointer) -> String {
    let is_new = !before.iter().any(|one| is_same(one, object));
    match (is_new, value_in(before, object, field).is_some()) {
        (true, _) => format!("added {}", identity(object)),
        (false, false) => format!("added {field} to {}", identity(object)),
        (false, true) => format!("changed {field} of {}", identity(object)),
    }
}

/// The step of the innermost plugin that gives the field its value, where wrappers are around the rule. `made`: the
/// objects that a plugin with all below it returns for the same request.
fn layer(
    stages: &dyn Stages,
    group: Option<&str>,
    object: &Tree,
    field: &Pointer,
    made: &dyn Fn(&dyn Stages) -> Option<Vec<Tree>>,
    step: &dyn Fn(&dyn Stages) -> Step,
) -> Step {
    let Some(below) = stages.below(PluginRef::Rule(Stage::Bpm, group)) else {
        return step(stages);
    };
    let value = |made: &Option<Vec<Tree>>| value_in(made.as_deref().unwrap_or_default(), object, field);
    let inner = made(&*below);
    if value(&inner) == value(&made(stages)) {
        return layer(&*below, group, object, field, made, step);
    }
    Step {
        what: change(inner.as_deref().unwrap_or_default(), object, field),
        ..step(stages)
    }
}
