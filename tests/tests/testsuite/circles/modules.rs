//! The modules of a crate, and where their imports lead: a name that a module only passes on counts for the module that
//! defines it.

use super::graph::Import;
use super::syntax::{self, Source, Use};
use std::collections::{BTreeMap, BTreeSet};

/// Steps from one `use` to the next: more are a circle of names that Rust would refuse.
const MAX_STEPS: u32 = 16;

/// The modules of a crate, by their names from the root module.
#[derive(Default)]
pub struct Modules(BTreeMap<Vec<String>, Source>);

/// The module that defines a name, and the name; `None` for a module.
type Definition = (Vec<String>, Option<String>);

// === impl Modules ===

impl Modules {
    /// Adds the file of this path below the root module's directory, without `.rs`.
    pub fn add(&mut self, path: &str, text: &str) {
        let mut name: Vec<String> = path.split('/').map(String::from).collect();
        if matches!(path, "lib" | "main") || name.last().is_some_and(|last| last == "mod") {
            name.pop();
        }
        let source = syntax::read(text);
        let all = self.0.entry(name).or_default();
        // A crate may have `lib.rs` and `main.rs`.
        all.uses.extend(source.uses);
        all.paths.extend(source.paths);
        all.items.extend(source.items);
        all.test_modules.extend(source.test_modules);
    }

    /// Imports from one module of the crate to another, without those of tests.
    pub fn imports(&self) -> Vec<Import> {
        let mut imports = BTreeSet::new();
        for (from, source) in self.0.iter().filter(|(name, _)| !self.is_test(name)) {
            let paths = source.uses.iter().map(|one| &one.path).chain(&source.paths);
            for (to, name) in paths.filter_map(|path| self.definition(from, path, MAX_STEPS)) {
                if to != *from {
                    let from = from.clone();
                    imports.insert(Import { from, to, name });
                }
            }
        }
        imports.into_iter().collect()
    }

    fn is_test(&self, name: &[String]) -> bool {
        (0..name.len()).any(|at| {
            let parent = self.0.get(&name[..at]);
            parent.is_some_and(|parent| parent.test_modules.contains(&name[at]))
        })
    }

    /// Where the path of a module leads; `None` if it leads out of the crate.
    fn definition(&self, from: &[String], path: &[String], steps: u32) -> Option<Definition> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(&[], rest, steps),
            "self" => self.below(from, rest, steps),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                self.below(from.get(..from.len().checked_sub(ups)?)?, &path[ups..], steps)
            }
            _ if self.0.contains_key(&child(from, first)) => self.below(from, path, steps),
            _ => {
                let used = used(self.0.get(from)?, first).filter(|one| one.path != path)?;
                self.definition(from, &joined(&used.path, rest), steps)
            }
        }
    }

    /// Where a path leads that begins in this module.
    fn below(&self, module: &[String], path: &[String], steps: u32) -> Option<Definition> {
        let mut module = module.to_vec();
        let mut path = path;
        while let [first, rest @ ..] = path
            && self.0.contains_key(&child(&module, first))
        {
            module.push(first.clone());
            path = rest;
        }
        let source = self.0.get(&module)?;
        let Some((name, rest)) = path.split_first() else {
            return Some((module, None));
        };
        if let Some(used) = used(source, name) {
            return self.definition(&module, &joined(&used.path, rest), steps);
        }
        if !source.items.contains(name) {
            for all in source.uses.iter().filter(|one| one.name.is_none()) {
                let other = self.definition(&module, &all.path, steps);
                let other = other.filter(|(other, _)| *other != module && self.has(other, name));
                if let Some((other, _)) = other {
                    return self.below(&other, path, steps.checked_sub(1)?);
                }
            }
        }
        Some((module, Some(name.clone())))
    }

    fn has(&self, module: &[String], name: &str) -> bool {
        let source = self.0.get(module);
        source.is_some_and(|source| source.items.contains(name) || used(source, name).is_some())
    }
}

/// The `use` that gives a module this name.
fn used<'a>(source: &'a Source, name: &str) -> Option<&'a Use> {
    source.uses.iter().find(|one| one.name.as_deref() == Some(name))
}

fn child(module: &[String], name: &str) -> Vec<String> {
    joined(module, &[name.to_string()])
}

fn joined(first: &[String], second: &[String]) -> Vec<String> {
    [first, second].concat()
}
