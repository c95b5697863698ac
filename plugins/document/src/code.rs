//! The codes of a stage's diagnostics: an enum, and one table with their descriptions.

/// The description of a code.
#[derive(Clone, Copy, Debug)]
pub struct Entry<C> {
    /// Which one.
    pub code: C,
    /// Stable, kebab case, begins with the stage's name.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Some sentences, Markdown.
    pub explanation: &'static str,
    /// What to do next, if that is the same for all diagnostics of this code.
    pub help: Option<&'static str>,
}

/// An enum of codes with its table.
pub trait Codes: Copy + Eq + 'static {
    /// Name of a code that is not in the table.
    const STAGE: &'static str;
    /// All of them.
    const TABLE: &'static [Entry<Self>];

    /// All of them.
    fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.iter().map(|entry| entry.code)
    }

    /// Its description.
    fn entry(self) -> Option<&'static Entry<Self>> {
        Self::TABLE.iter().find(|entry| entry.code == self)
    }

    /// The stable name.
    fn name(self) -> &'static str {
        self.entry().map_or(Self::STAGE, |entry| entry.name)
    }

    /// One line.
    fn title(self) -> &'static str {
        self.entry().map_or("", |entry| entry.title)
    }

    /// Some sentences.
    fn explanation(self) -> &'static str {
        self.entry().map_or("", |entry| entry.explanation)
    }

    /// What to do next.
    fn help(self) -> Option<&'static str> {
        self.entry()?.help
    }
}
