//! Cases as one file, which `host plugin pack` puts beside the component: a zstd stream of a JSON list.
//!
//! ```text
//! [{"name": .., "call": {..}, "reply": {..}}]
//! ```

use super::Case;
use crate::codes;
use crate::unpack;
use boson_document::{Tree, json};
use boson_pipeline::packed::{CASES, MAX_CASES, MAX_CASES_BYTES, MAX_PACKED_CASES_BYTES};
use boson_pipeline::{Diagnostic, Stage};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Characters of the name of a case.
const MAX_NAME_CHARS: usize = 120;

/// The file with these cases.
///
/// # Errors
/// There are too many, or they are too large.
pub fn pack(cases: &[Case]) -> Result<Vec<u8>, Diagnostic> {
    let item = |case: &Case| {
        Tree::object()
            .with("name", case.name.as_str())
            .with("call", case.document())
            .with_some("reply", case.reply.clone())
    };
    let text = json::to_text(&Tree::Array(cases.iter().map(item).collect()));
    let packed = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
    // What is written here must be readable there.
    if text.len() > MAX_CASES_BYTES || packed.len() > MAX_PACKED_CASES_BYTES {
        return Err(too_large());
    }
    unpack(&packed).map(|_| packed)
}

/// The cases in a file.
///
/// # Errors
/// It is too large or not of the form above, or has too many cases.
pub fn unpack(packed: &[u8]) -> Result<Vec<Case>, Diagnostic> {
    if packed.len() > MAX_PACKED_CASES_BYTES {
        return Err(too_large());
    }
    let text = unpack::stream(&[packed.to_vec()], MAX_CASES_BYTES);
    let text = text.map_err(|why| wrong(format!("it is not a zstd stream: {why}")))?;
    let text = String::from_utf8(text.ok_or_else(too_large)?).map_err(|_| wrong("it is not UTF-8".to_string()))?;
    let document = json::parse(&text).map_err(|error| wrong(format!("it is not JSON: {error}")))?;
    let items = document
        .as_array()
        .ok_or_else(|| wrong("it is not a list".to_string()))?;
    if items.is_empty() || items.len() > MAX_CASES {
        return Err(wrong(format!(
            "it has {} cases; 1 to {MAX_CASES} are allowed",
            items.len()
        )));
    }
    items.iter().enumerate().map(|(nth, item)| case(nth, item)).collect()
}

fn case(nth: usize, item: &Tree) -> Result<Case, Diagnostic> {
    let refuse = |what: &str| wrong(format!("case {nth}: {what}"));
    let name = item
        .str("name")
        .filter(|name| (1..=MAX_NAME_CHARS).contains(&name.chars().count()));
    let name = name.ok_or_else(|| refuse(&format!("it has no name of 1 to {MAX_NAME_CHARS} characters")))?;
    let call = item.get("call").cloned().unwrap_or_default();
    let reply = item.get("reply").cloned();
    let reply = reply.ok_or_else(|| refuse("it has no expected reply; write it with `host plugin test --update`"))?;
    let case = Case::of(name, call).map_err(|what| refuse(&what))?;
    Ok(Case {
        reply: Some(reply),
        ..case
    })
}

/// The cases that are for a plugin of this stage.
pub fn of_stage(cases: Vec<Case>, stage: Stage) -> Vec<Case> {
    cases.into_iter().filter(|case| case.stage == stage).collect()
}

fn wrong(what: String) -> Diagnostic {
    let error = Diagnostic::error(codes::PLUGIN_CASES, format!("'{CASES}': {what}"));
    error.help("write it with `host plugin pack --cases DIR`")
}

fn too_large() -> Diagnostic {
    let what = format!(
        "the cases have more than {} MiB, or more than {} KiB packed",
        MAX_CASES_BYTES >> 20,
        MAX_PACKED_CASES_BYTES >> 10
    );
    let error = Diagnostic::error(codes::PLUGIN_CASES, what);
    error.help("pack a few small cases; large ones belong to the tests of the plugin's author")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn example(name: &str) -> Case {
        let call = r#"{"stage":"ops","function":"find","request":{"document":{"a":1.10}},"context":{}}"#;
        let case = Case::of(name, json::parse(call).unwrap()).unwrap();
        Case {
            reply: Some(json::parse(r#"{"ok":{"value":1.10}}"#).unwrap()),
            ..case
        }
    }

    fn code(result: Result<impl Sized, Diagnostic>) -> String {
        result.map(|_| ()).unwrap_err().message
    }

    #[test]
    fn packed_cases_are_the_same_cases() {
        let packed = pack(&[example("a"), example("b")]).unwrap();
        let cases = unpack(&packed).unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[1].name, "b");
        let text = |case: &Case| json::to_text(&case.document());
        assert_eq!(text(&cases[0]), text(&example("a")));
        assert_eq!(
            json::to_text(cases[0].reply.as_ref().unwrap()),
            r#"{"ok":{"value":1.10}}"#
        );
        assert!(of_stage(cases, Stage::Bpm).is_empty());
    }

    #[test]
    fn what_is_no_list_of_cases_or_too_large_is_refused() {
        let compressed = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        assert!(code(unpack(b"no stream")).contains("zstd"));
        for (text, what) in [
            ("{}", "not a list"),
            ("[]", "0 cases"),
            (r#"[{"call":{}}]"#, "case 0: it has no name"),
            (r#"[{"name":"a","call":{}}]"#, "no expected reply"),
            (r#"[{"name":"a","call":{},"reply":{}}]"#, "`stage` is missing"),
        ] {
            let message = code(unpack(&compressed(text)));
            assert!(message.contains(what), "{text}: {message}");
        }
        let bomb = compressed(&" ".repeat(MAX_CASES_BYTES + 1));
        assert!(bomb.len() < MAX_PACKED_CASES_BYTES && code(unpack(&bomb)).contains("more than 4 MiB"));
        let many = vec![example("a"); MAX_CASES + 1];
        assert!(code(pack(&many)).contains("65 cases"));
    }
}
