//! Numbers by their literal text, so that none is rounded.

/// A number as JSON spells it. Equality is equality of the text: `1.0` is not `1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

// === impl Number ===

impl Number {
    /// The number with this text, or `None` if the text is not a JSON number.
    pub fn new(text: &str) -> Option<Self> {
        (scan(text) == Ok(text.len())).then(|| Self(text.into()))
    }

    /// Creates a number from a text that the JSON reader has checked.
    pub(crate) fn from_checked(text: &str) -> Self {
        Self(text.into())
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// No fraction and no exponent.
    pub fn is_integer(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }

    /// The value, where it is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.is_integer().then(|| self.0.parse().ok()).flatten()
    }

    /// The value, where it is an integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.is_integer().then(|| self.0.parse().ok()).flatten()
    }

    /// The nearest double.
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value.to_string().into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(value.to_string().into())
    }
}

/// A digit is missing at this byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoDigit(pub usize);

/// The length in bytes of the number, by JSON's grammar, that a text begins with.
pub(crate) fn scan(text: &str) -> Result<usize, NoDigit> {
    let bytes = text.as_bytes();
    let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    let mut at = usize::from(is(0, b"-"));
    at = if is(at, b"0") { at + 1 } else { digits(bytes, at)? };
    if is(at, b".") {
        at = digits(bytes, at + 1)?;
    }
    if is(at, b"eE") {
        at += 1;
        at = digits(bytes, at + usize::from(is(at, b"+-")))?;
    }
    Ok(at)
}

/// The offset after one or more digits.
fn digits(bytes: &[u8], start: usize) -> Result<usize, NoDigit> {
    let count = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        Err(NoDigit(start))
    } else {
        Ok(start + count)
    }
}
