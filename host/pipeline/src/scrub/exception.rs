//! What a template's exception may quote: the words of Ruby and BOSH, of the job's own files (which declare the names
//! of properties), of the public documents, and the data of its instance. Everything else may be a property's value, or
//! be computed from one.

use super::words::{holds, is_inner, words};
use super::{Filter, REPLACEMENT};
use crate::release::Job;
use boson_document::Tree;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::LazyLock;

/// One per line: words of the exceptions of Ruby's core and libraries, of BOSH, and of the render plugin.
static OUR_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("wording.txt").lines().collect());

/// More digits in a row may be a secret; ports, sizes and counts have fewer.
const MAX_SHOWN_DIGITS: usize = 5;

/// Separators that do not end a row of numbers: `[115, 51]` and `{0 => 115, 1 => 51}` have the bytes of a text. Line
/// numbers have another one.
const ROW_SEPARATORS: &str = ",;()[]{}\"'=>+";

/// Member of a context, and of its links and their instances, that holds the user's values.
const PROPERTIES_KEY: &str = "properties";

/// Separators of the parts that are checked separately; a secret that contains one is checked in parts.
const SEPARATORS: &str = "=,;()[]{}<>|\"'`\\";

/// Filters the exceptions of a job's templates.
pub struct Exception<'a> {
    job: &'a Job,
    context: &'a Tree,
    filter: Filter<'a>,
    words: OnceCell<HashSet<&'a str>>,
}

// === impl Exception ===

impl<'a> Exception<'a> {
    /// A filter for this job's templates, evaluated with this context.
    pub fn of(job: &'a Job, context: &'a Tree, filter: Filter<'a>) -> Self {
        Self {
            job,
            context,
            filter,
            words: OnceCell::new(),
        }
    }

    /// The message with everything else redacted. Known secrets are redacted first, while they are whole: a word of one
    /// may be a public word.
    pub fn clean(&self, message: &str) -> String {
        let message = self.filter.secrets.scrub_text(message, self.filter.sources);
        let mut out = String::with_capacity(message.len());
        let mut rest = message.as_str();
        while !rest.is_empty() {
            let end = separator(rest);
            if end > 0 {
                out.push_str(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            let row = row_of_numbers(rest);
            if !row.is_empty() {
                let shown = self.texts().any(|text| holds(text, row));
                out.push_str(if shown { row } else { REPLACEMENT });
                rest = &rest[row.len()..];
                continue;
            }
            let segment = rest.find(is_separator).map_or(rest, |at| &rest[..at]);
            self.add(&mut out, segment);
            rest = &rest[segment.len()..];
        }
        out
    }

    fn add(&self, out: &mut String, segment: &str) {
        let core = segment.trim_matches(|c| !is_inner(c));
        if core.is_empty() || self.shows(core) {
            out.push_str(segment);
            return;
        }
        let (before, after) = segment.split_once(core).unwrap_or_default();
        // Mostly words of one value.
        if out.trim_end().ends_with(REPLACEMENT) && before.is_empty() {
            out.truncate(out.trim_end().len());
        } else {
            out.push_str(before);
            out.push_str(REPLACEMENT);
        }
        out.push_str(after);
    }

    fn shows(&self, segment: &str) -> bool {
        if OUR_WORDS.contains(segment) {
            return true;
        }
        let digits = segment.bytes().filter(u8::is_ascii_digit).count();
        let is_number = segment.bytes().all(|byte| !byte.is_ascii_alphabetic());
        if is_number && digits > MAX_SHOWN_DIGITS {
            return self.texts().any(|text| holds(text, segment));
        }
        words(segment).all(|word| self.shows_word(word)) || self.texts().any(|text| holds(text, segment))
    }

    fn shows_word(&self, word: &str) -> bool {
        let is_short_number = word.len() <= MAX_SHOWN_DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
        is_short_number || is_our_word(word) || self.words().contains(word)
    }

    fn words(&self) -> &HashSet<&'a str> {
        self.words.get_or_init(|| self.texts().flat_map(words).collect())
    }

    fn texts(&self) -> impl Iterator<Item = &'a str> {
        let mut known = Vec::new();
        names(self.context, &mut known);
        let (job, sources) = (self.job, self.filter.sources);
        let files = job
            .templates
            .iter()
            .flat_map(|file| [&*file.source, &*file.destination, &*file.text]);
        files
            .chain(job.monit.as_deref())
            .chain([&*job.name, &*job.spec.text])
            .chain(sources.documents())
            .chain(known)
    }
}

/// Whether it is a word of Ruby, of BOSH, or of our own messages.
pub(super) fn is_our_word(word: &str) -> bool {
    let is_capitalized = || word.len() > 1 && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
    OUR_WORDS.contains(word) || (is_capitalized() && OUR_WORDS.contains(word.to_ascii_lowercase().as_str()))
}

/// Names and texts outside of properties.
fn names<'t>(tree: &'t Tree, found: &mut Vec<&'t str>) {
    match tree {
        Tree::String(text) => found.push(text),
        Tree::Array(items) => items.iter().for_each(|item| names(item, found)),
        Tree::Object(map) => {
            for (name, value) in map.iter().filter(|(name, _)| *name != PROPERTIES_KEY) {
                found.push(name);
                names(value, found);
            }
        }
        _ => {}
    }
}

/// Numbers at the start of the text with nothing but separators between them, if together they have more digits than a
/// single number may have.
fn row_of_numbers(text: &str) -> &str {
    let is_within = |c: char| c.is_whitespace() || ROW_SEPARATORS.contains(c);
    let (mut end, mut digits, mut rest) = (0, 0, text);
    loop {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest = &rest[number..];
        if number == 0 || number > MAX_SHOWN_DIGITS || rest.starts_with(is_inner) {
            break;
        }
        digits += number;
        end = text.len() - rest.len();
        rest = rest.trim_start_matches(is_within);
        // A dash between digits is a part of a date.
        rest = rest.strip_prefix("- ").unwrap_or(rest).trim_start_matches(is_within);
    }
    if digits > MAX_SHOWN_DIGITS { &text[..end] } else { "" }
}

/// Length of the white space, separator, or escape like `\n` at the start of the text, in bytes.
fn separator(text: &str) -> usize {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), Some('a' | 'b' | 'e' | 'f' | 'n' | 'r' | 't' | 'v')) => 2,
        (Some(c), _) if is_separator(c) => c.len_utf8(),
        _ => 0,
    }
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || SEPARATORS.contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::TemplateFile;
    use crate::report::Sources;
    use crate::scrub::Secrets;
    use crate::yaml;
    use boson_document::json;

    const TEMPLATE: &str = "<% raise \"bad url #{p('db.url')} in #{spec.name}\" unless p('mode') =~ /^(fast|slow)$/ %>";
    const CONTEXT: &str = r#"{"name": "broker", "address": "10.244.0.12", "properties":
        {"db": {"url": "pg://u:hunter2-dragon@db"}, "tls": {"ca_cert": "x"}},
        "links": {"nats": {"address": "nats.svc", "properties": {"nats": {"password": "sesame-street"}}}}}"#;

    fn cleaned(message: &str) -> String {
        let job = Job {
            name: "app".into(),
            spec: yaml::read(
                "spec",
                "name: app\nproperties: {mode: {default: fast}, tls.ca_cert: {}}",
            )
            .unwrap(),
            templates: vec![TemplateFile {
                source: "app.conf.erb".into(),
                destination: "config/app.conf".into(),
                text: TEMPLATE.into(),
                document_name: "x".into(),
                executable: false,
            }],
            monit: None,
            monit_document: "app/monit".into(),
            properties_schema: None,
        };
        let context = json::parse(CONTEXT).unwrap();
        let mut sources = Sources::default();
        sources.add_document(
            yaml::read("m.yml", "web: {mode: sluggish, ports: [8080, 4222]}").unwrap(),
            false,
        );
        let filter = Filter {
            secrets: &Secrets::of(&json::parse(r#"{"pw":"expected value of mine"}"#).unwrap()),
            sources: &sources,
        };
        Exception::of(&job, &context, filter).clean(message)
    }

    #[test]
    fn words_of_ruby_of_the_template_and_of_documents_stay() {
        for message in [
            "Can't find property '[\"db.url\"]'",
            "Can't find link 'nats'",
            "bad url in broker",
            "undefined method 'p' for nil",
            "undefined method 'split' for an instance of Integer",
            "undefined local variable or method 'mode' for an instance of Bosh::Common::Template::EvaluationContext",
            "no implicit conversion of String into Integer",
            "wrong number of arguments (given 1, expected 2)",
            "invalid value for Integer(): \"sluggish\"",
            "key not found: \"ca_cert\"",
            "divided by 0",
            "comparison of 8080 with 65535 failed",
            "not [8080, 4222]",
            "10.244.0.12 is not nats.svc",
            "app/app.conf.erb:4: syntax errors found\n  > 4 | ; _erbout\n    |   ^ expected an `end` to close the conditional clause",
            "unexpected token at '' (JSON::ParserError)",
            "stack level too deep",
        ] {
            assert_eq!(cleaned(message), message);
        }
    }

    #[test]
    fn everything_else_is_redacted() {
        for (message, wanted) in [
            (
                "bad url pg://u:hunter2-dragon@db in broker",
                "bad url <redacted> in broker",
            ),
            ("unexpected token at 'hunter2-dr'", "unexpected token at '<redacted>'"),
            (
                "invalid value for Integer(): \"P@ssw0rd\\#$tr0ng\"",
                "invalid value for Integer(): \"<redacted>\\#$<redacted>\"",
            ),
            (
                "key not found: \"correct horse battery\"",
                "key not found: \"<redacted>\"",
            ),
            ("number 123456 is too big", "number <redacted> is too big"),
            ("mode=5ebe2294ecd0e0f08eab7690d2a6ee69", "mode=<redacted>"),
            ("nogard-2retnuh", "<redacted>"),
            ("SESAME-STREET", "<redacted>"),
            ("[104, 117, 110]", "[<redacted>]"),
            ("104 117\n110.", "<redacted>."),
            ("{0 => 115, 1 => 51, 2 => 99}", "{<redacted>}"),
            ("104 - 117 - 110", "<redacted>"),
            ("[\"104\", \"117\"] of 80", "[\"<redacted>\"] of 80"),
            ("key not found: \"password\"", "key not found: \"<redacted>\""),
            ("not the expected value of mine", "not the <redacted>"),
        ] {
            assert_eq!(cleaned(message), wanted, "{message}");
        }
    }
}
