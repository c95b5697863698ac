//! Codes of diagnostics: each is a constant of a table that [`codes!`](crate::codes) declares, so that a misspelt code
//! does not compile.

use std::fmt;

/// A kind of diagnostic, as `host explain` describes it. Codes are equal if their names are.
#[derive(Clone, Copy)]
pub struct Code {
    /// Stable name: lower-case words joined by `-`, the first is the stage.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Several sentences: why it happens, an example, what to do. Markdown.
    pub explanation: &'static str,
    /// The next step, if it is the same for all diagnostics of this code.
    pub help: Option<&'static str>,
}

// === impl Code ===

impl Code {
    /// A code without help.
    pub const fn new(name: &'static str, title: &'static str, explanation: &'static str) -> Self {
        Self {
            name,
            title,
            explanation,
            help: None,
        }
    }

    #[must_use]
    pub const fn with_help(self, help: &'static str) -> Self {
        Self {
            help: Some(help),
            ..self
        }
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Declares codes, `CONSTANT = "name", "title", "explanation";` or with `, "help"` at the end, and `ALL`, the list of
/// them.
#[macro_export]
macro_rules! codes {
    ($($constant:ident = $name:literal, $title:literal, $explanation:literal $(, $help:literal)?;)*) => {
        $(
            #[doc = $title]
            pub const $constant: &$crate::Code = &$crate::Code::new($name, $title, $explanation)$(.with_help($help))?;
        )*
        pub const ALL: &[&$crate::Code] = &[$($constant),*];
    };
}

#[cfg(test)]
mod tests {
    codes! {
        FIRST = "demo-first", "The first", "It has no help.";
        SECOND = "demo-second", "The second", "It has help.", "do it";
    }

    #[test]
    fn a_table_lists_its_constants() {
        assert_eq!(ALL, [FIRST, SECOND]);
        assert_eq!((FIRST.help, SECOND.help), (None, Some("do it")));
        assert_eq!(format!("{FIRST:?}"), "demo-first");
    }
}
