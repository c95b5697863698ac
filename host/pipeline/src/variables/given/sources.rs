//! Sources of given values, and their precedence: environment, then files of variables, then files as values, then
//! flags; within one kind, the later one wins.

use super::flags;
use super::names;
use super::table::Table;
use crate::diagnostic::{Diagnostic, all};
use crate::yaml::Document;
use boson_document::Map;

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
        let environment = self.prefixes.iter().flat_map(|prefix| self.of_environment(prefix));
        let files = self.files.iter().map(|file| {
            let context = format!("Deserializing variables file '{}'", file.name);
            names::members(file, &context)
        });
        let contents = self.contents.iter().map(|(name, path, content)| {
            let text = std::str::from_utf8(content).map_err(|_| flags::binary_variable(path))?;
            Ok(Map::from([(name.to_string(), text.into())]))
        });
        let arguments = self.flags.iter();
        let arguments = arguments.map(|argument| Ok(Map::from([flags::variable(argument)?])));
        let given = all(environment.chain(files).chain(contents).chain(arguments))?;
        Table::fold(given.into_iter().flatten().collect())
    }

    /// The value of each environment variable with this prefix.
    fn of_environment(&self, prefix: &str) -> Vec<Result<Map, Diagnostic>> {
        if prefix.is_empty() {
            return vec![Err(flags::empty_prefix())];
        }
        let value = |(name, value): &(&str, &str)| {
            let variable = name.strip_prefix(prefix)?.strip_prefix('_')?;
            let value = flags::environment(name, value);
            Some(value.map(|value| Map::from([(variable.to_string(), value)])))
        };
        self.environment.iter().filter_map(value).collect()
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
