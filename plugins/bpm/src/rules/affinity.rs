//! Kubernetes' rules beyond types for the `affinity` of a pod.

use crate::rules::kubernetes_rules::report_error;
use boson_document::{Place, Report, Tree};
use boson_manifest::syntax::{is_label, is_label_value, is_qualified, is_subdomain};

/// The only field of a node that terms can match.
const NODE_FIELD: &str = "metadata.name";

/// Checks the `affinity` of a pod.
pub fn check(affinity: &Tree, place: &Place, report: &mut Report) {
    for key in ["nodeAffinity", "podAffinity", "podAntiAffinity"] {
        let (Some(kind), place) = (affinity.get(key), place.at(key)) else {
            continue;
        };
        let required = kind.get("requiredDuringSchedulingIgnoredDuringExecution");
        let required_place = place.at("requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = kind.items("preferredDuringSchedulingIgnoredDuringExecution").iter();
        let preferred_place = place.at("preferredDuringSchedulingIgnoredDuringExecution");
        let is_node = key == "nodeAffinity";
        match required {
            Some(selector) if is_node => node_selector(selector, &required_place, report),
            Some(terms) => {
                for (index, term) in terms.as_array().into_iter().flatten().enumerate() {
                    pod_term(term, &required_place.at(index), report);
                }
            }
            None => {}
        }
        for (index, one) in preferred.enumerate() {
            let place = preferred_place.at(index);
            if !one.i64("weight").is_some_and(|weight| (1..=100).contains(&weight)) {
                report_error(report, place.at("weight"), "'weight' must be from 1 to 100");
            }
            match (one.get("preference"), one.get("podAffinityTerm")) {
                (Some(term), _) => node_term(term, &place.at("preference"), report),
                (_, Some(term)) => pod_term(term, &place.at("podAffinityTerm"), report),
                _ => {}
            }
        }
    }
}

fn node_selector(selector: &Tree, place: &Place, report: &mut Report) {
    let (terms, place) = (selector.items("nodeSelectorTerms"), place.at("nodeSelectorTerms"));
    if terms.is_empty() && !selector.is_null() {
        report_error(report, place.clone(), "Kubernetes requires at least one term here");
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(term, &place.at(index), report);
    }
}

fn node_term(term: &Tree, place: &Place, report: &mut Report) {
    for (index, one) in term.items("matchExpressions").iter().enumerate() {
        let place = place.at("matchExpressions").at(index);
        let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
        requirement(one, &place, &operators, report);
    }
    for (index, one) in term.items("matchFields").iter().enumerate() {
        let place = place.at("matchFields").at(index);
        if one.str("key") != Some(NODE_FIELD) {
            report_error(report, place.at("key"), "'key' must be metadata.name");
        }
        if !matches!(one.str("operator"), Some("In" | "NotIn")) {
            report_error(report, place.at("operator"), "'operator' must be In or NotIn");
        }
        match one.items("values") {
            [Tree::String(name)] if is_subdomain(name) => {}
            _ => report_error(report, place.at("values"), "'values' must have the name of one node"),
        }
    }
}

fn pod_term(term: &Tree, place: &Place, report: &mut Report) {
    if !term.str("topologyKey").is_some_and(is_qualified) {
        let text = "'topologyKey' must be the key of a label of nodes";
        report_error(report, place.at("topologyKey"), text);
    }
    for key in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = term.get(key) {
            label_selector(selector, &place.at(key), report);
        }
    }
    for (index, name) in term.items("namespaces").iter().enumerate() {
        if !name.as_str().is_some_and(is_label) {
            let place = place.at("namespaces").at(index);
            report_error(report, place, "It cannot be the name of a namespace");
        }
    }
}

fn label_selector(selector: &Tree, place: &Place, report: &mut Report) {
    for (key, value) in selector.members("matchLabels").into_iter().flatten() {
        if !is_qualified(key) || !value.as_str().is_some_and(is_label_value) {
            let text = "It cannot be the key and value of a label";
            report_error(report, place.at("matchLabels").at(key), text);
        }
    }
    for (index, one) in selector.items("matchExpressions").iter().enumerate() {
        let place = place.at("matchExpressions").at(index);
        requirement(one, &place, &["In", "NotIn", "Exists", "DoesNotExist"], report);
    }
}

fn requirement(one: &Tree, place: &Place, operators: &[&str], report: &mut Report) {
    let (operator, values) = (one.str("operator").unwrap_or_default(), one.items("values"));
    if !one.str("key").is_some_and(is_qualified) {
        report_error(report, place.at("key"), "'key' must be the key of a label");
    }
    if !operators.contains(&operator) {
        let why = format!("'operator' must be one of {}", operators.join(", "));
        report_error(report, place.at("operator"), &why);
    }
    let why = match operator {
        "In" | "NotIn" if values.is_empty() => "'values' must have at least one value",
        "Exists" | "DoesNotExist" if !values.is_empty() => "'values' must be empty with this operator",
        "Gt" | "Lt" if values.len() != 1 => "'values' must have one value with this operator",
        "In" | "NotIn" if !values.iter().all(|value| value.as_str().is_some_and(is_label_value)) => {
            "'values' must be values of labels"
        }
        _ => return,
    };
    report_error(report, place.at("values"), why);
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn found(text: &str) -> Vec<String> {
        let mut report = Report::default();
        check(&json::parse(text).unwrap(), &Place::default(), &mut report);
        report.into_diagnostics().iter().map(|one| one.pointer_text()).collect()
    }

    #[test]
    fn terms_for_nodes_obey_kubernetes() {
        let terms = |terms: &str| {
            let required =
                format!(r#"{{"requiredDuringSchedulingIgnoredDuringExecution": {{"nodeSelectorTerms": {terms}}}}}"#);
            let start = "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
            let all = found(&format!(r#"{{"nodeAffinity": {required}}}"#));
            all.iter().map(|place| place.replacen(start, "", 1)).collect::<Vec<_>>()
        };
        let good = r#"[{"matchExpressions": [{"key": "a/b", "operator": "In", "values": ["c"]}, {"key": "d", "operator": "Exists"}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]"#;
        assert_eq!(terms(good), Vec::<String>::new());
        assert_eq!(terms("[]"), [""]);
        let bad = r#"[{"matchExpressions": [{"key": "a b", "operator": "in"}, {"key": "a", "operator": "In", "values": []},
            {"key": "a", "operator": "Exists", "values": ["b"]}, {"key": "a", "operator": "Gt"}, {"key": "a", "operator": "In", "values": ["-"]}]},
            {"matchFields": [{"key": "name", "operator": "Exists", "values": []}]}]"#;
        let expected = [
            "/0/matchExpressions/0/key",
            "/0/matchExpressions/0/operator",
            "/0/matchExpressions/1/values",
            "/0/matchExpressions/2/values",
            "/0/matchExpressions/3/values",
            "/0/matchExpressions/4/values",
            "/1/matchFields/0/key",
            "/1/matchFields/0/operator",
            "/1/matchFields/0/values",
        ];
        assert_eq!(terms(bad), expected);
    }

    #[test]
    fn terms_for_pods_and_weights_obey_kubernetes() {
        let text = r#"{"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""},
                {"topologyKey": "a", "namespaces": ["b", "B"], "labelSelector": {"matchLabels": {"c": "d", "e": "-"},
                    "matchExpressions": [{"key": "f", "operator": "Gt", "values": ["1"]}]}}],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "a"}},
                {"weight": 0, "podAffinityTerm": {"topologyKey": "a b"}}]}}"#;
        let (required, preferred) = (
            "/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution",
            "/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution",
        );
        let expected = [
            format!("{required}/0/topologyKey"),
            format!("{required}/1/labelSelector/matchLabels/e"),
            format!("{required}/1/labelSelector/matchExpressions/0/operator"),
            format!("{required}/1/namespaces/1"),
            format!("{preferred}/1/weight"),
            format!("{preferred}/1/podAffinityTerm/topologyKey"),
        ];
        assert_eq!(found(text), expected);
    }
}
