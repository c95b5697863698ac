//! The output of a builder: a file, and its last lines.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// Lines in an error.
const MAX_TAIL_LINES: usize = 20;
/// Bytes of such a line.
const MAX_LINE_BYTES: u64 = 4 << 10;
/// Bytes of a log: scripts can write for hours.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// The last lines of an output.
#[derive(Default)]
pub struct Tail(VecDeque<String>);

// === impl Tail ===

impl Tail {
    /// Writes the output to a file. `tell` is called with the number of bytes so far. It is read to its end even if the
    /// file cannot be written: otherwise the builder would wait for its reader.
    ///
    /// # Errors
    /// Those of the output and the file.
    pub fn keep(output: impl Read, to: &Path, tell: &dyn Fn(u64)) -> io::Result<Self> {
        let mut file = File::create(to)?;
        let mut output = BufReader::new(output);
        let (mut tail, mut bytes, mut line) = (Self::default(), 0, Vec::new());
        let mut written = Ok(());
        loop {
            line.clear();
            let count = (&mut output).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
            if count == 0 {
                return written.map(|()| tail);
            }
            bytes += count;
            tell(bytes);
            if bytes <= MAX_LOG_BYTES && written.is_ok() {
                written = file.write_all(&line);
            }
            tail.add(&line);
        }
    }

    fn add(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        // Programs draw progress bars with control characters.
        let clean: String = text.trim_end().chars().filter(|letter| !letter.is_control()).collect();
        if self.0.len() == MAX_TAIL_LINES {
            self.0.pop_front();
        }
        self.0.push_back(clean);
    }

    /// The lines, each after four spaces.
    pub fn text(&self) -> String {
        let lines = self.0.iter().map(|line| format!("\n    {line}"));
        lines.collect()
    }

    /// The last line that is not empty: some programs print a result there.
    pub fn last(&self) -> Option<&str> {
        self.0.iter().rev().map(String::as_str).find(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_without_control_characters() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = String::new();
        for nth in 0..30 {
            output.push_str(&format!("line {nth}\x1b\r\n"));
        }
        output.push_str(&"x".repeat(5000));
        let log = directory.path().join("log");
        let tail = Tail::keep(output.as_bytes(), &log, &|_| {}).unwrap();
        assert_eq!(tail.0.len(), MAX_TAIL_LINES);
        assert!(tail.text().contains("\n    line 29\n"), "{}", tail.text());
        assert!(!tail.text().contains("line 5"));
        assert_eq!(std::fs::read_to_string(log).unwrap(), output);
    }
}
