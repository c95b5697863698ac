//! Inputs that every plugin of a stage has to reply to, with a result or with diagnostics.

use super::Case;
use boson_document::{Tree, json};
use boson_pipeline::Stage;

/// A list of calls, each with a name.
const INPUTS: &str = include_str!("edge.json");
/// Nesting of the documents of one more input of each function; the contract allows 128.
const NESTING_DEPTH: usize = 100;

/// The inputs of a stage.
///
/// # Errors
/// A call is not complete.
pub fn inputs(stage: Stage) -> Result<Vec<Case>, String> {
    let all = json::parse(INPUTS).map_err(|error| error.to_string())?;
    let of_stage = |call: &&Tree| call.str("stage") == Some(stage.name());
    let mut cases = Vec::new();
    for call in all.as_array().into_iter().flatten().filter(of_stage) {
        let (mut call, name) = (call.clone(), call.str("name").unwrap_or_default());
        if let Some(members) = call.as_object_mut() {
            members.shift_remove("name");
        }
        call.set("context", context(stage));
        let case = Case::of(name, call)?;
        if !cases.iter().any(|one: &Case| one.function == case.function) {
            cases.extend(deep(&case));
        }
        cases.push(case);
    }
    Ok(cases)
}

/// The stages `links`, `bpm`, `resources` and `checks` always get a deployment.
fn context(stage: Stage) -> Tree {
    let deployment = Tree::object()
        .with("name", "m")
        .with("namespace", "default")
        .with("more", Vec::<Tree>::new());
    match stage {
        Stage::Ops | Stage::Variables | Stage::Render => Tree::object(),
        _ => Tree::object().with("deployment", deployment),
    }
}

/// The case with a nested value in its document; `None` if it has no document.
fn deep(case: &Case) -> Option<Case> {
    let mut case = case.clone();
    let nested = (0..NESTING_DEPTH).fold(Tree::Null, |inner, _| Tree::Array(vec![inner]));
    let request = case.request_mut()?;
    let member = ["document", "group", "manifest", "spec"]
        .into_iter()
        .find(|name| request.get(name).is_some())?;
    request.get_mut(member)?.set("deep", nested);
    case.name = format!("{} a nested value", case.function);
    Some(case)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn each_function_of_each_stage_has_inputs() {
        for stage in Stage::ALL {
            let cases = inputs(stage).unwrap();
            let (_, functions) = boson_componentize::functions(stage.name());
            for function in functions {
                let count = cases.iter().filter(|case| case.function == function.name).count();
                assert!(count >= 2, "{stage} {}: {count}", function.name);
            }
        }
    }
}
