//! The packages that a director compiles for the jobs of a release, and their order.

use super::Package;
use super::folder::texts;
use crate::codes;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::Release;
use std::collections::BTreeMap;

/// The packages that jobs need, with all their dependencies, each after its dependencies. A release without jobs needs
/// all packages.
///
/// # Errors
/// A dependency does not exist, or packages depend on each other in a circle.
pub fn needed(all: Vec<Package>, release: &Release) -> Result<Vec<Package>, Diagnostic> {
    let by_name: BTreeMap<String, Package> = all.into_iter().map(|one| (one.name.clone(), one)).collect();
    let mut roots: Vec<String> = release
        .jobs
        .iter()
        .flat_map(|job| texts(&job.spec.tree, "packages"))
        .collect();
    if release.jobs.is_empty() {
        roots = by_name.keys().cloned().collect();
    }
    roots.sort();
    let mut order = Order {
        by_name: &by_name,
        source: &release.source,
        states: BTreeMap::new(),
        sorted: Vec::new(),
    };
    // Errors in packages that no job needs are errors for a director, too.
    for name in by_name.keys() {
        order.visit(name)?;
    }
    order.states.clear();
    order.sorted.clear();
    for root in &roots {
        order.visit(root)?;
    }
    Ok(order.sorted)
}

struct Order<'o> {
    by_name: &'o BTreeMap<String, Package>,
    source: &'o str,
    /// Packages on the current path (`false`), or finished (`true`).
    states: BTreeMap<&'o str, bool>,
    sorted: Vec<Package>,
}

// === impl Order ===

impl<'o> Order<'o> {
    /// Adds a package after its dependencies. The path is on the heap: a release may have a chain of any length.
    fn visit(&mut self, name: &str) -> Result<(), Diagnostic> {
        let Some(root) = self.by_name.get(name) else {
            return Ok(());
        };
        let mut path: Vec<(&'o Package, usize)> = Vec::new();
        if !self.states.contains_key(name) {
            self.begin(root, &mut path);
        }
        while let Some((package, next)) = path.pop() {
            let Some(dependency) = package.dependencies.get(next) else {
                self.states.insert(&package.name, true);
                self.sorted.push(package.clone());
                continue;
            };
            path.push((package, next + 1));
            let found = self
                .by_name
                .get(dependency)
                .ok_or_else(|| self.missing_dependency(package, dependency))?;
            match self.states.get(found.name.as_str()) {
                Some(true) => {}
                Some(false) => return Err(self.cycle_error(&path, found)),
                None => self.begin(found, &mut path),
            }
        }
        Ok(())
    }

    fn begin(&mut self, package: &'o Package, path: &mut Vec<(&'o Package, usize)>) {
        self.states.insert(&package.name, false);
        path.push((package, 0));
    }

    fn missing_dependency(&self, package: &Package, dependency: &str) -> Diagnostic {
        let name = &package.name;
        let message = format!("Expected to find package '{dependency}' since it's a dependency of package '{name}'");
        Diagnostic::error(codes::RELEASE_PACKAGE_SPEC, message).in_document(self.source)
    }

    fn cycle_error(&self, path: &[(&Package, usize)], again: &Package) -> Diagnostic {
        let circle = path.iter().map(|(package, _)| package.name.as_str());
        let mut circle: Vec<&str> = circle.skip_while(|name| *name != again.name).collect();
        circle.push(&again.name);
        let message = format!("packages depend on each other in a circle: {}", circle.join(" -> "));
        Diagnostic::error(codes::RELEASE_PACKAGE_CYCLE, message).in_document(self.source)
    }
}
