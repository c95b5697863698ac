//! What a component imports, collected from its type: any number of names of any length, of which a message shows the
//! first.

use crate::error;
use std::fmt;

/// Names that a message lists.
const MAX_LISTED_NAMES: usize = 8;
/// Bytes of each.
const MAX_NAME_BYTES: usize = 80;
/// Imports that are not types. A wrapper has one.
const MAX_IMPORTS: usize = 1000;

/// What a component imports under one name, except types.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    /// `wasi:clocks/monotonic-clock@0.2.0`
    pub interface: String,
    /// The first of its items: `function 'wasi:clocks/monotonic-clock@0.2.0#now'`.
    pub shown: Vec<String>,
    /// How many there are.
    pub count: usize,
}

/// All imports that are not types.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// The first of them.
    pub all: Vec<Import>,
    /// There are more.
    pub error: Option<String>,
}

/// The place of an item: the names of the instances that it is in, and its own.
#[derive(Clone, Copy)]
pub(crate) struct Path<'p> {
    above: Option<&'p Path<'p>>,
    name: &'p str,
}

// === impl Import ===

impl Import {
    /// Adds an item of this kind. Only the first are kept, because a million of them may be in an instance with a name
    /// of 100 kB.
    pub(crate) fn add(&mut self, kind: &str, path: &Path<'_>) {
        self.count += 1;
        if self.shown.len() < MAX_LISTED_NAMES {
            let space = if kind.is_empty() { "" } else { " " };
            self.shown.push(format!("{kind}{space}'{}'", cut(&path.to_string())));
        }
    }
}

// === impl Imports ===

impl Imports {
    /// Adds what is imported under this name; `collect` adds its items.
    pub(crate) fn add(&mut self, interface: &str, collect: impl FnOnce(&Path<'_>, &mut Import)) {
        if self.all.len() >= MAX_IMPORTS {
            self.error = Some(format!("has more than {MAX_IMPORTS} imports"));
            return;
        }
        let mut import = Import {
            interface: interface.into(),
            shown: Vec::new(),
            count: 0,
        };
        let path = Path {
            above: None,
            name: interface,
        };
        collect(&path, &mut import);
        if import.count > 0 {
            self.all.push(import);
        }
    }
}

// === impl Path ===

impl<'p> Path<'p> {
    /// The place of an item in the instance at this place.
    pub(crate) fn below(&'p self, name: &'p str) -> Self {
        Self {
            above: Some(self),
            name,
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.above {
            Some(above) => write!(f, "{above}#{}", self.name),
            None => f.write_str(self.name),
        }
    }
}

/// The first of `count` names.
pub(crate) fn list<T: AsRef<str>>(names: &[T], count: usize) -> String {
    if names.is_empty() {
        return "nothing".to_string();
    }
    let shown: Vec<&str> = names.iter().take(MAX_LISTED_NAMES).map(AsRef::as_ref).collect();
    match count.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The beginning of a name.
pub(crate) fn cut(name: &str) -> String {
    error::cut(name.to_string(), MAX_NAME_BYTES, "...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_an_instance_with_a_long_name_take_no_memory() {
        let (name, mut imports) = ("a".repeat(100_000), Imports::default());
        imports.add(&name, |path, found| {
            (0..100_000).for_each(|_| found.add("function", &path.below("f")));
        });
        let [import] = &imports.all[..] else { unreachable!() };
        assert_eq!((import.count, import.shown.len()), (100_000, MAX_LISTED_NAMES));
        let listed = list(&import.shown, import.count);
        assert!(
            listed.len() < 2000 && listed.ends_with("...' and 99992 more"),
            "{listed}"
        );
    }

    #[test]
    fn the_number_of_imports_is_bounded() {
        let mut imports = Imports::default();
        for nth in 0..3000 {
            imports.add(&nth.to_string(), |path, found| found.add("function", path));
        }
        assert_eq!(imports.all.len(), MAX_IMPORTS);
        assert_eq!(imports.error.as_deref(), Some("has more than 1000 imports"));
    }
}
