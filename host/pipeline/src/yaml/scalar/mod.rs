//! The meaning of a scalar, by the tables of yaml.v2 and yaml.v3, and the spelling of numbers.

pub(super) mod psych;
mod timestamp;

#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Null,
    Bool(bool),
    /// An integer of 64 bits, in decimal.
    Int(String),
    /// Any other number.
    Float(f64),
    /// `<<`
    Merge,
    /// A date. Readers without a type treat it as a string, but the writer quotes it.
    Timestamp,
    /// A symbol of Ruby.
    Symbol(String),
    /// None of these.
    String,
}

// === impl Scalar ===

impl Scalar {
    /// Short name of the tag, as messages show it.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Merge => "!!merge",
            Self::Timestamp => "!!timestamp",
            Self::Symbol(_) | Self::String => "!!str",
        }
    }

    /// The meaning of a plain scalar without a tag to yaml.v2.
    pub fn plain(text: &str) -> Self {
        Self::resolve(text, true)
    }

    /// The meaning to yaml.v3, which has fewer words for booleans.
    pub(super) fn of_yaml_v3(text: &str, dated: bool) -> Self {
        match Self::resolve(text, dated) {
            Self::Bool(_) if !matches!(text.to_ascii_lowercase().as_str(), "true" | "false") => Self::String,
            meaning => meaning,
        }
    }

    /// The meaning to yaml.v2 of a scalar whose tag is neither `!!str` nor `!!binary`. `dated`: no tag, or
    /// `!!timestamp`.
    pub(super) fn resolve(text: &str, dated: bool) -> Self {
        let Some(first) = text.bytes().next() else {
            return Self::Null;
        };
        match first {
            b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
            b'<' if text == "<<" => Self::Merge,
            b'.' => special(text)
                .or_else(|| fraction(&joined(text)?))
                .map_or(Self::String, Self::Float),
            b'+' | b'-' | b'0'..=b'9' => special(text).map_or_else(|| number(text, dated), Self::Float),
            _ => Self::String,
        }
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::String,
    }
}

fn special(text: &str) -> Option<f64> {
    match text {
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn number(text: &str, dated: bool) -> Scalar {
    if dated && timestamp::is_timestamp(text) {
        return Scalar::Timestamp;
    }
    let digits = text.replace('_', "");
    integer(&digits)
        .map(Scalar::Int)
        .or_else(|| fraction(&digits).map(Scalar::Float))
        .or_else(|| signed_binary(&digits).map(Scalar::Int))
        .unwrap_or(Scalar::String)
}

/// Go's integers: `0x`, `0o`, `0b` or `0` before the digits sets the base. A number without a sign may need all 64
/// bits.
fn integer(text: &str) -> Option<String> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // `from_str_radix` accepts a second sign.
    if !digits.as_bytes().first()?.is_ascii_alphanumeric() {
        return None;
    }
    let value = u64::from_str_radix(digits, base).ok()?;
    match (negative, text.starts_with('+')) {
        (true, _) => 0_i64.checked_sub_unsigned(value).map(|value| value.to_string()),
        (false, true) => i64::try_from(value).ok().map(|value| value.to_string()),
        (false, false) => Some(value.to_string()),
    }
}

/// yaml.v2's second attempt at binary numbers: a sign may follow `0b`.
fn signed_binary(text: &str) -> Option<String> {
    let digits = text.strip_prefix("0b")?;
    i64::from_str_radix(digits, 2).ok().map(|value| value.to_string())
}

/// A decimal number within the range of doubles: digits before or after the point, perhaps an exponent.
fn fraction(text: &str) -> Option<f64> {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let whole = rest.len() - digits.len();
    let exponent = match digits.strip_prefix('.') {
        None => digits,
        Some(after) => {
            let end = after.trim_start_matches(|c: char| c.is_ascii_digit());
            if whole == 0 && end.len() == after.len() {
                return None;
            }
            end
        }
    };
    if whole == 0 && !rest.starts_with('.') {
        return None;
    }
    if let Some(power) = exponent.strip_prefix(['e', 'E']) {
        let power = power.strip_prefix(['+', '-']).unwrap_or(power);
        if power.is_empty() || !power.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
    } else if !exponent.is_empty() {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The text without underscores; `None` if one of them is not between digits, as in Go's `ParseFloat`.
fn joined(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut underscores = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    let apart = underscores.all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    apart.then(|| text.replace('_', ""))
}

/// Formats a float like Go's `FormatFloat(value, 'g', -1, 64)`, with infinities and NaN in YAML's spelling.
pub fn format_float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.into();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{value}")
}
