//! The text of a log that the API server sends with a time before each line, so that a reader whose connection was lost
//! goes on where it was. Pure.

use k8s_openapi::jiff::Timestamp;

/// Longest time, as RFC 3339 with nanoseconds.
const MAX_TIME_BYTES: usize = 40;

/// Up to where a log was read. The API server takes whole seconds only, so the lines of that second come again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub time: Option<Timestamp>,
    /// How many lines had this time.
    lines: usize,
}

/// Reads a log from a position, in chunks of any size.
#[derive(Debug)]
pub struct LogText {
    /// Up to where it was read.
    pub position: Position,
    /// Where it began.
    from: Position,
    /// Lines with the time of `from` so far.
    repeated: usize,
    /// The beginning of a line, up to the end of its time.
    start: Vec<u8>,
    /// In a line, and whether it is new.
    inside: Option<bool>,
}

// === impl Position ===

impl Position {
    fn note(&mut self, time: Timestamp) {
        if self.time == Some(time) {
            self.lines += 1;
        } else if self.time.is_none_or(|before| before < time) {
            *self = Self {
                time: Some(time),
                lines: 1,
            };
        }
    }
}

// === impl LogText ===

impl LogText {
    pub fn from(position: Position) -> Self {
        Self {
            position,
            from: position,
            repeated: 0,
            start: Vec::new(),
            inside: None,
        }
    }

    /// The new text of a chunk, without times.
    pub fn text_of(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(chunk.len());
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let rest = match self.inside {
                Some(_) => part,
                None => self.begin(part, &mut text),
            };
            if self.inside == Some(true) {
                text.extend(rest);
            }
            if part.ends_with(b"\n") && self.inside.is_some() {
                self.inside = None;
            }
        }
        text
    }

    /// Reads the time of a line, and returns what follows of it.
    fn begin<'p>(&mut self, part: &'p [u8], text: &mut Vec<u8>) -> &'p [u8] {
        let is_end = |byte: &u8| *byte == b' ' || *byte == b'\n';
        let end = part.iter().position(is_end);
        let (time, rest) = part.split_at(end.unwrap_or(part.len()));
        self.start.extend(time);
        if end.is_none() && self.start.len() <= MAX_TIME_BYTES {
            return &[];
        }
        let start = std::mem::take(&mut self.start);
        let time = std::str::from_utf8(&start).ok().and_then(|time| time.parse().ok());
        let is_new = time.is_none_or(|time| self.is_new(time));
        self.inside = Some(is_new);
        match time {
            Some(_) => rest.strip_prefix(b" ").unwrap_or(rest),
            None => {
                text.extend(start);
                rest
            }
        }
    }

    fn is_new(&mut self, time: Timestamp) -> bool {
        let is_new = match self.from.time {
            Some(before) if time == before => {
                self.repeated += 1;
                self.repeated > self.from.lines
            }
            Some(before) => time > before,
            None => true,
        };
        if is_new {
            self.position.note(time);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
2026-01-01T00:00:01.1Z one
2026-01-01T00:00:01.12Z two
2026-01-01T00:00:01.12Z
2026-01-01T00:00:01.12Z four words of text
2026-01-01T00:00:02Z five
";
    const TEXT: &str = "one\ntwo\n\nfour words of text\nfive\n";

    fn read(lines: &mut LogText, log: &str, chunk: usize) -> String {
        let chunks = log.as_bytes().chunks(chunk);
        let text: Vec<u8> = chunks.flat_map(|chunk| lines.text_of(chunk)).collect();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn times_are_removed_in_chunks_of_any_size() {
        for size in [1, 7, 1_000] {
            assert_eq!(read(&mut LogText::from(Position::default()), LOG, size), TEXT, "{size}");
        }
        let mut lines = LogText::from(Position::default());
        let text = lines.text_of(b"2026-01-01T00:00:02Z a\nnot a time\n");
        assert_eq!(String::from_utf8(text).unwrap(), "a\nnot a time\n");
    }

    #[test]
    fn a_log_that_is_read_again_goes_on_after_the_last_line() {
        for count in 0..=5 {
            let read_so_far: String = LOG.split_inclusive('\n').take(count).collect();
            let mut lines = LogText::from(Position::default());
            let before = read(&mut lines, &read_so_far, 9);
            let after = read(&mut LogText::from(lines.position), LOG, 9);
            assert_eq!(before + &after, TEXT, "{count}");
        }
    }
}
