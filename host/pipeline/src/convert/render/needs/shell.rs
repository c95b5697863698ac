//! The commands of a shell script, without running it: words and the files that output is redirected to. Comments,
//! bodies of here documents and the inside of quoted strings are no commands.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// Line of its first word, from 1.
    pub line: u32,
    /// Without quotes. A word that the shell computes contains `$`.
    pub words: Vec<String>,
    /// Files that its output is redirected to.
    pub writes: Vec<String>,
}

/// The commands of a script, in the order in which they end.
///
/// # Guarantees
/// Linear in the length of the text, also for a text that is no script.
pub(super) fn commands(text: &str) -> Commands<'_> {
    Commands {
        rest: text.chars().peekable(),
        line: 1,
        command: Command::default(),
        outer: Vec::new(),
        here_documents: Vec::new(),
    }
}

pub(super) struct Commands<'t> {
    rest: Peekable<Chars<'t>>,
    line: u32,
    /// The command that is read.
    command: Command,
    /// The commands around it, which continue after it.
    outer: Vec<(Opened, Command)>,
    /// The here documents that begin on the next line.
    here_documents: Vec<HereDocument>,
}

/// What a command within a command begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    /// `(`, `$(`, `<(` or `>(`
    Parenthesis,
    Backquote,
    /// `name=(`: a list of words, not a command.
    Array,
}

struct HereDocument {
    end: String,
    /// `<<-`: the end may be indented by tabs.
    is_indented: bool,
}

// === impl Command ===

impl Command {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.writes.is_empty()
    }
}

// === impl Commands ===

impl Iterator for Commands<'_> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        loop {
            self.skip_blanks();
            let Some(&next) = self.rest.peek() else {
                return self.last();
            };
            let ended = match next {
                '#' => {
                    self.skip_line();
                    None
                }
                '(' => self.open(),
                ')' | '`' => self.close(next),
                '\n' | ';' | '|' => self.separate(),
                '&' => self.ampersand(),
                '<' | '>' => {
                    self.redirect();
                    None
                }
                _ => {
                    self.add_word();
                    None
                }
            };
            if let Some(command) = ended.filter(|command| !command.is_empty()) {
                return Some(command);
            }
        }
    }
}

impl Commands<'_> {
    fn bump(&mut self) -> Option<char> {
        let next = self.rest.next();
        if next == Some('\n') {
            self.line += 1;
        }
        next
    }

    fn next_is(&mut self, expected: char) -> bool {
        self.rest.peek() == Some(&expected)
    }

    fn take(&mut self, expected: char) -> bool {
        let is_next = self.next_is(expected);
        if is_next {
            self.bump();
        }
        is_next
    }

    /// Skips blanks, and line breaks behind a backslash.
    fn skip_blanks(&mut self) {
        loop {
            match self.rest.peek() {
                Some(' ' | '\t' | '\r') => {
                    self.bump();
                }
                Some('\\') => {
                    let mut ahead = self.rest.clone();
                    ahead.next();
                    if ahead.next() != Some('\n') {
                        return;
                    }
                    self.bump();
                    self.bump();
                }
                _ => return,
            }
        }
    }

    /// The next of the commands that the end of the text ends.
    fn last(&mut self) -> Option<Command> {
        while self.command.is_empty() {
            (_, self.command) = self.outer.pop()?;
        }
        Some(std::mem::take(&mut self.command))
    }

    fn skip_line(&mut self) {
        while self.rest.peek().is_some_and(|next| *next != '\n') {
            self.bump();
        }
    }

    /// Ends the command. The words of an array are no command.
    fn end(&mut self) -> Option<Command> {
        let command = std::mem::take(&mut self.command);
        let is_array = matches!(self.outer.last(), Some((Opened::Array, _)));
        (!is_array).then_some(command)
    }

    fn separate(&mut self) -> Option<Command> {
        let is_line_break = self.bump() == Some('\n');
        let ended = self.end();
        if is_line_break {
            self.skip_here_documents();
        }
        ended
    }

    /// `&`, `&&`, or `&>` with its file.
    fn ampersand(&mut self) -> Option<Command> {
        self.bump();
        if self.next_is('>') {
            self.redirect();
            return None;
        }
        self.end()
    }

    fn open(&mut self) -> Option<Command> {
        self.bump();
        if self.take('(') {
            self.skip_arithmetic();
            return None;
        }
        // The name of a function.
        if self.take(')') {
            return self.end();
        }
        let is_array = self.command.words.last().is_some_and(|word| word.ends_with('='));
        let opened = if is_array { Opened::Array } else { Opened::Parenthesis };
        self.outer.push((opened, std::mem::take(&mut self.command)));
        None
    }

    fn close(&mut self, by: char) -> Option<Command> {
        self.bump();
        let innermost = self.outer.last().map(|(opened, _)| *opened);
        let fits = match innermost {
            Some(Opened::Backquote) => by == '`',
            Some(Opened::Parenthesis | Opened::Array) => by == ')',
            None => false,
        };
        if by == '`' && !fits {
            self.outer.push((Opened::Backquote, std::mem::take(&mut self.command)));
            return None;
        }
        let ended = self.end();
        // Without an opening parenthesis, it ends a pattern of `case`.
        if fits && let Some((_, outer)) = self.outer.pop() {
            self.command = outer;
            // `$(a)/b` is one word, whose beginning is not known.
            let rest = self.word();
            if let Some(last) = self.command.words.last_mut().filter(|word| word.ends_with('$')) {
                last.push_str(&rest);
            }
        }
        ended
    }

    /// Skips to `))`. A shift is no here document.
    fn skip_arithmetic(&mut self) {
        while let Some(next) = self.rest.peek() {
            if *next == '\n' {
                return;
            }
            if self.bump() == Some(')') && self.take(')') {
                return;
            }
        }
    }

    fn redirect(&mut self) {
        let is_input = self.bump() == Some('<');
        if is_input && self.take('<') {
            let is_document = !self.take('<');
            let is_indented = is_document && self.take('-');
            self.skip_blanks();
            let end = self.word();
            if is_document {
                self.here_documents.push(HereDocument { end, is_indented });
            }
            return;
        }
        let is_descriptor = self.take('&');
        let _appends = self.take('>') || self.take('|');
        // A command whose input or output is the file: `>(tee log)`.
        if self.next_is('(') {
            return;
        }
        self.skip_blanks();
        let line = self.line;
        let file = self.word();
        let is_number = is_descriptor && file.chars().all(|c| c.is_ascii_digit() || c == '-');
        if !is_input && !file.is_empty() && !is_number {
            self.begin(line);
            self.command.writes.push(file);
        }
    }

    fn begin(&mut self, line: u32) {
        if self.command.is_empty() {
            self.command.line = line;
        }
    }

    fn add_word(&mut self) {
        let line = self.line;
        let word = self.word();
        // The number of the descriptor that is redirected.
        let is_redirected = matches!(self.rest.peek(), Some('<' | '>'));
        if is_redirected && word.chars().all(|c| c.is_ascii_digit()) {
            return;
        }
        self.begin(line);
        self.command.words.push(word);
    }

    /// Reads a word up to a blank or a sign that ends it, without quotes.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(&next) = self.rest.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' | '`' => break,
                '\\' => {
                    self.bump();
                    word.extend(self.bump().filter(|escaped| *escaped != '\n'));
                }
                '\'' => {
                    self.bump();
                    word.extend(std::iter::from_fn(|| self.bump().filter(|c| *c != '\'')));
                }
                '"' => {
                    self.bump();
                    self.quoted(&mut word);
                }
                '$' => {
                    self.bump();
                    word.push('$');
                    if self.next_is('\'') {
                        self.bump();
                        self.escaped(&mut word);
                    } else if self.next_is('(') {
                        break;
                    }
                }
                _ => word.extend(self.bump()),
            }
        }
        word
    }

    /// Reads the rest of `$'..'`.
    fn escaped(&mut self, word: &mut String) {
        while let Some(next) = self.bump().filter(|next| *next != '\'') {
            word.push(next);
            if next == '\\' {
                word.extend(self.bump());
            }
        }
    }

    /// Reads the rest of `".."`. Of commands in it, only `$` becomes part of the word.
    fn quoted(&mut self, word: &mut String) {
        // What is open: quotes, and parentheses of commands, which may contain quotes again.
        let mut open = vec!['"'];
        while let Some(&innermost) = open.last() {
            let is_text = open.len() == 1;
            let Some(next) = self.bump() else { return };
            match (innermost, next) {
                ('"', '"') | ('(', ')') => {
                    open.pop();
                }
                (_, '\\') => {
                    let escaped = self.bump();
                    word.extend(escaped.filter(|_| is_text));
                }
                ('"', '$') => {
                    word.extend(is_text.then_some('$'));
                    if self.take('(') {
                        open.push('(');
                    }
                }
                ('(', '"' | '(') => open.push(next),
                ('(', '\'') => while self.bump().is_some_and(|c| c != '\'') {},
                _ => word.extend(is_text.then_some(next)),
            }
        }
    }

    fn skip_here_documents(&mut self) {
        for document in std::mem::take(&mut self.here_documents) {
            loop {
                let line: String = std::iter::from_fn(|| self.rest.next_if(|c| *c != '\n')).collect();
                let is_last = self.bump().is_none();
                let text = if document.is_indented {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if is_last || text.trim_end_matches('\r') == document.end {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands as text: words, and redirected files with `>` before them.
    fn shown(text: &str) -> Vec<String> {
        let shown = |command: Command| {
            let files = command.writes.iter().map(|file| format!(">{file}"));
            let words: Vec<String> = command.words.iter().cloned().chain(files).collect();
            format!("{}: {}", command.line, words.join(" "))
        };
        commands(text).map(shown).collect()
    }

    #[test]
    fn commands_end_at_signs_and_lines() {
        for (text, expected) in [
            (
                "a b; c && d || e | f & g",
                &["1: a b", "1: c", "1: d", "1: e", "1: f", "1: g"][..],
            ),
            ("a \\\n  b\nc", &["1: a b", "3: c"]),
            ("# a\n  # b\nc # d\ne#f", &["3: c", "4: e#f"]),
            ("(a; b) 2> /dev/null", &["1: a", "1: b", "1: >/dev/null"]),
            ("a) b;; c|d) e;;", &["1: a", "1: b", "1: c", "1: d", "1: e"]),
            ("f() {\n  a\n}", &["1: f", "1: {", "2: a", "3: }"]),
            ("a", &["1: a"]),
            ("", &[]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn quotes_join_words() {
        for (text, expected) in [
            (r#"a "b; c" 'd | e' f\ g"#, &["1: a b; c d | e f g"][..]),
            (r#"a "b 'c" d"#, &["1: a b 'c d"]),
            (r#"a "b \" c" d"#, &[r#"1: a b " c d"#]),
            ("a 'b\nc'\nd", &["1: a b\nc", "3: d"]),
            (r#"a "$(b "c; d" | e)" f"#, &["1: a $ f"]),
            (r"a $'it\'s' b", &[r"1: a $it\'s b"]),
            (r#"a "b"#, &["1: a b"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn commands_within_commands_end_first() {
        for (text, expected) in [
            ("a $(b c)/d e", &["1: b c", "1: a $/d e"][..]),
            ("a `b c` d", &["1: b c", "1: a d"]),
            ("exec > >(tee -a /l) 2>&1", &["1: tee -a /l", "1: exec"]),
            ("a <(b)", &["1: b", "1: a"]),
            ("x=(a b\nc) d", &["1: x= d"]),
            ("a $(b", &["1: b", "1: a $"]),
            ("a )) b", &["1: a", "1: b"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn output_is_redirected_to_files() {
        for (text, expected) in [
            ("a > /b", &["1: a >/b"][..]),
            ("a 2>>/b >|/c &>/d", &["1: a >/b >/c >/d"]),
            ("a 2>&1 >&- < /b", &["1: a"]),
            (">/b a", &["1: a >/b"]),
            ("a > \"/b c\"", &["1: a >/b c"]),
            ("a <<< \"b; c\" > /d", &["1: a >/d"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn here_documents_are_no_commands() {
        for (text, expected) in [
            ("cat > /a <<EOF\nb\nEOF\nc", &["1: cat >/a", "4: c"][..]),
            ("cat <<-'E F'\n\tb\n\tE F\nc", &["1: cat", "4: c"]),
            ("cat <<A <<B | d\na\nA\nb\nB\nc", &["1: cat", "1: d", "6: c"]),
            ("cat <<EOF\nb", &["1: cat"]),
            ("x=$((1 << 2))\nb", &["1: x=$", "2: b"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
