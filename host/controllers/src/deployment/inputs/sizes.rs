//! The limit for the total size of the documents of one deployment, and its error messages. Pure.

use crate::codes;
use boson_pipeline::Diagnostic;
use boson_pipeline::yaml;

const MIB: u64 = 1 << 20;
/// Most bytes of all documents of a deployment. A document that is named several times counts each time, because the
/// ops stage gets it each time.
pub const MOST: u64 = 16 * MIB;
/// Bytes that a conversion uses besides its documents.
const BASE: u64 = 16 * MIB;
/// How many manifests a conversion holds at a time: as read, with ops, with values, resolved. Each is at most as large
/// as all documents together.
const COPIES: u64 = 4;
/// How many documents an error names.
const NAMED: usize = 5;

/// A document.
#[derive(Clone, Copy, Debug)]
pub struct Size<'a> {
    pub name: &'a str,
    pub bytes: u64,
    /// How many references name it.
    pub times: u64,
}

/// An upper estimate of the memory that a conversion with these documents uses, in bytes.
pub fn of_conversion<'a>(documents: impl Iterator<Item = &'a [u8]>) -> u64 {
    BASE + COPIES * documents.map(yaml::weight).sum::<u64>()
}

/// The error for documents with more than `most` bytes.
pub fn too_large(documents: &[Size<'_>], most: u64) -> Option<Diagnostic> {
    let sum: u64 = documents.iter().map(|one| one.bytes.saturating_mul(one.times)).sum();
    let message = || {
        format!(
            "the manifest and the ops files have more than {} MiB together: {}",
            most / MIB,
            named(documents)
        )
    };
    (sum > most).then(|| error(message()))
}

/// The error for a conversion that would use `weight` bytes of memory, of at most `most`.
pub fn too_heavy(documents: &[Size<'_>], weight: u64, most: u64) -> Diagnostic {
    error(format!(
        "the manifest and the ops files have too many values: the conversion would take {} MiB of memory, and may take {} MiB: {}",
        weight.div_ceil(MIB),
        most / MIB,
        named(documents)
    ))
}

fn error(message: String) -> Diagnostic {
    Diagnostic::error(codes::DEPLOYMENT_TOO_LARGE, message)
        .in_document("boshdeployment")
        .at("/spec")
        .help("keep data out of manifests: put files into releases, and large values into variables")
}

/// The largest first.
fn named(documents: &[Size<'_>]) -> String {
    let mut documents: Vec<&Size<'_>> = documents.iter().collect();
    documents.sort_by_key(|one| std::cmp::Reverse(one.bytes.saturating_mul(one.times)));
    let more = documents.len().saturating_sub(NAMED);
    let one = |one: &&Size<'_>| {
        let times = match one.times {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        format!("{} ({} KiB{times})", one.name, one.bytes.div_ceil(1024))
    };
    let mut texts: Vec<String> = documents.iter().take(NAMED).map(one).collect();
    if more > 0 {
        texts.push(format!("{more} more"));
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(name: &str, bytes: u64, times: u64) -> Size<'_> {
        Size { name, bytes, times }
    }

    #[test]
    fn documents_that_are_too_large_together_are_named_the_largest_first() {
        let documents = [
            sized("configmap/m/manifest", 2048, 1),
            sized("configmap/big/ops", MIB, 64),
        ];
        assert!(too_large(&documents[..1], MOST).is_none());
        let error = too_large(&documents, MOST).unwrap();
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
        let message = too_large(&documents, MOST).unwrap().message;
        assert!(message.ends_with("123 more") && message.len() < 300, "{message}");
    }

    #[test]
    fn values_weigh_more_than_text() {
        let (text, values) = ("x".repeat(4000), "- a\n".repeat(1000));
        let weight = |text: &str| of_conversion([text.as_bytes()].into_iter());
        assert!(weight(&values) > weight(&text) + 500_000);
    }
}
