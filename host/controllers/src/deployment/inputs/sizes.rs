//! The limit for the total size of the documents of one deployment, and its error messages. Pure.

use crate::codes;
use boson_pipeline::Diagnostic;
use boson_pipeline::listing::first_of;
use boson_pipeline::quantities::MIB;
use boson_pipeline::yaml;

/// Most bytes of all documents of a deployment. A document that is named several times counts each time, because the
/// ops stage gets it each time.
pub const MAX_DOCUMENT_BYTES: u64 = 16 * MIB;
/// Bytes that a conversion uses besides its documents.
const CONVERSION_BASE_BYTES: u64 = 16 * MIB;
/// How many manifests a conversion holds at a time: as read, with ops, with values, resolved. Each is at most as large
/// as all documents together.
const MANIFEST_COPIES: u64 = 4;
/// How many more while it is compared with the one from before a pause: that one, and each of both as the director
/// reads it and as it is shown.
const COMPARED_COPIES: u64 = 5;
/// How many documents an error names.
const MAX_NAMED_DOCUMENTS: usize = 5;

#[derive(Clone, Copy, Debug)]
pub struct Size<'a> {
    pub name: &'a str,
    pub bytes: u64,
    /// How many references name it.
    pub times: u64,
}

/// An upper estimate of the memory that a conversion with these documents uses, in bytes. `is_paused`: of a deployment
/// that is.
pub fn of_conversion<'a>(documents: impl Iterator<Item = &'a [u8]>, is_paused: bool) -> u64 {
    let copies = MANIFEST_COPIES + if is_paused { COMPARED_COPIES } else { 0 };
    CONVERSION_BASE_BYTES + copies * documents.map(yaml::weight).sum::<u64>()
}

/// The error for documents with more than `most` bytes.
pub fn size_error(documents: &[Size<'_>], most: u64) -> Option<Diagnostic> {
    let sum: u64 = documents.iter().map(|one| one.bytes.saturating_mul(one.times)).sum();
    let message = || {
        format!(
            "the manifest and the ops files have more than {} MiB together: {}",
            most / MIB,
            named(documents)
        )
    };
    let help = "this limit is fixed: shorten the documents, or split the deployment";
    (sum > most).then(|| error(message()).help(help))
}

/// The error for a conversion that would use `weight` bytes of memory, of at most `most`.
pub fn memory_error(documents: &[Size<'_>], weight: u64, most: u64) -> Diagnostic {
    error(format!(
        "the manifest and the ops files have too many values: the conversion would take {} MiB of memory, and may take {} MiB: {}",
        weight.div_ceil(MIB),
        most / MIB,
        named(documents)
    ))
    .help(
        "the limit is a part of the operator's memory: raise `resources.limits.memory` of its container \
         (deploy/operator/operator.yaml), or its option --max-memory",
    )
}

fn error(message: String) -> Diagnostic {
    Diagnostic::error(codes::DEPLOYMENT_TOO_LARGE, message)
        .in_document("boshdeployment")
        .at("/spec")
}

/// The largest first.
fn named(documents: &[Size<'_>]) -> String {
    let mut documents: Vec<&Size<'_>> = documents.iter().collect();
    documents.sort_by_key(|one| std::cmp::Reverse(one.bytes.saturating_mul(one.times)));
    let one = |one: &&Size<'_>| {
        let times = match one.times {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        format!("{} ({} KiB{times})", one.name, one.bytes.div_ceil(1024))
    };
    let texts: Vec<String> = documents.iter().map(one).collect();
    first_of(&texts, MAX_NAMED_DOCUMENTS, ", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_budget::{Budget, Class};

    fn sized(name: &str, bytes: u64, times: u64) -> Size<'_> {
        Size { name, bytes, times }
    }

    #[test]
    fn documents_that_are_too_large_together_are_named_the_largest_first() {
        let documents = [
            sized("configmap/m/manifest", 2048, 1),
            sized("configmap/big/ops", MIB, 64),
        ];
        assert!(size_error(&documents[..1], MAX_DOCUMENT_BYTES).is_none());
        let error = size_error(&documents, MAX_DOCUMENT_BYTES).unwrap();
        assert_eq!(error.code, "deployment-too-large");
        assert_eq!(
            error.message,
            "the manifest and the ops files have more than 16 MiB together: configmap/big/ops (1024 KiB, 64 times), configmap/m/manifest (2 KiB)"
        );
    }

    #[test]
    fn only_some_of_many_documents_are_named() {
        let names: Vec<String> = (0..128).map(|nth| format!("https://a/{nth}")).collect();
        let documents: Vec<Size<'_>> = names.iter().map(|name| sized(name, 4 * MIB, 1)).collect();
        let message = size_error(&documents, MAX_DOCUMENT_BYTES).unwrap().message;
        assert!(message.ends_with("123 more") && message.len() < 300, "{message}");
    }

    #[test]
    fn values_weigh_more_than_text() {
        let (text, values) = ("x".repeat(4000), "- a\n".repeat(1000));
        let weight = |text: &str| of_conversion([text.as_bytes()].into_iter(), false);
        assert!(weight(&values) > weight(&text) + 500_000);
    }

    /// What the conversion of one deployment may take with the limits of `deploy/`.
    fn most_as_shipped() -> u64 {
        let deployed = include_str!("../../../../../deploy/operator/operator.yaml");
        let limits = deployed.split("limits:").nth(1).unwrap();
        let memory = limits.split("memory: ").nth(1).unwrap().lines().next().unwrap();
        let gibibytes: u64 = memory.strip_suffix("Gi").unwrap().parse().unwrap();
        Budget::of_many(gibibytes << 30, 2).holder_limit(Class::Documents)
    }

    /// As cf-deployment 58: 3,000 lines, twelve anchors of properties in its middle, 44 aliases after them.
    fn like_cf_deployment() -> String {
        let properties = |job: usize| {
            let lines = (0..30).map(|nth| format!("      key_{nth}: ((a_variable_{job}_{nth}.certificate))\n"));
            lines.collect::<String>()
        };
        let anchors = (0..12).map(|nth| {
            format!(
                "  - name: job-{nth}\n    properties: &anchor_{nth}\n{}",
                properties(nth)
            )
        });
        let aliases = (0..44).map(|nth| format!("  - name: user-{nth}\n    properties: *anchor_{}\n", nth % 12));
        let others = (0..70).map(|nth| format!("  - name: other-{nth}\n    properties:\n{}", properties(nth)));
        let jobs: String = anchors.chain(aliases).chain(others).collect();
        format!("name: cf\ninstance_groups:\n- name: all\n  jobs:\n{jobs}")
    }

    #[test]
    fn the_limits_as_shipped_permit_cf_deployment_and_no_bomb_of_aliases() {
        let manifest = like_cf_deployment();
        assert!(manifest.lines().count() > 2500, "{}", manifest.lines().count());
        let most = most_as_shipped();
        let weight = |text: &str| of_conversion([text.as_bytes()].into_iter(), false);
        assert!(weight(&manifest) < most / 4, "{} of {most}", weight(&manifest));
        let bomb: String = (1..12)
            .map(|nth| format!("a{nth}: &a{nth} [{}]\n", format!("*a{}, ", nth - 1).repeat(9)))
            .collect();
        assert!(weight(&format!("a0: &a0 x\n{bomb}")) > most);
    }

    #[test]
    fn an_excess_of_values_names_the_limit_and_where_to_raise_it() {
        let error = memory_error(&[sized("configmap/m/manifest", 2048, 1)], 300 * MIB, 200 * MIB);
        assert!(
            error
                .message
                .contains("would take 300 MiB of memory, and may take 200 MiB")
        );
        let help = error.help.unwrap();
        assert!(
            help.contains("limits.memory") && help.contains("--max-memory"),
            "{help}"
        );
    }
}
