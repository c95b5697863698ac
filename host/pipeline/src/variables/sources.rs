//! Sources of given values, and their precedence: environment, then files of variables, then files as values, then
//! flags; within one kind, the later one wins.

use super::flags;
use super::names;
use super::table::Table;
use crate::diagnostic::Diagnostic;
use crate::yaml::Document;
use boson_document::{Map, Tree};

/// Given values in their original form; files are already read.
#[derive(Clone, Debug, Default)]
pub struct Sources<'a> {
    /// `--vars-env`: each prefix.
    pub prefixes: Vec<&'a str>,
    /// All environment variables, name and value.
    pub environment: Vec<(&'a str, &'a str)>,
    /// `-l`: each file, with its path as name.
    pub files: Vec<&'a Document>,
    /// `--var-file`: each name, path and content.
    pub contents: Vec<(&'a str, &'a str, &'a [u8])>,
    /// `-v`: each argument.
    pub flags: Vec<&'a str>,
}

// === impl Sources ===

impl Sources<'_> {
    /// All values, in one table.
    ///
    /// # Errors
    /// All errors in any of them.
    pub fn table(&self) -> Result<Table, Vec<Diagnostic>> {
        let (mut flat, mut errors) = (Map::new(), Vec::new());
        self.take_environment(&mut flat, &mut errors);
        for file in &self.files {
            match names::members(file, &format!("Deserializing variables file '{}'", file.name)) {
                Ok(members) => flat.extend(members),
                Err(error) => errors.push(error),
            }
        }
        for (name, path, content) in &self.contents {
            match std::str::from_utf8(content) {
                Ok(text) => drop(flat.insert(name.to_string(), Tree::from(text))),
                Err(_) => errors.push(flags::binary_variable(path)),
            }
        }
        for argument in &self.flags {
            match flags::variable(argument) {
                Ok((name, value)) => drop(flat.insert(name, value)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Table::fold(flat)
        } else {
            Err(errors)
        }
    }

    fn take_environment(&self, flat: &mut Map, errors: &mut Vec<Diagnostic>) {
        for prefix in &self.prefixes {
            if prefix.is_empty() {
                errors.push(flags::empty_prefix());
                continue;
            }
            for (name, value) in &self.environment {
                let Some(variable) = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')) else {
                    continue;
                };
                match flags::environment(name, value) {
                    Ok(value) => drop(flat.insert(variable.to_string(), value)),
                    Err(error) => errors.push(error),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use boson_document::json;

    #[test]
    fn sources_have_a_precedence_and_the_later_one_wins_within_a_kind() {
        let (one, two) = (
            yaml::read("1.yml", "x: file1\ny: 1\nz: 1").unwrap(),
            yaml::read("2.yml", "x: file2").unwrap(),
        );
        let environment = vec![
            ("PFX_x", "env"),
            ("PFX_e", "[1]"),
            ("PFXx", "no"),
            ("QQ_e", "true"),
            ("PFX_", "void"),
        ];
        let mut sources = Sources {
            prefixes: vec!["PFX", "QQ"],
            environment,
            ..Sources::default()
        };
        let value = |sources: &Sources<'_>, name: &str| sources.table().unwrap().get(name).map(json::to_text);
        assert_eq!(value(&sources, "x").unwrap(), r#""env""#);
        assert_eq!(value(&sources, "e").unwrap(), "true");
        assert_eq!(value(&sources, "").unwrap(), r#""void""#);
        sources.files = vec![&one, &two];
        assert_eq!(value(&sources, "x").unwrap(), r#""file2""#);
        assert_eq!(value(&sources, "y").unwrap(), "1");
        sources.contents = vec![("x", "a", b"first"), ("x", "b", b"1\n")];
        assert_eq!(
            value(&sources, "x").unwrap(),
            r#""1\n""#,
            "never YAML, the line break stays"
        );
        sources.flags = vec!["x=1", "x=2"];
        assert_eq!(value(&sources, "x").unwrap(), "2");
        assert_eq!(value(&sources, "nope"), None);
    }

    #[test]
    fn all_errors_are_reported() {
        let file = yaml::read("t.txt", "text").unwrap();
        let sources = Sources {
            prefixes: vec!["", "P"],
            environment: vec![("P_x", "{bad")],
            files: vec![&file],
            contents: vec![("x", "blob", &[0xff])],
            flags: vec!["x"],
        };
        let messages: Vec<_> = sources.table().unwrap_err().into_iter().map(|d| d.message).collect();
        assert_eq!(messages.len(), 5);
        assert_eq!(messages[0], "Expected environment variable prefix to be non-empty");
        assert!(
            messages[1].starts_with("Deserializing YAML from environment variable 'P_x': yaml: line 1: "),
            "{}",
            messages[1]
        );
        assert!(messages[2].starts_with("Deserializing variables file 't.txt': yaml: unmarshal errors: "));
        assert_eq!(messages[3], "Reading variable from file 'blob': the file is not UTF-8");
        assert_eq!(messages[4], "Expected var 'x' to be in format 'name=value'");
    }
}
