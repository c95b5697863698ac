//! Finds the programs that a shell script calls, well enough for the scripts of this repository.

use std::collections::BTreeSet;

/// Programs and functions that a script calls, and the functions that it defines.
#[derive(Debug, Default)]
pub struct Calls {
    pub called: BTreeSet<String>,
    pub defined: BTreeSet<String>,
}

/// Keywords before a command.
const KEYWORDS: [&str; 11] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "exec",
];

/// Programs and functions that run the command after their options.
const RUNNERS: [&str; 6] = ["as_root", "command", "env", "nice", "sudo", "timeout"];

/// What bash does itself.
const BUILT_IN: [&str; 40] = [
    ":", "[", "[[", "break", "case", "cd", "command", "compgen", "continue", "declare", "done", "echo", "esac", "eval",
    "exit", "export", "false", "fi", "for", "function", "hash", "kill", "local", "printf", "pwd", "read", "return",
    "set", "shift", "source", "test", "times", "trap", "true", "type", "ulimit", "umask", "unset", "wait", "}",
];

/// The calls in a script.
pub fn calls(script: &str) -> Calls {
    let mut reader = Reader {
        text: script.chars().collect(),
        at: 0,
        calls: Calls::default(),
    };
    reader.script(None);
    reader.calls
}

/// The recipes of a makefile as a script, and the scripts of `$(shell ..)`.
pub fn recipes(makefile: &str) -> String {
    let mut script = String::new();
    for line in makefile.lines() {
        for asked in line.split("$(shell ").skip(1) {
            script.push_str(asked.split_once(')').map_or(asked, |(inner, _)| inner));
            script.push('\n');
        }
        if let Some(recipe) = line.strip_prefix('\t') {
            // Variables of make become words that are no commands; `$$` is the shell's `$`.
            let recipe = recipe
                .replace("$(MAKE)", "make")
                .replace("$(", "$${")
                .replace("$$", "$");
            script.push_str(&recipe);
            script.push('\n');
        }
    }
    script
}

struct Reader {
    text: Vec<char>,
    at: usize,
    calls: Calls,
}

// === impl Reader ===

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn follows(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(nth, c)| self.text.get(self.at + nth) == Some(&c))
    }

    fn skip_past(&mut self, end: &str) {
        while self.at < self.text.len() && !self.follows(end) {
            self.at += 1;
        }
        self.at += end.len();
    }

    /// Reads commands up to this character, or the end.
    fn script(&mut self, end: Option<char>) {
        // Whether a command follows, a pattern of `case`, or the `in` before the first pattern; and how many `case` are
        // open.
        let (mut command, mut patterns, mut is_case, mut cases) = (true, false, false, 0_usize);
        while let Some(c) = self.peek() {
            if Some(c) == end && !patterns {
                self.at += 1;
                return;
            }
            match c {
                '#' => self.skip_past("\n"),
                _ if self.follows("((") => self.skip_past("))"),
                '\\' => self.at += 2,
                ' ' | '\t' => self.at += 1,
                ';' if self.follows(";;") => {
                    self.at += 2;
                    (patterns, command) = (cases > 0, true);
                }
                ')' if patterns => {
                    self.at += 1;
                    patterns = false;
                }
                '\n' | ';' | '|' | '&' | '(' | ')' => {
                    self.at += 1;
                    command = c != ')';
                    continue;
                }
                '<' | '>' => self.redirection(),
                _ => {
                    let word = self.word();
                    if patterns && word == "esac" {
                        (patterns, command, cases) = (false, false, cases - 1);
                    } else if is_case && word == "in" {
                        (patterns, is_case) = (true, false);
                    } else if command && !patterns {
                        (is_case, cases) = (word == "case", cases + usize::from(word == "case"));
                        cases -= usize::from(word == "esac");
                        command = self.is_followed_by_command(&word);
                    } else if word.ends_with('=') && self.follows("(") {
                        self.arguments();
                    }
                }
            }
            if c == '#' {
                command = true;
            }
        }
    }

    /// A redirection, and the file that it names.
    fn redirection(&mut self) {
        while matches!(self.peek(), Some('<' | '>' | '&')) {
            self.at += 1;
        }
        if self.peek() == Some('(') {
            self.at += 1;
            self.script(Some(')'));
        } else {
            while self.peek() == Some(' ') {
                self.at += 1;
            }
            self.word();
        }
    }

    /// Notes the first word of a command. Whether a command follows, as after `if` or an assignment.
    fn is_followed_by_command(&mut self, word: &str) -> bool {
        if self.follows("()") {
            self.at += 2;
            self.calls.defined.insert(word.to_string());
            return true;
        }
        if word.ends_with('=') && self.follows("(") {
            self.arguments();
            return true;
        }
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        if KEYWORDS.contains(&word) || word.contains('=') || word.starts_with('-') || is_number {
            return true;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if !BUILT_IN.contains(&word) && !word.is_empty() && word.chars().all(is_name) {
            self.calls.called.insert(word.to_string());
        }
        RUNNERS.contains(&word)
    }

    /// The elements of an array.
    fn arguments(&mut self) {
        self.at += 1;
        while let Some(c) = self.peek() {
            match c {
                ')' => {
                    self.at += 1;
                    return;
                }
                c if c.is_whitespace() => self.at += 1,
                _ => drop(self.word()),
            }
        }
    }

    /// A word: what is quoted or expanded in it becomes `$`, and commands inside are read.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            match c {
                '\'' => {
                    self.at += 1;
                    self.skip_past("'");
                    word.push('$');
                }
                '"' => {
                    self.at += 1;
                    self.quoted();
                    word.push('$');
                }
                '$' | '`' => {
                    self.expansion();
                    word.push('$');
                }
                '\\' => self.at += 2,
                c if c.is_whitespace() || "|&;()<>".contains(c) => break,
                c => {
                    self.at += 1;
                    word.push(c);
                }
            }
        }
        if word.is_empty() {
            self.at += 1;
        }
        word
    }

    /// The rest of a string in double quotes.
    fn quoted(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => self.at += 2,
                '$' => self.expansion(),
                _ => self.at += 1,
            }
        }
    }

    /// `$(command)`, `$((number))`, `${variable}` or `$variable`.
    fn expansion(&mut self) {
        self.at += 1;
        if self.follows("((") {
            self.skip_past("))");
        } else if self.follows("(") {
            self.at += 1;
            self.script(Some(')'));
        } else if self.follows("{") {
            while !matches!(self.peek(), None | Some('}')) {
                self.at += 1;
            }
            self.at += 1;
        }
    }
}
