//! What plugins print while a command runs, for their authors.

use boson_pipeline::report::{Sources, clean};
use boson_pipeline::scrub::Secrets;
use boson_sandbox::Console;
use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;

/// Bytes that are kept between two times that they are shown.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// What plugins have printed. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Printed(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// Name of the plugin, and its text.
    texts: Vec<(String, String)>,
    bytes: usize,
}

// === impl Printed ===

impl Printed {
    /// The console of a sandbox.
    pub fn console(&self) -> Console {
        let printed = self.clone();
        Console::new(move |plugin, text| printed.add(plugin, text))
    }

    fn add(&self, plugin: &str, text: &[u8]) {
        let mut kept = self.0.lock();
        kept.bytes += text.len();
        if kept.bytes <= MAX_KEPT_BYTES {
            let text = String::from_utf8_lossy(text).into_owned();
            kept.texts.push((plugin.to_string(), text));
        }
    }

    /// Takes all of it, with control characters made visible; ends with a line break.
    pub fn take(&self) -> String {
        self.lines(&Secrets::default(), &Sources::default())
            .map(|(_, line)| line + "\n")
            .collect()
    }

    /// Logs all of it, without these secrets. `sources` contains the public texts.
    pub fn log(&self, secrets: &Secrets, sources: &Sources) {
        for (plugin, line) in self.lines(secrets, sources) {
            tracing::info!(plugin, "{line}");
        }
    }

    /// Takes the lines, each with the name of its plugin, and one about those that are missing.
    fn lines(&self, secrets: &Secrets, sources: &Sources) -> impl Iterator<Item = (String, String)> {
        let kept = mem::take(&mut *self.0.lock());
        let limit = MAX_KEPT_BYTES >> 20;
        let rest =
            (kept.bytes > MAX_KEPT_BYTES).then(|| format!("more than {limit} MiB of output; the rest is not shown"));
        let lines = kept.texts.into_iter().flat_map(|(plugin, text)| {
            // A secret may have line breaks.
            let text = secrets.redact(text.into(), sources);
            let lines = text.as_str().unwrap_or_default().lines();
            let lines = lines.map(|line| (plugin.clone(), clean::part(line)));
            lines.collect::<Vec<_>>()
        });
        lines.chain(rest.map(|rest| ("host".to_string(), rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::Tree;

    #[test]
    fn secrets_are_not_shown_and_control_characters_are_visible() {
        let (printed, secrets) = (Printed::default(), Tree::object().with("password", "correct-horse"));
        printed.add("p.wasm", b"\x1b[1m it is\ncorrect-horse");
        let (secrets, sources) = (Secrets::of(&secrets), Sources::default());
        let lines = printed.lines(&secrets, &sources);
        let line = |text: &str| ("p.wasm".to_string(), text.to_string());
        assert_eq!(lines.collect::<Vec<_>>(), [line("␛[1m it is"), line("<redacted>")]);
        assert_eq!(printed.take(), "");
    }

    #[test]
    fn the_amount_is_bounded() {
        let printed = Printed::default();
        (0..100).for_each(|_| printed.add("p.wasm", &[b'a'; 1 << 16]));
        let shown = printed.take();
        assert!(shown.len() <= MAX_KEPT_BYTES + 200, "{}", shown.len());
        assert!(shown.ends_with("more than 4 MiB of output; the rest is not shown\n"));
    }
}
