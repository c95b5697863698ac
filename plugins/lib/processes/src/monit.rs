//! `monit` files: the processes of a job that does not run by BPM, as a document of the shape that bpm.yml has.
//!
//! Understood are the words that the monit files of BOSH releases use: `check process` with `pidfile`, `start program`,
//! `stop program`, their `as uid .. and gid ..` and `timeout`, `group`, `depends on`. Rules (`if .. then ..`), `mode`
//! and `every` have no effect, and are reported.

mod words;

use crate::{Findings, Kind};
use boson_document::{Place, Tree};
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::vec::IntoIter;
use words::{Word, words};

/// Key of a document that was made from a monit file; BPM knows no such key.
pub const MARK: &str = "monit";

/// Most processes of one file: as many containers as a pod can sensibly have.
const MAX_PROCESSES: usize = 64;
/// Seconds that monit gives a program.
pub(crate) const PROGRAM_TIMEOUT_SECONDS: u64 = 30;

/// The processes of a rendered monit file. `document`: its name.
pub fn document(text: &str, document: &str, findings: &mut Findings) -> Tree {
    let mut reader = Reader {
        words: words(text).into_iter().peekable(),
        place: Place::new(document, ""),
        findings,
    };
    let mut processes = Vec::new();
    while let Some(check) = reader.next_check() {
        match check.kind.as_str() {
            "process" if processes.len() < MAX_PROCESSES => processes.push(check),
            "process" => reader.report_error(&format!("More than {MAX_PROCESSES} processes")),
            kind => reader.ignored(&format!("'check {kind} {}'", check.name)),
        }
    }
    for check in circular(&processes) {
        reader.report_error(&format!("'depends on' of '{check}' leads back to '{check}'"));
    }
    let trees: Vec<Tree> = processes
        .into_iter()
        .filter_map(|check| reader.process(check))
        .collect();
    Tree::object().with(MARK, true).with("processes", trees)
}

/// The names of the checks that depend on themselves, through others or at once: they would wait for each other
/// forever.
fn circular(checks: &[Check]) -> Vec<String> {
    let is_circular = |check: &&Check| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&String> = dependencies(checks, &check.name).collect();
        while let Some(name) = open.pop() {
            if reached.insert(name) {
                open.extend(dependencies(checks, name));
            }
        }
        reached.contains(&check.name)
    };
    checks
        .iter()
        .filter(is_circular)
        .map(|check| check.name.clone())
        .collect()
}

fn dependencies<'c>(checks: &'c [Check], name: &'c str) -> impl Iterator<Item = &'c String> {
    let named = checks.iter().filter(move |check| check.name == name);
    named.flat_map(|check| &check.depends)
}

/// A `check` statement and what follows it.
#[derive(Debug, Default)]
struct Check {
    kind: String,
    name: String,
    pidfile: Option<String>,
    start: Option<Program>,
    stop: Option<Program>,
    depends: Vec<String>,
}

/// A program that monit starts.
#[derive(Debug, Default)]
struct Program {
    words: Vec<String>,
    uid: Option<String>,
    gid: Option<String>,
    timeout: u64,
}

struct Reader<'r> {
    words: Peekable<IntoIter<Word>>,
    place: Place,
    findings: &'r mut Findings,
}

// === impl Reader ===

impl Reader<'_> {
    fn report_error(&mut self, text: &str) {
        let place = self.place.clone();
        self.findings.add(Kind::Monit, &place, text);
    }

    fn ignored(&mut self, what: &str) {
        let place = self.place.clone();
        let message = format!("{what} of a monit file has no effect");
        self.findings.add(Kind::MonitIgnored, &place, message);
    }

    /// The next word, if it is this one, which is not quoted.
    fn takes(&mut self, word: &str) -> bool {
        self.words.next_if(|next| next.is(word)).is_some()
    }

    fn text(&mut self) -> String {
        self.words.next().map(|word| word.text).unwrap_or_default()
    }

    fn next_check(&mut self) -> Option<Check> {
        loop {
            let word = self.words.next()?;
            if word.is("check") {
                break;
            }
            if word.is("set") || word.is("include") {
                let what = self.words.peek().map(|next| next.text.clone()).unwrap_or_default();
                self.ignored(&format!("'{} {what}'", word.text));
            }
        }
        let mut check = Check {
            kind: self.text().to_ascii_lowercase(),
            name: self.text(),
            ..Check::default()
        };
        while let Some(next) = self.words.peek() {
            if next.is("check") {
                break;
            }
            self.statement(&mut check);
        }
        Some(check)
    }

    fn statement(&mut self, check: &mut Check) {
        let Some(word) = self.words.next() else { return };
        match word.text.to_ascii_lowercase().as_str() {
            _ if word.quoted => {}
            "pidfile" => check.pidfile = Some(self.text()),
            "start" => check.start = self.program(),
            "stop" => check.stop = self.program(),
            "group" => drop(self.text()),
            "depends" => self.depends(check),
            "if" => self.rule(check),
            "mode" | "every" | "onreboot" => {
                let value = self.text();
                self.ignored(&format!("'{} {value}' of '{}'", word.text, check.name));
            }
            // `with`, `path`, `address` and words of rules that end in other ways than those known.
            _ => {}
        }
    }

    /// `[program] [=] "..." [as uid U [and gid G]] [with timeout N seconds]`.
    fn program(&mut self) -> Option<Program> {
        self.takes("program");
        let text = self.words.next()?.text;
        let mut program = Program {
            words: arguments(&text),
            timeout: PROGRAM_TIMEOUT_SECONDS,
            ..Program::default()
        };
        loop {
            if self.takes("uid") {
                program.uid = Some(self.text());
            } else if self.takes("gid") {
                program.gid = Some(self.text());
            } else if self.takes("timeout") {
                program.timeout = self.text().parse().unwrap_or(PROGRAM_TIMEOUT_SECONDS);
                let _ = self.takes("seconds") || self.takes("second");
            } else if !(self.takes("as") || self.takes("and") || self.takes("with") || self.takes("using")) {
                return Some(program);
            }
        }
    }

    fn depends(&mut self, check: &mut Check) {
        self.takes("on");
        let mut names = vec![self.text()];
        // The comma stands at the end of a name, or alone.
        while names.last().is_some_and(|name| name.ends_with(','))
            || self.words.peek().is_some_and(|next| next.text.starts_with(','))
        {
            names.push(self.text());
        }
        let names = names.iter().flat_map(|names| names.split(','));
        check
            .depends
            .extend(names.filter(|name| !name.is_empty()).map(String::from));
    }

    /// `if <condition> then <action> [else [if <condition> then] <action>]`; an action is a word, or `exec` and a
    /// program.
    fn rule(&mut self, check: &Check) {
        let (mut about, mut first) = (Vec::new(), true);
        loop {
            while let Some(word) = self.words.next_if(|next| !next.is("check")) {
                if word.is("then") {
                    break;
                }
                if first {
                    about.push(word.text);
                }
            }
            first = false;
            self.action();
            if !self.takes("else") {
                break;
            }
            if !self.takes("if") {
                self.action();
                break;
            }
        }
        about.truncate(4);
        self.ignored(&format!("The rule 'if {} ..' of '{}'", about.join(" "), check.name));
    }

    fn action(&mut self) {
        if self.takes("exec") {
            self.program();
        } else if self.words.peek().is_some_and(|next| !next.is("check")) {
            self.words.next();
        }
    }

    fn process(&mut self, check: Check) -> Option<Tree> {
        let name = check.name;
        let (Some(pidfile), Some(start)) = (check.pidfile, check.start.filter(|start| !start.words.is_empty())) else {
            self.report_error(&format!("'check process {name}' has no pidfile, or no start program"));
            return None;
        };
        let stop = check.stop.unwrap_or_else(|| Program {
            timeout: PROGRAM_TIMEOUT_SECONDS,
            ..Program::default()
        });
        let monit = Tree::object()
            .with("start", start.words.clone())
            .with("stop", stop.words)
            .with("pidfile", pidfile)
            .with("start_timeout", start.timeout)
            .with("stop_timeout", stop.timeout)
            .with("depends", check.depends)
            .with("uid", start.uid)
            .with("gid", start.gid);
        let (program, arguments) = start.words.split_first()?;
        Some(
            Tree::object()
                .with("name", name)
                .with("executable", program.as_str())
                .with("args", arguments.to_vec())
                .with(MARK, monit),
        )
    }
}

/// A command line, split at blanks but not within quotes.
fn arguments(text: &str) -> Vec<String> {
    words::split(text, false).into_iter().map(|word| word.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn read(text: &str) -> (String, Vec<String>) {
        let mut findings = Findings::default();
        let tree = document(text, "monit", &mut findings);
        let found = findings.0.into_iter().map(|one| one.message).collect();
        (json::to_text(&Tree::from(tree.items("processes").to_vec())), found)
    }

    #[test]
    fn a_process_is_read_with_its_programs() {
        let text = r#"
            # a comment "with quotes
            check process zookeeper
              with pidfile /var/vcap/sys/run/zookeeper/pid
              start program "/var/vcap/jobs/zookeeper/bin/ctl start 'a b'" as uid vcap and gid vcap
                with timeout 120 seconds
              stop program = '/var/vcap/jobs/zookeeper/bin/ctl stop'
              group vcap
        "#;
        let expected = r#"[{"name":"zookeeper","executable":"/var/vcap/jobs/zookeeper/bin/ctl","args":["start","a b"],"monit":{"start":["/var/vcap/jobs/zookeeper/bin/ctl","start","a b"],"stop":["/var/vcap/jobs/zookeeper/bin/ctl","stop"],"pidfile":"/var/vcap/sys/run/zookeeper/pid","start_timeout":120,"stop_timeout":30,"depends":[],"uid":"vcap","gid":"vcap"}}]"#;
        assert_eq!(read(text), (expected.to_string(), vec![]));
    }

    #[test]
    fn several_checks_and_rules_in_any_order() {
        let text = r#"check process a group vcap start program "/a start" stop program "/a stop" pidfile "/run/a.pid"
            if totalmem > 500 Mb for 10 cycles then alert
            if failed unixsocket /x then exec "/bin/sh -c 'x'" else if succeeded then alert
            if 5 restarts within 10 cycles then exec "/y"
            depends on b, c
            check file f with path /f start program "/f"
            check process b with pidfile /run/b.pid start program "/b start""#;
        let (trees, found) = read(text);
        let names: Vec<String> = json::parse(&trees)
            .unwrap()
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                format!(
                    "{} {} {}",
                    one.str("name").unwrap(),
                    one.get("monit").unwrap().str("pidfile").unwrap(),
                    json::to_text(one.get("monit").unwrap().get("depends").unwrap())
                )
            })
            .collect();
        assert_eq!(names, [r#"a /run/a.pid ["b","c"]"#, "b /run/b.pid []"]);
        assert_eq!(
            found,
            [
                "The rule 'if totalmem > 500 Mb ..' of 'a' of a monit file has no effect",
                "The rule 'if failed unixsocket /x ..' of 'a' of a monit file has no effect",
                "The rule 'if 5 restarts within 10 ..' of 'a' of a monit file has no effect",
                "'check file f' of a monit file has no effect",
            ]
        );
    }

    #[test]
    fn processes_that_wait_for_each_other_are_wrong() {
        let check = |name: &str, depends: &str| {
            format!("check process {name} with pidfile /{name} start program \"/{name}\" depends on {depends}\n")
        };
        let circle = check("a", "b,c") + &check("b", "x") + &check("c", "a") + &check("d", "a");
        assert_eq!(
            read(&circle).1,
            [
                "'depends on' of 'a' leads back to 'a'",
                "'depends on' of 'c' leads back to 'c'"
            ]
        );
    }

    #[test]
    fn what_cannot_be_run_is_wrong_and_nothing_is_nothing() {
        assert_eq!(read("").0, "[]");
        assert_eq!(read("# check process a").0, "[]");
        assert_eq!(
            read("check process a start program \"/a\"").1,
            ["'check process a' has no pidfile, or no start program"]
        );
        // Parsing ends for any text.
        for text in [
            "check",
            "check process",
            "if",
            "check process a if",
            "check process a start",
            "check process a depends on b,",
            "\"",
            "check process a if x then exec",
        ] {
            read(text);
        }
    }
}
