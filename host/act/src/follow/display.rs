//! What is shown of a change while it is followed.

use super::State;
use boson_commands::output::{self, Progress};
use boson_pipeline::report::clean;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows the changes of a state.
pub struct Display {
    pub began: Instant,
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

    /// A line for each group that has changed. On a terminal, groups in progress have one line each, which changes.
    pub fn show(&mut self, state: &State) {
        for (name, group) in &state.groups {
            if group.is_done || !self.is_terminal {
                self.note(name, &group.text);
            }
        }
        if state.end.is_none() && state.groups.is_empty() {
            self.note("", &state.summary);
        }
        let open = state.groups.iter().filter(|(_, group)| !group.is_done);
        let lines = open.map(|(name, group)| format!("\n  {name}: {}", clean::line(&group.text)));
        let elapsed = clock(self.began.elapsed());
        self.progress.say(&format!("{elapsed}{}", lines.collect::<String>()));
    }

    /// Prints a line, unless it was printed last for this group.
    pub fn note(&mut self, name: &str, text: &str) {
        if text.is_empty() || self.shown.get(name).is_some_and(|shown| shown == text) {
            return;
        }
        self.shown.insert(name.into(), text.into());
        let title = if name.is_empty() {
            String::new()
        } else {
            format!("{name}: ")
        };
        let line = clean::line(&format!("{title}{text}"));
        let line = format!("{}  {line}\n", clock(self.began.elapsed()));
        // A closed pipe must not end the command.
        let _ = self.progress.pause(|| output::print(&line));
    }
}

/// `1:05`, `1:00:05`.
pub fn clock(elapsed: Duration) -> String {
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
        let text = |seconds| clock(Duration::from_secs(seconds));
        assert_eq!([text(5), text(65), text(3605)], ["0:05", "1:05", "1:00:05"]);
    }
}
