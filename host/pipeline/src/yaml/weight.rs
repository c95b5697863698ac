//! How much memory a text needs, computed before it is read: readers request it from the budget of their process.

use super::anchors;

/// Bytes for a value in the tree and the marks, including the spare capacity of lists and maps while they are read.
const VALUE: u64 = 320;
/// Additional bytes for a value with a key.
const KEY: u64 = 160;
/// Bytes for a value between brackets, where the parser may hold all its tokens before it returns the first.
const IN_FLOW: u64 = 640;
/// Bytes for a byte of text: the text itself, and its copy in the tree.
const TEXT: u64 = 3;

/// Memory for reading this text and then for the document; an upper limit.
pub fn weight(text: &[u8]) -> u64 {
    let flow = text.iter().any(|byte| matches!(byte, b'[' | b'{'));
    let (mut values, mut bytes) = (0_u64, text.len() as u64 * TEXT);
    for byte in text {
        let each = match byte {
            b'\n' | b'\r' | b'[' | b'{' => VALUE,
            b',' if flow => IN_FLOW,
            b':' => KEY,
            _ => continue,
        };
        values += 1;
        bytes += each;
    }
    let copied = aliases(text).saturating_mul(values).min(anchors::MAX_VALUES as u64);
    bytes + copied * VALUE
}

/// Number of possible aliases, each of which copies at most everything; 0 if there is no anchor.
fn aliases(text: &[u8]) -> u64 {
    let marks = |sign: u8| {
        let begins = move |three: &&[u8]| match three {
            [before, at, after] => {
                *at == sign
                    && (before.is_ascii_whitespace() || matches!(before, b'[' | b',' | b':' | b'-'))
                    && !after.is_ascii_whitespace()
            }
            _ => false,
        };
        text.windows(3).filter(begins).count() as u64
    };
    if marks(b'&') == 0 { 0 } else { marks(b'*') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_more_values_needs_more_memory() {
        let long = weight("x".repeat(4000).as_bytes());
        let values = weight("- a\n".repeat(1000).as_bytes());
        let flow = weight(format!("[{}]", "a,".repeat(1000)).as_bytes());
        assert!(long < values && values < flow, "{long} {values} {flow}");
    }

    #[test]
    fn copies_of_anchors_count_and_globs_do_not() {
        let list = "- a\n".repeat(100);
        let plain = weight(format!("x:\n{list}y: '*.a'\n").as_bytes());
        let glob = weight(format!("x:\n{list}y: *.abc\n").as_bytes());
        assert_eq!(plain, glob);
        assert!(weight(format!("x: &a\n{list}y: *a\n").as_bytes()) > plain + 100 * VALUE);
    }
}
