//! The meaning of a plain scalar to Ruby's Psych 5, which the director reads with (`Psych::ScalarScanner`).

use super::Scalar;
use boson_document::Number;

/// Longest scalar that can be null or a boolean, in characters.
const MAX_WORD_LENGTH: usize = 5;
/// Most digits of a number that is not decimal: converting them takes quadratic time.
const MAX_DIGITS: usize = 1_000;

/// The meaning of a plain scalar.
pub fn resolve(text: &str) -> Scalar {
    if text.is_empty() {
        return Scalar::Null;
    }
    if begins_with_words(text) || text.contains('\n') {
        return word(text);
    }
    if is_time(text) || is_date(text) {
        return Scalar::Timestamp;
    }
    match text.to_ascii_lowercase().as_str() {
        ".inf" | "+.inf" => return Scalar::Float(f64::INFINITY),
        "-.inf" => return Scalar::Float(f64::NEG_INFINITY),
        ".nan" => return Scalar::Float(f64::NAN),
        _ => {}
    }
    if let Some(name) = text.strip_prefix(':').filter(|name| !name.is_empty()) {
        return Scalar::Symbol(symbol(name));
    }
    let number = sexagesimal(text).or_else(|| fraction(text).map(Scalar::Float));
    let number = number.or_else(|| integer(text).map(Scalar::Int));
    number.unwrap_or(Scalar::String)
}

/// `^[^\d.:-]?[[:alpha:]_\s!@#$%\^&*(){}<>|/\\~;=]+`
fn begins_with_words(text: &str) -> bool {
    let is_word = |c: char| c.is_alphabetic() || c.is_ascii_whitespace() || "_!@#$%^&*(){}<>|/\\~;=".contains(c);
    let mut chars = text.chars();
    let (first, second) = (chars.next(), chars.next());
    first.is_some_and(is_word)
        || (first.is_some_and(|c| !c.is_ascii_digit() && !matches!(c, '.' | ':' | '-')) && second.is_some_and(is_word))
}

fn word(text: &str) -> Scalar {
    if text.chars().count() > MAX_WORD_LENGTH {
        return Scalar::String;
    }
    match text.to_ascii_lowercase().as_str() {
        "~" | "null" => Scalar::Null,
        "yes" | "true" | "on" => Scalar::Bool(true),
        "no" | "false" | "off" => Scalar::Bool(false),
        _ => Scalar::String,
    }
}

/// The name of a symbol, quoted or not.
fn symbol(name: &str) -> String {
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let rest = name.strip_prefix(quote)?;
        Some(&rest[..rest.rfind(quote)?])
    });
    quoted
        .map_or(name, |name| name.strip_prefix(':').unwrap_or(name))
        .to_string()
}

/// Splits digits off: at least `least` and at most `most`.
fn digits(text: &str, least: usize, most: usize) -> Option<(&str, &str)> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    (count >= least).then(|| text.split_at(count))
}

/// What follows `\d{4}-\d{1,2}-`.
pub fn after_month(text: &str) -> Option<&str> {
    let (_, rest) = digits(text, 4, 4)?;
    let (_, rest) = digits(rest.strip_prefix('-')?, 1, 2)?;
    rest.strip_prefix('-')
}

/// What follows `\d{4}-\d{1,2}-\d{1,2}`.
fn after_date(text: &str) -> Option<&str> {
    Some(digits(after_month(text)?, 1, 2)?.1)
}

/// A date by its numbers, which may be 0.
fn is_date(text: &str) -> bool {
    let mut numbers = text.split('-').skip(1).map(|part| part.parse().unwrap_or(u32::MAX));
    after_date(text) == Some("") && numbers.next().is_some_and(|month| month <= 12) && numbers.all(|day| day <= 31)
}

/// A date with a time, perhaps with a fraction and a zone.
fn is_time(text: &str) -> bool {
    let read = || -> Option<&str> {
        let rest = after_date(text.strip_prefix('-').unwrap_or(text))?;
        let rest = match rest.strip_prefix(['T', 't']) {
            Some(rest) => rest,
            None => Some(rest.trim_start()).filter(|trimmed| trimmed.len() < rest.len())?,
        };
        let (_, rest) = digits(rest, 1, 2)?;
        let (_, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
        let (_, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
        Some(
            rest.strip_prefix('.')
                .map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        )
    };
    read().is_some_and(|rest| matches!(rest, "") || is_zone(rest.trim_start()))
}

/// `Z|[-+]\d{1,2}:?(?:\d\d)?`
fn is_zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let hours = text.strip_prefix(['-', '+']).and_then(|rest| digits(rest, 1, 2));
    hours.is_some_and(|(_, rest)| {
        let minutes = rest.strip_prefix(':').unwrap_or(rest);
        minutes.is_empty() || (minutes.len() == 2 && minutes.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// The parts of a number in base 60, and its fraction: `1:30`, `-1_0:5:59.5`.
pub fn sexagesimal_parts(text: &str) -> Option<(Vec<&str>, Option<&str>)> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let parts: Vec<&str> = whole.split(':').collect();
    let first = parts[0].strip_prefix(['-', '+']).unwrap_or(parts[0]);
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let is_later = |part: &&str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
        _ => false,
    };
    let is_first = first.starts_with(|c: char| c.is_ascii_digit()) && is_number(first);
    let fits = is_first && parts.len() > 1 && parts[1..].iter().all(is_later) && fraction.is_none_or(is_number);
    fits.then_some((parts, fraction))
}

/// `1:30` and `1:30:00`, with a fraction or without. Of two parts, Psych takes the first for hours.
fn sexagesimal(text: &str) -> Option<Scalar> {
    let (parts, fraction) = sexagesimal_parts(text).filter(|(parts, _)| parts.len() <= 3)?;
    let weights = [3600_i128, 60, 1];
    if fraction.is_some() {
        let with_fraction: Vec<&str> = text.split(':').collect();
        let number = |part: &str| part.replace('_', "").trim_end_matches('.').parse().unwrap_or(0.0);
        let sum = with_fraction
            .iter()
            .zip(weights)
            .map(|(part, weight)| number(part) * weight as f64);
        return Some(Scalar::Float(sum.sum()));
    }
    let number = |part: &str| part.replace('_', "").parse::<i128>().ok();
    let sum = parts
        .iter()
        .zip(weights)
        .map(|(part, weight)| number(part)?.checked_mul(weight));
    let sum = sum.sum::<Option<i128>>()?;
    Some(Scalar::Int(sum.to_string()))
}

/// A decimal number with a point; digits may be apart by `_` and `,`, and an exponent needs a sign.
fn fraction(text: &str) -> Option<f64> {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, after) = rest.split_once('.')?;
    let is_whole = whole.is_empty()
        || (whole.starts_with(|c: char| c.is_ascii_digit())
            && whole
                .bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b',')));
    let end = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_exponent = match end.as_bytes() {
        [] => true,
        [b'e' | b'E', b'+' | b'-', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    // Psych refuses `.e+5`.
    if !is_whole || !is_exponent || (whole.is_empty() && end.len() == after.len()) {
        return None;
    }
    text.replace(['_', ','], "").parse().ok()
}

/// A decimal, binary, octal or hexadecimal integer of any size.
fn integer(text: &str) -> Option<String> {
    let (sign, rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { "-" } else { "" }, rest),
        None => ("", text),
    };
    let apart = |digits: &str| digits.replace(['_', ','], "");
    let of_base = |digits: &str, base: u32| {
        let digits = apart(digits);
        let fits = (1..=MAX_DIGITS).contains(&digits.len()) && digits.chars().all(|c| c.is_digit(base));
        fits.then(|| decimal(&digits, base))
    };
    let magnitude = if let Some(digits) = rest.strip_prefix("0b") {
        of_base(digits, 2)?
    } else if let Some(digits) = rest.strip_prefix("0x") {
        of_base(digits, 16)?
    } else if let Some(digits) = rest.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        of_base(digits, 8)?
    } else {
        let mut separated = rest.split(['_', ',']);
        let all = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        separated.all(all).then(|| apart(rest))?
    };
    Number::new(&format!("{sign}{magnitude}"))?;
    Some(if magnitude == "0" {
        magnitude
    } else {
        format!("{sign}{magnitude}")
    })
}

/// The digits of a number of another base, as decimal ones.
fn decimal(digits: &str, base: u32) -> String {
    let mut out = vec![0_u8];
    for digit in digits.chars().filter_map(|c| c.to_digit(base)) {
        let mut carry = digit;
        for place in &mut out {
            carry += u32::from(*place) * base;
            *place = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            out.push((carry % 10) as u8);
            carry /= 10;
        }
    }
    out.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The regular expressions of `Psych::ScalarScanner`, applied to unusual spellings.
    #[test]
    fn plain_scalars_mean_what_psych_takes_them_for() {
        let int = |digits: &str| Scalar::Int(digits.into());
        let symbol = |name: &str| Scalar::Symbol(name.into());
        let table = [
            (Scalar::Bool(false), "off NO false fALSE oFF"),
            (Scalar::Bool(true), "On yes true tRue oN yEs"),
            (Scalar::Null, "~ null Null nuLL"),
            (int("0"), "0 -0 +0 00 000"),
            (int("1"), "1 +1 01 0x_1 0b_1 0_1"),
            (int("7"), "007 0,7"),
            (int("-1000"), "-1,000 -1_000 -0x3e8"),
            (int("1000000"), "1,000,000"),
            (int("1375488932539311398658885"), "0x123456789abcdef012345"),
            (int("18446744073709551616"), "18446744073709551616"),
            (int("45000"), "12:30"),
            (int("-41400"), "-12:30"),
            (int("3723"), "1:2:3"),
            (int("37800"), "1_0:30"),
            (Scalar::Float(685_230.15), "190:20:30.15"),
            (Scalar::Float(5430.0), "1:30.5"),
            (Scalar::Float(1000.5), "1,000.5 1000.5"),
            (Scalar::Float(5.0), "5. .5e+1 5.0"),
            (Scalar::Float(100_000.0), "1.e+5 1.0E+5"),
            (Scalar::Float(f64::INFINITY), ".inf .Inf .iNf +.inf 1.0e+400"),
            (
                Scalar::Timestamp,
                "2020-01-02 2020-1-2 2020-00-00 2020-01-02T03:04:05Z 2020-01-02t03:04:05.1-05:00",
            ),
            (symbol("a"), ":a :'a' :\":a\""),
            (symbol(":1"), "::1"),
            (
                Scalar::String,
                "y Y n N 08 0X1F 0o17 0b2 0xg 0x 1__0 _1 1_ 1,,0 ,1 1, . .. .a +. -. 1.5_0 1e3 1e+06 1.0e3 1e400 1:60 \
                 1:2:3:4 2020-13-02 2020-12-32 20-01-02 2020-01-02T3:4:5Z 1.2.3 = =1 << ((x)) a,b a:b é 1a - -- 1-2 5M",
            ),
        ];
        for (meaning, texts) in table {
            for text in texts.split_whitespace() {
                assert_eq!(resolve(text), meaning, "{text}");
            }
        }
    }
}
