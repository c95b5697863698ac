//! What digits and escapes stand for.

pub(super) fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

pub(super) fn bit(byte: u8) -> Option<u8> {
    matches!(byte, b'0' | b'1').then(|| byte - b'0')
}

/// The byte or character that a number in a list stands for.
pub(super) fn number(digits: &[u8], radix: u32) -> Option<Vec<u8>> {
    let digits = std::str::from_utf8(digits).ok()?;
    let digits = if radix == 16 {
        digits.trim_start_matches("0x")
    } else {
        digits
    };
    let number = u32::from_str_radix(digits, radix).ok()?;
    match u8::try_from(number) {
        Ok(byte) => Some(vec![byte]),
        Err(_) => Some(char::from_u32(number)?.to_string().into_bytes()),
    }
}

pub(super) fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The meaning of the escape at the start of `rest`, and its length, as in Ruby and JSON; of unknown escapes the
/// backslash is dropped.
pub(super) fn escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
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
