//! What is said while an errand runs. Where its logs go: to standard error as they come, into files if the user asks
//! for them, and their ends into the table of results.

use anyhow::Context;
use boson_commands::output;
use boson_pipeline::report::clean;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How much of a log is in the table of results.
const MAX_TAIL_BYTES: usize = 1 << 20;
/// Longest part of a line that is held back, so that lines of several containers do not mix.
const MAX_HELD_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub struct Logs {
    /// Directory for a file of each container.
    directory: Option<PathBuf>,
    /// Whether each line that is shown begins with its source.
    prefixed: bool,
    sources: BTreeMap<String, Log>,
}

#[derive(Debug, Default)]
struct Log {
    tail: Tail,
    /// The beginning of a line, of which the rest has not come yet.
    held: Vec<u8>,
    file: Option<File>,
}

/// The end of a text.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    /// Bytes before it.
    dropped: usize,
}

/// Says it on standard error. Everybody who may write a status or an event can choose the text.
pub fn say(text: &str) {
    output::eprint(&format!("{}\n", clean::line(text)));
}

/// Says at this interval, in seconds, that the errand runs.
pub async fn heartbeat(errand: &str, interval: Option<u64>) -> Infallible {
    let Some(interval) = interval else {
        return std::future::pending().await;
    };
    let begun = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_secs(interval)).await;
        let seconds = begun.elapsed().as_secs();
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        say(&format!(
            "errand '{errand}' is in progress ({hours:02}:{minutes:02}:{:02})",
            seconds % 60
        ));
    }
}

// === impl Logs ===

impl Logs {
    pub fn new(directory: Option<PathBuf>, prefixed: bool) -> Self {
        Self {
            directory,
            prefixed,
            ..Self::default()
        }
    }

    pub fn has_files(&self) -> bool {
        self.directory.is_some()
    }

    /// Adds text of a container or instance. `shown`: it also goes to standard error.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, source: &str, text: &[u8], shown: bool) -> anyhow::Result<()> {
        let log = self.sources.entry(source.to_string()).or_default();
        if let Some(directory) = &self.directory {
            let name = format!("{source}.log");
            let written = write(&mut log.file, directory, &name, text);
            written.with_context(|| format!("cannot write '{}'", directory.join(name).display()))?;
        }
        if shown {
            log.tail.add(text);
            log.held.extend(text);
            let end = log.held.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let end = end.or((log.held.len() > MAX_HELD_BYTES).then_some(log.held.len()));
            let whole: Vec<u8> = log.held.drain(..end.unwrap_or(0)).collect();
            output::eprint_bytes(&prefix_lines(&whole, source, self.prefixed));
        }
        Ok(())
    }

    /// Shows what was held back.
    pub fn finish(&mut self) {
        for (source, log) in self.sources.iter_mut().filter(|(_, log)| !log.held.is_empty()) {
            log.held.push(b'\n');
            output::eprint_bytes(&prefix_lines(&std::mem::take(&mut log.held), source, self.prefixed));
        }
    }

    /// The end of what was shown of a source.
    pub fn tail(&self, source: &str) -> String {
        let log = self.sources.get(source);
        log.map(|log| log.tail.text()).unwrap_or_default()
    }
}

fn prefix_lines(text: &[u8], source: &str, prefixed: bool) -> Vec<u8> {
    if !prefixed {
        return text.to_vec();
    }
    let prefix = format!("[{source}] ");
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| [prefix.as_bytes(), line].concat()).collect()
}

fn write(file: &mut Option<File>, directory: &Path, name: &str, text: &[u8]) -> std::io::Result<()> {
    let file = match file {
        Some(file) => file,
        None => {
            std::fs::create_dir_all(directory)?;
            let path = directory.join(name);
            file.insert(OpenOptions::new().create(true).append(true).open(path)?)
        }
    };
    file.write_all(text)
}

// === impl Tail ===

impl Tail {
    fn add(&mut self, text: &[u8]) {
        self.bytes.extend(text);
        // Not at each chunk: dropping moves what is kept.
        if self.bytes.len() > 2 * MAX_TAIL_BYTES {
            let excess = self.bytes.len() - MAX_TAIL_BYTES;
            self.bytes.drain(..excess);
            self.dropped += excess;
        }
    }

    fn text(&self) -> String {
        let excess = self.bytes.len().saturating_sub(MAX_TAIL_BYTES);
        let kept = self.bytes.get(excess..).unwrap_or_default();
        let text = String::from_utf8_lossy(kept);
        match self.dropped + excess {
            0 => text.into_owned(),
            dropped => format!("[{dropped} bytes before]\n{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_text_is_kept() {
        let mut tail = Tail::default();
        tail.add(b"short\n");
        assert_eq!(tail.text(), "short\n");
        for _ in 0..5 {
            tail.add(&[b'a'; MAX_TAIL_BYTES]);
        }
        tail.add(b"end");
        assert!(tail.bytes.len() <= 2 * MAX_TAIL_BYTES);
        let text = tail.text();
        let dropped = 4 * MAX_TAIL_BYTES + 6 + 3;
        assert!(
            text.starts_with(&format!("[{dropped} bytes before]\naaa")),
            "{}",
            &text[..40]
        );
        assert!(text.ends_with("aend"));
    }

    #[test]
    fn lines_of_several_sources_begin_with_their_names() {
        let shown = prefix_lines(b"one\n\ntwo\n", "web/0", true);
        assert_eq!(
            String::from_utf8(shown).unwrap(),
            "[web/0] one\n[web/0] \n[web/0] two\n"
        );
        assert_eq!(prefix_lines(b"one\n", "web/0", false), b"one\n");
    }

    #[test]
    fn each_container_has_a_file() {
        let scratch = std::env::temp_dir().join(format!("boson-errand-{}", std::process::id()));
        let mut logs = Logs::new(Some(scratch.join("logs")), false);
        for (container, text) in [("a", "one\n"), ("b", "two\n"), ("a", "three\n")] {
            logs.add(container, text.as_bytes(), false).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(scratch.join("logs").join(name)).unwrap();
        assert_eq!(
            (read("a.log").as_str(), read("b.log").as_str()),
            ("one\nthree\n", "two\n")
        );
        assert_eq!(logs.tail("a"), "");
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
