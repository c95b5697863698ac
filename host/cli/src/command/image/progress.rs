//! A progress line for each package that is being compiled.

use boson_commands::output::{Bar, Bars};
use boson_compile::Event;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The lines of a release.
pub struct Progress<'p> {
    bars: &'p Bars,
    release: &'p str,
    lines: Mutex<BTreeMap<String, Bar>>,
}

// === impl Progress ===

impl<'p> Progress<'p> {
    pub fn new(bars: &'p Bars, release: &'p str) -> Self {
        Self {
            bars,
            release,
            lines: Mutex::default(),
        }
    }

    pub fn tell(&self, event: Event<'_>) {
        let mut lines = self.lines.lock();
        match event {
            Event::Started(package) => {
                let bar = self.bars.bar(&format!("{}/{package}", self.release));
                bar.phase("compiling", None);
                lines.insert(package.to_owned(), bar);
            }
            Event::Output(package, bytes) => {
                if let Some(bar) = lines.get(package) {
                    bar.set(bytes, None);
                }
            }
            Event::Ended(package) => drop(lines.remove(package)),
        }
    }
}
