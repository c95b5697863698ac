//! The `update` block: how a group is updated, as annotations for the rollout controller.

use crate::codes;
use boson_document::{Map, Place, Report, Tree, ruby};
use boson_manifest::labels;

/// Annotations of a group's update block, which holds the manifest's merged with its own. [`check`] reports its errors.
pub fn annotations(group: &Tree) -> Map {
    let mut out = Map::new();
    let Some(update) = group.get("update") else { return out };
    let (place, quiet) = (Place::default(), &mut Report::default());
    for (key, annotation) in [("canaries", labels::CANARIES), ("max_in_flight", labels::MAX_IN_FLIGHT)] {
        let count = count(update, key, &place, quiet);
        out.extend(count.map(|count| (annotation.to_string(), count.into())));
    }
    for (key, annotation) in [
        ("canary_watch_time", labels::CANARY_WATCH_TIME),
        ("update_watch_time", labels::UPDATE_WATCH_TIME),
    ] {
        let time = watch_time(update, key, &place, quiet);
        out.extend(time.map(|time| (annotation.to_string(), time.into())));
    }
    let strategy = update.str("vm_strategy");
    out.extend(strategy.map(|strategy| (labels::VM_STRATEGY.to_string(), strategy.into())));
    out
}

/// The keys of a group's update block that are not the manifest's, which are checked at their own place.
pub fn own(group: &Tree, document: &Tree) -> Option<Tree> {
    let update = group.get("update")?;
    let Some(map) = update.as_object() else {
        return Some(update.clone());
    };
    let above = document.get("update");
    let is_own = |(key, value): &(&String, &Tree)| above.and_then(|above| above.get(key)) != Some(value);
    Some(
        map.iter()
            .filter(is_own)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

/// Checks an update block, and warns of `serial` if it has no effect. `has_image`: the image of the operator is known.
pub fn check(update: &Tree, has_image: bool, place: &Place, report: &mut Report) {
    for key in ["canaries", "max_in_flight"] {
        count(update, key, place, report);
    }
    for key in ["canary_watch_time", "update_watch_time"] {
        watch_time(update, key, place, report);
    }
    if !has_image && update.get("serial") == Some(&Tree::Bool(true)) {
        let text = "Key 'serial' has no effect: without the operator's image, no pod can wait for others";
        report.warning(codes::IGNORED_KEY, place.at("serial"), text);
    }
    let strategies = [
        ("vm_strategy", &["create-swap-delete", labels::DELETE_CREATE][..], ""),
        ("initial_deploy_az_update_strategy", &["parallel", "serial"][..], "'"),
    ];
    for (key, valid, quote) in strategies {
        if let Some(value) = update.str(key).filter(|value| !valid.contains(value)) {
            let text = format!(
                "Invalid {key} '{value}', valid strategies are: {quote}{}{quote}",
                valid.join(", ")
            );
            report.error(codes::BAD_VALUE, place.at(key), text);
        }
    }
}

/// A number or a percentage.
fn count(update: &Tree, key: &str, place: &Place, report: &mut Report) -> Option<String> {
    let text = ruby::member(update, key)?;
    let digits = text.strip_suffix('%').unwrap_or(&text);
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        let text = format!("'{key}' cannot be calculated: it is neither a number nor a percentage");
        report.error(codes::BAD_VALUE, place.at(key), text);
        return None;
    }
    Some(text)
}

/// `N` or `N-M` milliseconds, without spaces.
fn watch_time(update: &Tree, key: &str, place: &Place, report: &mut Report) -> Option<String> {
    let text = ruby::member(update, key)?;
    let number = |part: &str| {
        let part = part.trim();
        let number = part.parse::<u64>().ok();
        number.filter(|_| part.bytes().all(|b| b.is_ascii_digit()))
    };
    let (from, to) = text.split_once('-').unwrap_or((&text, &text));
    let why = match (number(from), number(to)) {
        (Some(from), Some(to)) if from == to => return Some(to.to_string()),
        (Some(from), Some(to)) if from < to => return Some(format!("{from}-{to}")),
        (Some(_), Some(_)) => "Min watch time cannot be greater than max watch time",
        _ => "Watch time should be an integer or a range of two integers",
    };
    report.error(codes::BAD_VALUE, place.at(key), why);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn counts_and_times_become_annotations() {
        let of = |update: &str| {
            let group = json::parse(&format!(r#"{{"update": {update}}}"#)).unwrap_or_default();
            annotations(&group)
                .iter()
                .map(|(key, value)| format!("{}={}", &key[24..], json::to_text(value)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (update, expected) in [
            ("{}", ""),
            (
                r#"{"canaries": 1, "max_in_flight": "50%"}"#,
                r#"canaries="1" max-in-flight="50%""#,
            ),
            (
                r#"{"canary_watch_time": " 1 - 20 ", "update_watch_time": 30}"#,
                r#"canary-watch-time-ms="1-20" update-watch-time-ms="30""#,
            ),
            (r#"{"canaries": "x%", "canary_watch_time": "20-1"}"#, ""),
            (r#"{"vm_strategy": "delete-create"}"#, r#"vm-strategy="delete-create""#),
        ] {
            assert_eq!(of(update), expected, "{update}");
        }
    }

    #[test]
    fn what_is_inherited_is_not_the_groups() {
        let parse = |text: &str| json::parse(text).unwrap_or_default();
        let (group, document) = (
            parse(r#"{"update": {"canaries": 1, "serial": true}}"#),
            parse(r#"{"update": {"serial": true}}"#),
        );
        assert_eq!(own(&group, &document), Some(parse(r#"{"canaries": 1}"#)));
    }
}
