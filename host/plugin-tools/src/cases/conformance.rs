//! Whether a plugin keeps the contract of its stage: `host plugin test --conformance`.

use super::{Called, Case, Tested, replies};
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::{Bundle, Writer, codes, kinds};
use boson_pipeline::plain;
use boson_pipeline::report::{self, Sources};
use boson_pipeline::stage::{Answer, Edit, StageError};
use boson_sandbox::{Measures, Plugin, Sandbox, deployment};
use std::collections::HashSet;

/// A member that the contract does not have: plugins ignore it.
const UNKNOWN_MEMBER: &str = "later";

/// Checks the description of a plugin.
pub fn description(sandbox: &Sandbox, plugin: &Plugin) -> Tested {
    let mut errors = Vec::new();
    match plugin.describe(sandbox) {
        Err(error) => errors.push(text(error.diagnostic())),
        Ok(description) => {
            if description.version.split('.').count() < 3 {
                errors.push(format!(
                    "the version '{}' is not a semantic version",
                    description.version
                ));
            }
            let mut names = HashSet::new();
            for code in &description.codes {
                if !code.name.starts_with(&format!("{}-", description.name)) {
                    errors.push(format!(
                        "the code '{}' does not begin with '{}-'",
                        code.name, description.name
                    ));
                }
                if !names.insert(&code.name) {
                    errors.push(format!("the code '{}' is described twice", code.name));
                }
                if code.title.is_empty() || code.explanation.is_empty() {
                    errors.push(format!("the code '{}' has no title, or no explanation", code.name));
                }
            }
        }
    }
    Tested::of("contract: description".to_string(), Measures::default(), errors)
}

/// Checks the reply to one input.
pub fn input(sandbox: &Sandbox, plugin: &Plugin, case: &Case) -> Tested {
    let name = format!("contract: {}: {}", case.function, case.name);
    let (errors, measures) = match case.call(sandbox, plugin) {
        Err(error) => (vec![text(error)], Measures::default()),
        Ok(Called {
            failure: Some(failure),
            measures,
            ..
        }) => (vec![text(failure)], measures),
        Ok(called) => (errors(sandbox, plugin, case, &called), called.measures),
    };
    Tested::of(name, measures, errors)
}

/// What is wrong with a reply.
fn errors(sandbox: &Sandbox, plugin: &Plugin, case: &Case, called: &Called) -> Vec<String> {
    let mut errors = Vec::new();
    match case.call(sandbox, plugin) {
        Ok(again) if !replies::are_same(&again.reply, &called.reply) => {
            errors.push("two calls with the same input gave two replies".into());
        }
        Ok(again) if again.measures.fuel != called.measures.fuel => {
            let (one, two) = (called.measures.fuel, again.measures.fuel);
            errors.push(format!(
                "two calls with the same input used {one} and {two} units of fuel"
            ));
        }
        Ok(_) => {}
        Err(error) => errors.push(text(error)),
    }
    match with_later_member(case).map(|later| later.call(sandbox, plugin)) {
        Some(Ok(later)) if !replies::are_same(&later.reply, &called.reply) => {
            let rule = "the contract may add members: ignore those that you do not know";
            errors.push(format!(
                "a member '{UNKNOWN_MEMBER}' in `more` of the request changes the reply; {rule}"
            ));
        }
        Some(Err(error)) => errors.push(text(error)),
        _ => {}
    }
    errors.extend(checked(sandbox, plugin, case));
    errors
}

/// The case with an additional member in its request.
fn with_later_member(case: &Case) -> Option<Case> {
    let mut case = case.clone();
    let member = Tree::object().with("name", UNKNOWN_MEMBER).with("value", true);
    case.request_mut()?.set("more", vec![member]);
    Some(case)
}

/// The reply as a conversion would check it.
fn checked(sandbox: &Sandbox, plugin: &Plugin, case: &Case) -> Vec<String> {
    let reported = match sandbox.call_checked(plugin, &case.function, &case.arguments) {
        Err(missing) => return vec![format!("the input is not complete: {missing}")],
        Ok(Err(StageError::Plugin(error))) => return vec![text(error)],
        Ok(Err(StageError::Input(reported))) => reported,
        Ok(Ok((answer, reported))) => {
            let errors = refused(case, answer, &plugin.called());
            if !errors.is_empty() {
                return errors.into_iter().map(text).collect();
            }
            reported
        }
    };
    unknown_codes(sandbox, plugin, &reported)
}

/// Why a reply violates the contract, as far as a conversion checks it.
pub fn violation(sandbox: &Sandbox, plugin: &Plugin, case: &Case) -> Option<Diagnostic> {
    match sandbox.call_checked(plugin, &case.function, &case.arguments) {
        Ok(Err(StageError::Plugin(error))) => Some(error),
        _ => None,
    }
}

/// Whether a conversion can make this call: the host checks the objects of a view before it passes them.
pub fn is_possible(case: &Case) -> bool {
    let Some(view) = case.arguments.get("view") else {
        return true;
    };
    let Ok(deployment) = deployment(&case.arguments) else {
        return false;
    };
    let Some(Tree::Array(objects)) = view.get("objects") else {
        return false;
    };
    let is_group = |group: &Tree| group.str("name").is_some();
    let is_manifest = |manifest: &Tree| match manifest.get("instance_groups") {
        None => manifest.as_object().is_some(),
        Some(Tree::Array(groups)) => groups.iter().all(is_group),
        Some(_) => false,
    };
    let mut bundle = Bundle::of_host(&deployment);
    view.get("manifest").is_some_and(is_manifest)
        && bundle.add(without_custom(objects.clone()), "the input").is_ok()
        && objects.iter().all(plain::is_complete)
}

/// Errors about the objects that a plugin makes or changes.
fn refused(case: &Case, answer: Answer, from: &str) -> Vec<Diagnostic> {
    let Ok(deployment) = deployment(&case.arguments) else {
        return Vec::new();
    };
    let made = match answer {
        Answer::Objects(objects) => Bundle::new(&deployment).add(without_custom(objects), from),
        Answer::Edits(edits) => {
            let (added, edits): (Vec<Edit>, Vec<Edit>) = edits
                .into_iter()
                .filter(is_checked)
                .partition(|edit| matches!(edit, Edit::Add(_)));
            let object = |edit: Edit| match edit {
                Edit::Add(object) => Some(object),
                _ => None,
            };
            let view = case.arguments.get("view");
            // What the call passed was checked before.
            let mut bundle = Bundle::of_host(&deployment);
            let given = view.map_or(&[][..], |view| view.items("objects")).to_vec();
            let writer = Writer {
                author: &from.into(),
                is_ordered: true,
            };
            Bundle::new(&deployment)
                .add(without_custom(added.into_iter().filter_map(object).collect()), from)
                .and_then(|()| bundle.add(without_custom(given), "the input"))
                .and_then(|()| bundle.edit(edits, writer).map(drop))
        }
        _ => return Vec::new(),
    };
    // A deployment may grant privileges, which the input of a call does not say.
    let mut errors = made.err().unwrap_or_default();
    errors.retain(|error| error.code != codes::BUNDLE_PRIVILEGE.name);
    errors
}

/// An administrator may allow custom resources, which the input of a call does not say: they are not checked.
fn without_custom(mut objects: Vec<Tree>) -> Vec<Tree> {
    let part = |object: &Tree, member| object.str(member).unwrap_or_default().to_string();
    objects.retain(|object| !kinds::can_be_allowed(&part(object, "apiVersion"), &part(object, "kind")));
    objects
}

/// Whether an edit is of an object that is checked.
fn is_checked(edit: &Edit) -> bool {
    match edit {
        Edit::JsonPatch(object, _) | Edit::MergePatch(object, _) | Edit::Remove(object) => {
            !kinds::can_be_allowed(&object.api_version, &object.kind)
        }
        Edit::Add(_) => true,
    }
}

/// Codes that `host explain` could not explain.
fn unknown_codes(sandbox: &Sandbox, plugin: &Plugin, reported: &[Diagnostic]) -> Vec<String> {
    let descriptions = plugin.chain().filter_map(|one| one.describe(sandbox).ok());
    let known: HashSet<&str> = descriptions
        .flat_map(|description| &description.codes)
        .map(|code| code.name.as_str())
        .collect();
    let unknown = reported
        .iter()
        .filter(|one| one.plugin.is_some() && !known.contains(one.code.as_str()));
    let unknown = unknown.map(|one| format!("the code '{}' is not in the description of the plugin", one.code));
    unknown.collect()
}

fn text(diagnostic: Diagnostic) -> String {
    report::text(&[diagnostic], &Sources::default(), false)
}
