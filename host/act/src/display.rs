//! Shows what is in progress, such as the rollouts of instance groups: a line for each change.

use boson_commands::output::{self, Progress};
use boson_pipeline::report::clean;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How far one of several things is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub is_done: bool,
}

pub struct Display {
    began: Instant,
    shown: BTreeMap<String, String>,
    progress: Progress,
    is_terminal: bool,
}

// === impl Display ===

impl Display {
    pub fn start() -> Self {
        let progress = Progress::start();
        Self {
            began: Instant::now(),
            shown: BTreeMap::new(),
            is_terminal: progress.is_shown() && std::io::stdout().is_terminal(),
            progress,
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// A line for each that has changed, by name. On a terminal, those in progress have one line each, which changes.
    pub fn show(&mut self, lines: &BTreeMap<String, Line>) {
        for (name, line) in lines {
            if line.is_done || !self.is_terminal {
                self.note(name, &line.text);
            }
        }
        let open = lines.iter().filter(|(_, line)| !line.is_done);
        let open = open.map(|(name, line)| format!("\n  {name}: {}", clean::line(&line.text)));
        let elapsed = elapsed_text(self.began.elapsed());
        self.progress.say(&format!("{elapsed}{}", open.collect::<String>()));
    }

    /// Prints a line, unless it was printed last under this name.
    pub fn note(&mut self, name: &str, text: &str) {
        if text.is_empty() || self.shown.get(name).is_some_and(|shown| shown == text) {
            return;
        }
        self.shown.insert(name.into(), text.into());
        let text = match name {
            "" => text.to_string(),
            name => format!("{name}: {text}"),
        };
        let line = format!("{}  {}\n", elapsed_text(self.began.elapsed()), clean::line(&text));
        // A closed pipe must not end the command.
        let _ = self.progress.pause(|| output::print(&line));
    }
}

/// `1:05`, `1:00:05`.
pub fn elapsed_text(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let text = |seconds| elapsed_text(Duration::from_secs(seconds));
        assert_eq!([text(5), text(65), text(3605)], ["0:05", "1:05", "1:00:05"]);
    }
}
