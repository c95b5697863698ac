//! Which scalars yaml.v2 reads as a date, so that strings of that form are quoted when written.

/// Whether Go's `time.Parse` accepts the text in one of the four forms that yaml.v2 tries.
pub fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return false;
    }
    let mut rest = Rest(&bytes[5..]);
    let year: u32 = text[..4].parse().unwrap_or(0);
    let Some(month) = rest.digits(2).filter(|month| (1..=12).contains(month)) else {
        return false;
    };
    let day = rest.after(b'-', 2);
    if day.is_none_or(|day| !(1..=days(year, month)).contains(&day)) {
        return false;
    }
    match rest.take() {
        None => true,
        Some(b'T' | b't') => rest.clock() && rest.zone(),
        Some(b' ') => rest.clock() && rest.0.is_empty(),
        Some(_) => false,
    }
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

struct Rest<'t>(&'t [u8]);

// === impl Rest ===

impl Rest<'_> {
    fn take(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// One digit up to `most`.
    fn digits(&mut self, most: usize) -> Option<u32> {
        let count = self
            .0
            .iter()
            .take(most)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    fn after(&mut self, separator: u8, most: usize) -> Option<u32> {
        let is_there = self.take()? == separator;
        is_there.then(|| self.digits(most)).flatten()
    }

    /// `15:4:5` and perhaps a fraction.
    fn clock(&mut self) -> bool {
        let hour = self.digits(2).is_some_and(|hour| hour < 24);
        let minute = self.after(b':', 2).is_some_and(|minute| minute < 60);
        let second = self.after(b':', 2).is_some_and(|second| second < 60);
        if let [b'.' | b',', b'0'..=b'9', ..] = self.0 {
            self.take();
            while matches!(self.0, [b'0'..=b'9', ..]) {
                self.take();
            }
        }
        hour && minute && second
    }

    /// `Z` or `+07:00`, and nothing after it.
    fn zone(&mut self) -> bool {
        match self.0 {
            [b'Z'] => true,
            [b'+' | b'-', h @ .., b':', m1, m2] if h.len() == 2 => {
                let number =
                    |a: u8, b: u8| (a.is_ascii_digit() && b.is_ascii_digit()).then(|| (a - b'0') * 10 + b - b'0');
                number(h[0], h[1]).is_some_and(|hour| hour <= 24) && number(*m1, *m2).is_some_and(|minute| minute <= 60)
            }
            _ => false,
        }
    }
}
