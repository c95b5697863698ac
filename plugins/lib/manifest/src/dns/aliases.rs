//! Aliases: domains, each with its targets.

use super::ROOT;
use boson_document::Tree;
use indexmap::IndexMap;
use std::collections::{HashMap, HashSet};

/// Most targets of an alias, after aliases of aliases are expanded.
const MAX_TARGETS: usize = 1_000;
/// Longest name of DNS.
const MAX_NAME_BYTES: usize = 253;

/// Domains in order, each with its targets; all in lower case, without a dot at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases {
    targets: IndexMap<String, Vec<String>>,
}

/// Why aliases of aliases cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AliasError {
    /// They form a cycle, of which this is one.
    Cycle(String),
    /// One alias would have too many targets.
    TooMany(String),
}

// === impl Aliases ===

impl Aliases {
    /// Adds one. Where the domain is known, the first definition wins, as in BOSH.
    pub fn define(&mut self, domain: &str, targets: Vec<String>) -> bool {
        let is_new = self.get(&normal(domain)).is_none();
        if is_new {
            self.extend(domain, &targets);
        }
        is_new
    }

    /// Adds targets to a domain, which is defined where it is not known.
    pub fn extend(&mut self, domain: &str, targets: &[String]) {
        let known = self.targets.entry(normal(domain)).or_default();
        known.extend(targets.iter().map(|target| normal(target)));
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.targets
            .iter()
            .map(|(domain, targets)| (domain.as_str(), targets.as_slice()))
    }

    /// The targets of a domain.
    pub fn get(&self, domain: &str) -> Option<&[String]> {
        self.targets.get(domain).map(Vec::as_slice)
    }

    pub fn len(&self) -> usize {
        self.targets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Expands aliases of aliases. Those whose first label is `_` are left as they are, as in BOSH.
    ///
    /// # Errors
    /// A cycle: BOSH's server does not start with one.
    pub fn flattened(&self) -> Result<Self, AliasError> {
        let mut flat = Self::default();
        let mut known: HashMap<&str, Vec<String>> = HashMap::new();
        for (domain, targets) in self.iter() {
            let targets = if domain.starts_with("_.") {
                targets.to_vec()
            } else {
                self.resolved(domain, &mut known, &mut HashSet::new())?
            };
            flat.targets.insert(domain.to_string(), targets);
        }
        Ok(flat)
    }

    fn resolved<'a>(
        &'a self,
        domain: &'a str,
        known: &mut HashMap<&'a str, Vec<String>>,
        open: &mut HashSet<&'a str>,
    ) -> Result<Vec<String>, AliasError> {
        if let Some(done) = known.get(domain) {
            return Ok(done.clone());
        }
        // The depth of a chain is bounded, and with it that of this recursion.
        if !open.insert(domain) || open.len() > MAX_CHAIN {
            return Err(AliasError::Cycle(domain.to_string()));
        }
        let mut all = Vec::new();
        for target in self.get(domain).unwrap_or_default() {
            match self.targets.get_key_value(target.as_str()) {
                Some((next, _)) => all.extend(self.resolved(next, known, open)?),
                None => all.push(target.clone()),
            }
            if all.len() > MAX_TARGETS {
                return Err(AliasError::TooMany(domain.to_string()));
            }
        }
        open.remove(domain);
        known.insert(domain, all.clone());
        Ok(all)
    }

    /// Those that may resolve to this group, by its label in names.
    pub fn leading_to(&self, group: &str) -> Self {
        let flat = self.flattened().unwrap_or_default();
        let mut found = Self::default();
        for (domain, targets) in flat.iter() {
            let leads = |target: &&String| group_of(target).is_some_and(|pattern| fits(pattern, group));
            // With all targets: whether the alias resolves to one instance only depends on the others, too.
            if targets.iter().any(|target| leads(&target)) {
                found.define(domain, targets.to_vec());
            }
        }
        found
    }

    /// As an object.
    pub fn tree(&self) -> Tree {
        self.iter()
            .map(|(domain, targets)| (domain, targets.to_vec()))
            .collect()
    }
}

/// Longest chain of aliases of aliases.
const MAX_CHAIN: usize = 64;

/// The label of the group in a long name below the root.
fn group_of(target: &str) -> Option<&str> {
    let rest = target.strip_suffix(ROOT)?.strip_suffix('.')?;
    let labels: Vec<&str> = rest.split('.').collect();
    match labels.as_slice() {
        [_, group, _, _] => Some(group),
        _ => None,
    }
}

/// Does a label of a name fit this pattern: `*`, `*suffix`, `prefix*`, or the label itself?
pub fn fits(pattern: &str, label: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(suffix), _) => label.ends_with(suffix),
        (_, Some(prefix)) => label.starts_with(prefix),
        _ => pattern == label,
    }
}

fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Why this cannot be the name of an alias or of a target.
pub fn alias_error(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Some("is empty or longer than 253 characters");
    }
    if !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Some("contains characters that are not allowed in DNS names");
    }
    let label = |label: &str| !label.is_empty() && label.len() <= 63;
    (!name.split('.').all(label)).then_some("has a label that is empty or longer than 63 characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(all: &[(&str, &[&str])]) -> Aliases {
        let mut aliases = Aliases::default();
        for (domain, targets) in all {
            aliases.define(domain, targets.iter().map(ToString::to_string).collect());
        }
        aliases
    }

    #[test]
    fn the_first_definition_wins_and_chains_are_flattened() {
        let all = aliases(&[
            ("Chain.s.", &["web.s", "10.9.9.9"]),
            ("web.s", &["*.WEB.default.demo.bosh"]),
            ("web.s", &["other"]),
            ("_.c.s", &["_.web.default.demo.bosh"]),
        ]);
        let flat = all.flattened().unwrap();
        assert_eq!(flat.get("chain.s").unwrap(), ["*.web.default.demo.bosh", "10.9.9.9"]);
        assert_eq!(flat.get("_.c.s").unwrap(), ["_.web.default.demo.bosh"]);
        assert_eq!(flat.len(), 3);
    }

    #[test]
    fn a_circle_is_an_error_and_so_is_an_explosion() {
        let circle = aliases(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"])]);
        assert!(matches!(circle.flattened(), Err(AliasError::Cycle(_))));
        let mut doubling = aliases(&[("d0", &["q-s0.a.b.c.bosh"])]);
        for level in 1..30 {
            let before = format!("d{}", level - 1);
            doubling.define(&format!("d{level}"), vec![before.clone(), before]);
        }
        assert!(matches!(doubling.flattened(), Err(AliasError::TooMany(_))));
        let mut long = Aliases::default();
        for level in 0..100_000 {
            long.define(&format!("d{level}"), vec![format!("d{}", level + 1)]);
        }
        assert!(matches!(long.flattened(), Err(AliasError::Cycle(_))));
    }

    #[test]
    fn a_group_sees_the_aliases_that_lead_to_it() {
        let all = aliases(&[
            ("web.s", &["*.web-ui.default.demo.bosh"]),
            ("both.s", &["*.web*.default.demo.bosh", "*.cell.default.demo.bosh"]),
            ("db.s", &["*.db.default.demo.bosh"]),
            ("chain.s", &["web.s"]),
            ("ip.s", &["10.0.0.1"]),
        ]);
        let found = all.leading_to("web-ui");
        let domains: Vec<&str> = found.iter().map(|(domain, _)| domain).collect();
        assert_eq!(domains, ["web.s", "both.s", "chain.s"]);
    }

    #[test]
    fn names_that_dns_cannot_have_are_reported() {
        for bad in ["", "a..b", ".a", "a b", "\u{e9}", &"x".repeat(64), &"x.".repeat(200)] {
            assert!(alias_error(bad).is_some(), "{bad}");
        }
        for good in ["a", "_.cell.service.internal", "q-s4.a-b.c.d.bosh.", "*.a.b.c.bosh"] {
            assert_eq!(alias_error(good), None, "{good}");
        }
    }

    #[test]
    fn patterns_have_one_star_at_one_end() {
        for (pattern, label, fit) in [
            ("*", "a", true),
            ("*-b", "a-b", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("a", "a", true),
            ("a*b", "axb", false),
        ] {
            assert_eq!(fits(pattern, label), fit, "{pattern} {label}");
        }
    }
}
