//! Base64 as `!!binary` has it: the standard alphabet, padded, line breaks anywhere.

/// The bytes, or `None` where the text is no base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let padding = digits.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let (digits, _) = digits.split_at(digits.len() - padding);
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            bits = bits << 6 | u32::from(digit(*byte)?);
        }
        bits <<= 6 * (4 - group.len());
        let [_, octets @ ..] = bits.to_be_bytes();
        bytes.extend_from_slice(&octets[..group.len() * 3 / 4]);
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_padded_and_nothing_else() {
        assert_eq!(decode("aGk="), Some(b"hi".to_vec()));
        assert_eq!(decode("aGVs\nbG8h\n"), Some(b"hello!".to_vec()));
        assert_eq!(decode(""), Some(Vec::new()));
        for text in ["aGk", "aG=k", "====", "a===", "aG-_"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
