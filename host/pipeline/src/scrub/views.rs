//! A message in the forms to which its readers could decode it: escapes of Ruby and JSON, of shells and URLs, entities,
//! base64, hexadecimal and binary digits, lists of numbers and of characters, and backwards.
//!
//! Every byte of a view has the position of the bytes in the message that it was decoded from, so that a secret found
//! in a view can be cut out of the message. Case, white space, control characters, quotes and backslashes are ignored:
//! escaping, folding and cleaning change them.

use super::decoding::{bit, escape, nibble, number, sextet};
use std::ops::Range;

/// Separates parts that must not be joined; it occurs in no UTF-8 text.
const GAP_BYTE: u8 = 0xff;
/// Length of encoded runs that may hold a secret: eight bytes of it.
const MIN_BASE64_RUN: usize = 11;
const MIN_HEX_RUN: usize = 16;
const MIN_BINARY_RUN: usize = 64;
/// Bases of numbers in lists.
const LIST_RADICES: [u32; 4] = [2, 8, 10, 16];
/// Bytes of a character.
const MAX_CHARACTER_BYTES: usize = 4;
/// How often escapes may be nested.
const MAX_NESTED_ESCAPES: usize = 3;

/// Bytes, and for each the bytes of the message that it was decoded from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub bytes: Vec<u8>,
    places: Vec<Range<u32>>,
    /// Decoded further than people read: a value in it is never a word of the message itself.
    pub disguised: bool,
}

/// The views of a message. The first view is the message itself.
pub(super) fn of(text: &str) -> Vec<View> {
    let mut raw = vec![View::plain(text)];
    for decode in [View::unescaped, View::percent_decoded, View::without_entities] {
        for nth in 0..raw.len() {
            let mut last = raw[nth].clone();
            for _ in 0..MAX_NESTED_ESCAPES {
                let Some(next) = decode(&last) else { break };
                raw.push(next.clone());
                last = next;
            }
        }
    }
    let mut disguised: Vec<View> = raw
        .iter()
        .flat_map(|view| view.decoded_runs().into_iter().chain(view.lists()))
        .map(View::folded)
        .collect();
    disguised.iter_mut().for_each(|view| view.disguised = true);
    let mut views: Vec<View> = raw.into_iter().map(View::folded).collect();
    views.append(&mut disguised);
    views
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

    /// Decodes long runs of base64, hexadecimal and binary digits, from each position at which an encoder may have
    /// begun.
    fn decoded_runs(&self) -> Vec<Self> {
        let base64 = (0..4).map(|skip| self.runs(skip, 6, MIN_BASE64_RUN, sextet));
        let hex = (0..2).map(|skip| self.runs(skip, 4, MIN_HEX_RUN, nibble));
        let binary = (0..8).map(|skip| self.runs(skip, 1, MIN_BINARY_RUN, bit));
        let all = base64.chain(hex).chain(binary);
        all.filter(|view| !view.bytes.is_empty()).collect()
    }

    /// Decodes lists: of numbers, each a byte or a character (`[80, 64]`, `50:40`), and of characters (`["P", "@"]`,
    /// `P-@`); and the text backwards.
    fn lists(&self) -> Vec<Self> {
        let numbers = LIST_RADICES.into_iter().map(|radix| self.numbers(radix));
        let every = |step| (0..step).map(move |skip| self.picked((skip..self.bytes.len()).step_by(step)));
        let backwards = self.picked((0..self.bytes.len()).rev());
        let all = numbers
            .chain(every(2))
            .chain(every(3))
            .chain([self.quoted(), backwards]);
        all.filter(|view| !view.bytes.is_empty()).collect()
    }

    fn numbers(&self, radix: u32) -> Self {
        let (mut view, mut at) = (Self::default(), 0);
        while at < self.bytes.len() {
            let digits = self.bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric());
            let end = at + digits.count();
            if end > at {
                let place = self.span(at..end);
                let bytes = number(&self.bytes[at..end], radix).unwrap_or(vec![GAP_BYTE]);
                bytes.into_iter().for_each(|byte| view.push(byte, place.clone()));
            }
            at = end.max(at + 1);
        }
        view
    }

    fn picked(&self, places: impl Iterator<Item = usize>) -> Self {
        let mut view = Self::default();
        places.for_each(|at| view.push(self.bytes[at], self.places[at].clone()));
        view
    }

    /// What is between quotes, if it is a character or an escape.
    fn quoted(&self) -> Self {
        let is_quote = |at: usize| self.bytes.get(at).is_some_and(|byte| b"\"'".contains(byte));
        let (mut view, mut at) = (Self::default(), 0);
        while at < self.bytes.len() {
            let start = at + 1;
            let escape = usize::from(self.bytes.get(start) == Some(&b'\\'));
            let end = (start + escape + 1..=start + MAX_CHARACTER_BYTES).find(|end| is_quote(*end));
            match end.filter(|_| is_quote(at)) {
                Some(end) => {
                    (start..end).for_each(|inner| view.push(self.bytes[inner], self.places[inner].clone()));
                    at = end + 1;
                }
                None => at += 1,
            }
        }
        view
    }

    /// Decodes digits of `bits` bits each. Line breaks do not end a run: encoders fold lines.
    fn runs(&self, skip: usize, bits: u32, least: usize, digit: fn(u8) -> Option<u8>) -> Self {
        let mut view = Self::default();
        let mut run: Vec<(u8, Range<u32>)> = Vec::new();
        let end = [(GAP_BYTE, 0..0)];
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
        self.push(GAP_BYTE, 0..0);
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
        for text in [
            "[99, 111, 114, 114, 101, 99, 116, 32, 104, 111, 114, 115, 101]",
            "63 6f 72 72 65 63 74 20 68 6f 72 73 65",
            "0x63:0x6f:0x72:0x72:0x65:0x63:0x74:0x20:0x68:0x6f:0x72:0x73:0x65",
            "1100011 1101111 1110010 1110010 1100101 1100011 1110100 100000 1101000 1101111 1110010 1110011 1100101",
            "01100011011011110111001001110010011001010110001101110100001000000110100001101111011100100111001101100101",
            r#"["c", "o", "r", "r", "e", "c", "t", " ", "h", "o", "r", "s", "e"]"#,
            "c-o-r-r-e-c-t- -h-o-r-s-e",
            "esroh tcerroc",
        ] {
            assert!(reads(text, "correct horse"), "{text}");
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
