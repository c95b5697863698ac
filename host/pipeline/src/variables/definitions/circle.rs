//! CAs that sign each other, so that none of them can be generated first. Reported before anything is generated when
//! another program generates the values, as in a cluster.

use super::generate::signer_name;
use crate::diagnostic::Diagnostic;
use crate::stage::Variable;
use std::collections::HashMap;

/// An error for each circle of CAs, at its first variable.
pub fn circles(variables: &[Variable], document: &str) -> Vec<Diagnostic> {
    let mut signers: HashMap<&str, &str> = HashMap::new();
    for one in variables.iter().rev() {
        // The first definition of a name counts.
        signers.remove(one.name.as_str());
        signers.extend(signer_name(&one.kind, &one.options).map(|signer| (one.name.as_str(), signer)));
    }
    let mut reported: Vec<&str> = Vec::new();
    let mut errors = Vec::new();
    for one in variables {
        let Some(circle) = circle(&one.name, &signers).filter(|_| !reported.contains(&one.name.as_str())) else {
            continue;
        };
        let message = format!("Variable '{}' cannot be generated: its CAs sign each other", one.name);
        let error = Diagnostic::reported_error("variables-recursion", message)
            .in_document(document)
            .at(&one.pointer);
        errors.push(error.help(recursion_help(circle.iter().copied())));
        reported.extend(circle);
    }
    errors
}

/// Help text: the variables of a circle, from one back to itself.
pub fn recursion_help<'n>(circle: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = circle.collect();
    format!("break the circle: {}", names.join(" -> "))
}

/// The path from a variable over its CAs back to itself, if there is one.
fn circle<'v>(name: &'v str, signers: &HashMap<&'v str, &'v str>) -> Option<Vec<&'v str>> {
    let mut way = vec![name];
    let mut signer = *signers.get(name)?;
    // A variable that only leads into a circle of others is not part of it.
    while !way.contains(&signer) {
        way.push(signer);
        signer = signers.get(signer)?;
    }
    way.push(signer);
    (signer == name).then_some(way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::Tree;

    fn signed(name: &str, ca: &str) -> Variable {
        Variable {
            name: name.into(),
            kind: "certificate".into(),
            options: Tree::object().with("ca", ca),
            update_mode: None,
            pointer: format!("/variables/name={name}"),
        }
    }

    #[test]
    fn each_circle_is_reported_once_as_a_chain() {
        let variables = [
            signed("leaf", "b"),
            signed("a", "b"),
            signed("b", "c"),
            signed("c", "a"),
            signed("own", "own"),
            signed("good", "root"),
            signed("root", ""),
            signed("good", "good"),
        ];
        let diagnostics = circles(&variables, "m.yml");
        let helps: Vec<_> = diagnostics.iter().filter_map(|one| one.help.as_deref()).collect();
        assert_eq!(
            helps,
            ["break the circle: a -> b -> c -> a", "break the circle: own -> own"]
        );
        assert_eq!(diagnostics[0].place.pointer.as_deref(), Some("/variables/name=a"));
        assert_eq!(
            diagnostics[0].message,
            "Variable 'a' cannot be generated: its CAs sign each other"
        );
    }
}
