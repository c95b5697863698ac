//! Lines of a stream, of which at most one is in memory.

/// The rest of a longer line is left out.
pub const MAX_LINE_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    /// Bytes of the line that were left out.
    cut: usize,
}

// === impl Lines ===

impl Lines {
    /// The lines that end in this part of the stream.
    pub fn push(&mut self, mut part: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(end) = part.iter().position(|byte| *byte == b'\n') {
            self.add(&part[..end]);
            lines.push(self.take());
            part = &part[end + 1..];
        }
        self.add(part);
        lines
    }

    /// The last line, if the stream does not end in a line feed.
    pub fn end(&mut self) -> Option<String> {
        (!self.line.is_empty()).then(|| self.take())
    }

    fn add(&mut self, part: &[u8]) {
        let kept = part.len().min(MAX_LINE_BYTES - self.line.len());
        self.line.extend_from_slice(&part[..kept]);
        self.cut += part.len() - kept;
    }

    fn take(&mut self) -> String {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        match std::mem::take(&mut self.cut) {
            0 => line,
            cut => format!("{line} [{cut} more bytes are left out]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_from_parts() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"a\nb"), ["a"]);
        assert_eq!(lines.push(b"c\n\nd"), ["bc", ""]);
        assert_eq!(lines.push(b"\xff"), Vec::<String>::new());
        assert_eq!(lines.end().unwrap(), "d\u{fffd}");
        assert_eq!(lines.end(), None);
    }

    #[test]
    fn a_long_line_is_cut() {
        let mut lines = Lines::default();
        let part = [b'x'; 1000];
        let all: Vec<String> = (0..100).flat_map(|_| lines.push(&part)).collect();
        assert!(all.is_empty() && lines.line.len() == MAX_LINE_BYTES);
        let left = 100_000 - MAX_LINE_BYTES;
        let line = lines.push(b"y\nz\n");
        assert!(line[0].ends_with(&format!("x [{} more bytes are left out]", left + 1)));
        assert_eq!(line[1], "z");
    }
}
