//! A message in the forms to which its readers could decode it: escapes of Ruby and JSON, of shells and URLs, entities,
//! base64 and hexadecimal digits.
//!
//! Every byte of a view has the position of the bytes in the message that it was decoded from, so that a secret found
//! in a view can be cut out of the message. Case, white space, control characters, quotes and backslashes are ignored:
//! escaping, folding and cleaning change them.

use std::ops::Range;

/// Separates parts that must not be joined; it occurs in no UTF-8 text.
const GAP: u8 = 0xff;
/// Length of encoded runs that may hold a secret: eight bytes of it.
const BASE64_RUN: usize = 11;
const HEX_RUN: usize = 16;
/// How often escapes may be nested.
const NESTED: usize = 3;

/// Bytes, and for each the bytes of the message that it was decoded from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub bytes: Vec<u8>,
    places: Vec<Range<u32>>,
}

/// The views of a message. The first view is the message itself.
pub(super) fn of(text: &str) -> Vec<View> {
    let mut raw = vec![View::plain(text)];
    for decode in [View::unescaped, View::percent_decoded, View::without_entities] {
        for nth in 0..raw.len() {
            let mut last = raw[nth].clone();
            for _ in 0..NESTED {
                let Some(next) = decode(&last) else { break };
                raw.push(next.clone());
                last = next;
            }
        }
    }
    let runs: Vec<View> = raw.iter().flat_map(View::decoded_runs).collect();
    raw.into_iter().chain(runs).map(View::folded).collect()
}

/// The bytes of a text that are compared.
pub(super) fn folded(text: &str) -> Vec<u8> {
    View::plain(text).folded().bytes
}

// === impl View ===

impl View {
    fn plain(text: &str) -> Self {
        let mut view = Self::default();
        for (at, byte) in (0..).zip(text.bytes()) {
            view.push(byte, at..at + 1);
        }
        view
    }

    fn push(&mut self, byte: u8, place: Range<u32>) {
        self.bytes.push(byte);
        self.places.push(place);
    }

    /// The bytes of the message that these bytes of the view were decoded from, and all between them.
    pub fn place(&self, range: Range<usize>) -> Range<usize> {
        let places = &self.places[range];
        let start = places.iter().map(|place| place.start).min().unwrap_or(0);
        let end = places.iter().map(|place| place.end).max().unwrap_or(start);
        start as usize..end as usize
    }

    fn span(&self, range: Range<usize>) -> Range<u32> {
        self.places[range.start].start..self.places[range.end - 1].end
    }

    /// Removes ignored characters, and converts to lower case.
    fn folded(self) -> Self {
        let mut view = Self::default();
        let mut skip = false;
        for (nth, (byte, place)) in self.bytes.iter().zip(&self.places).enumerate() {
            // The second byte of U+0080 to U+009F, which are control characters.
            if std::mem::take(&mut skip) {
                continue;
            }
            let next = self.bytes.get(nth + 1);
            skip = *byte == 0xc2 && next.is_some_and(|next| (0x80..0xa0).contains(next));
            let dropped = skip || byte.is_ascii_whitespace() || byte.is_ascii_control() || b"'\"`\\".contains(byte);
            if !dropped {
                view.push(byte.to_ascii_lowercase(), place.clone());
            }
        }
        view
    }

    /// Decodes escapes that begin with a backslash, once; `None` if there are none.
    fn unescaped(&self) -> Option<Self> {
        self.replaced(|rest| (rest[0] == b'\\').then(|| escape(rest)).flatten())
    }

    /// `%41`, and `+` for a space.
    fn percent_decoded(&self) -> Option<Self> {
        self.replaced(|rest| match rest {
            [b'+', ..] => Some((vec![b' '], 1)),
            [b'%', high, low, ..] => Some((vec![(nibble(*high)? << 4) | nibble(*low)?], 3)),
            _ => None,
        })
    }

    /// `&amp;`, `&#39;`, `&#x27;`
    fn without_entities(&self) -> Option<Self> {
        self.replaced(|rest| {
            let rest = rest.strip_prefix(b"&")?;
            let end = rest.iter().take(9).position(|byte| *byte == b';')?;
            let name = std::str::from_utf8(&rest[..end]).ok()?;
            let c = match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => {
                    let digits = name.strip_prefix('#')?;
                    let number = match digits.strip_prefix(['x', 'X']) {
                        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                        None => digits.parse().ok()?,
                    };
                    char::from_u32(number)?
                }
            };
            Some((c.to_string().into_bytes(), end + 2))
        })
    }

    /// `read` returns the replacement for the start of its argument, and the length of the replaced bytes. `None` if it
    /// never replaces anything.
    fn replaced(&self, read: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> Option<Self> {
        let (mut view, mut at, mut any) = (Self::default(), 0, false);
        while at < self.bytes.len() {
            let Some((bytes, length)) = read(&self.bytes[at..]) else {
                view.push(self.bytes[at], self.places[at].clone());
                at += 1;
                continue;
            };
            any = true;
            let length = length.clamp(1, self.bytes.len() - at);
            let place = self.span(at..at + length);
            bytes.into_iter().for_each(|byte| view.push(byte, place.clone()));
            at += length;
        }
        any.then_some(view)
    }

    /// Decodes long runs of base64 and of hexadecimal digits, from each position at which an encoder may have begun.
    fn decoded_runs(&self) -> Vec<Self> {
        let base64 = (0..4).map(|skip| self.runs(skip, 6, BASE64_RUN, sextet));
        let hex = (0..2).map(|skip| self.runs(skip, 4, HEX_RUN, nibble));
        base64.chain(hex).filter(|view| !view.bytes.is_empty()).collect()
    }

    /// Decodes digits of `bits` bits each. Line breaks do not end a run: encoders fold lines.
    fn runs(&self, skip: usize, bits: u32, least: usize, digit: fn(u8) -> Option<u8>) -> Self {
        let mut view = Self::default();
        let mut run: Vec<(u8, Range<u32>)> = Vec::new();
        let end = [(GAP, 0..0)];
        let all = self.bytes.iter().copied().zip(self.places.iter().cloned());
        for (byte, place) in all.chain(end) {
            match digit(byte) {
                Some(value) => run.push((value, place)),
                None if byte == b'\n' || byte == b'\r' => {}
                None => {
                    if run.len() >= least {
                        view.join(&run[skip..], bits);
                    }
                    run.clear();
                }
            }
        }
        view
    }

    fn join(&mut self, run: &[(u8, Range<u32>)], bits: u32) {
        let (mut held, mut count) = (0_u32, 0);
        let mut from = None;
        for (value, place) in run {
            let start = *from.get_or_insert(place.start);
            held = (held << bits) | u32::from(*value);
            count += bits;
            if count >= 8 {
                count -= 8;
                let [.., byte] = (held >> count).to_be_bytes();
                self.push(byte, start..place.end);
                held &= (1 << count) - 1;
                from = (count > 0).then_some(place.start);
            }
        }
        self.push(GAP, 0..0);
    }
}

fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The meaning of the escape at the start of `rest`, and its length, as in Ruby and JSON; of unknown escapes the
/// backslash is dropped.
fn escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let number = |digits: &[u8], radix| u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok();
    let text = |number: u32, length| Some((char::from_u32(number)?.to_string().into_bytes(), length));
    match *rest.get(1)? {
        b'a' => Some((vec![7], 2)),
        b'b' => Some((vec![8], 2)),
        b'e' => Some((vec![27], 2)),
        b'f' => Some((vec![12], 2)),
        b'n' => Some((vec![b'\n'], 2)),
        b'r' => Some((vec![b'\r'], 2)),
        b't' => Some((vec![b'\t'], 2)),
        b'v' => Some((vec![11], 2)),
        b'x' => {
            let byte = number(rest.get(2..4)?, 16)?;
            Some((vec![u8::try_from(byte).ok()?], 4))
        }
        b'u' if rest.get(2) == Some(&b'{') => {
            let end = rest.iter().take(10).position(|byte| *byte == b'}')?;
            text(number(&rest[3..end], 16)?, end + 1)
        }
        b'u' => {
            let first = number(rest.get(2..6)?, 16)?;
            if !(0xd800..0xdc00).contains(&first) {
                return text(first, 6);
            }
            // Half of a character beyond U+FFFF, as JSON writes it.
            let second = rest.get(6..12).filter(|next| next.starts_with(b"\\u"))?;
            let second = number(&second[2..], 16)?.checked_sub(0xdc00)?;
            text(0x10000 + ((first - 0xd800) << 10) + second, 12)
        }
        b'0'..=b'7' => {
            let digits = rest[1..]
                .iter()
                .take(3)
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            let [.., byte] = number(&rest[1..=digits], 8)?.to_be_bytes();
            Some((vec![byte], 1 + digits))
        }
        other => Some((vec![other], 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: &str, wanted: &str) -> bool {
        let wanted = folded(wanted);
        of(text)
            .iter()
            .any(|view| view.bytes.windows(wanted.len()).any(|window| window == wanted))
    }

    #[test]
    fn encoded_texts_are_decoded() {
        let secret = "P@ss w0rd#$tr\u{1b}ong/é+\"x\"";
        for text in [
            secret,
            r#"P@ss w0rd\#$tr\eong/é+\"x\""#,
            r#"P@ss w0rd#$tr\u001bong/\u00e9+\"x\""#,
            r#"P@ss w0rd\\\#$tr\\eong/\\u{e9}+\\\"x\\\""#,
            r#"P@ss\ w0rd\#\$tr\033ong/\xC3\xA9\+\"x\""#,
            "P%40ss+w0rd%23%24tr%1Bong%2F%C3%A9%2B%22x%22",
            "P@ss w0rd#$tr\u{1b}ong/é+&quot;x&#34;",
            "p@SS W0RD#$TRONG/é+X",
            "50407373207730726423247472 1b6f6e672fc3a92b227822"
                .split(' ')
                .collect::<String>()
                .as_str(),
        ] {
            assert!(reads(text, secret), "{text}");
        }
        // Base64 from each of the three positions at which the secret may begin.
        for text in ["Y29ycmVjdCBob3JzZQ==", "eGNvcnJlY3QgaG9yc2U=", "eHhjb3JyZWN0IGhv\ncnNl"] {
            assert!(reads(text, "correct horse"), "{text}");
        }
    }

    #[test]
    fn a_view_maps_back_to_the_message() {
        let text = r"a \u00e9\n b";
        let view = of(text)
            .into_iter()
            .find(|view| view.bytes == "aéb".as_bytes())
            .unwrap();
        assert_eq!(&text[view.place(1..3)], r"\u00e9");
        assert_eq!(&text[view.place(0..3)], r"a \u00e9");
    }
}
