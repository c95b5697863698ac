//! The text that is being written: its current end, and what an indicator or a new line needs there.

pub(super) struct Lines {
    out: String,
    /// Characters since the last line break.
    column: usize,
    /// The last character is white space, or the text is empty.
    white: bool,
    /// Nothing but indentation and `-` on this line yet.
    indention: bool,
}

// === impl Lines ===

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            out: String::new(),
            column: 0,
            white: true,
            indention: true,
        }
    }

    pub(super) fn into_text(self) -> String {
        self.out
    }

    /// Characters since the last line break.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Whether the line has more than indentation and `-`.
    pub(super) fn is_begun(&self) -> bool {
        !self.indention
    }

    /// Called before something other than indentation.
    pub(super) fn end_word(&mut self) {
        (self.white, self.indention) = (false, false);
    }

    /// Appends a text without spaces.
    pub(super) fn word(&mut self, text: &str) {
        self.space();
        self.put(text);
        (self.white, self.indention) = (false, false);
    }

    /// Appends an indicator that needs white space before it. `keeps`: the line counts as empty after it.
    pub(super) fn indicator(&mut self, sign: &str, keeps: bool) {
        self.space();
        self.put(sign);
        self.white = false;
        self.indention = self.indention && keeps;
    }

    pub(super) fn space(&mut self) {
        if !self.white {
            self.push(' ');
        }
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    pub(super) fn push(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    pub(super) fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        (self.white, self.indention) = (true, true);
    }

    /// A new line within a scalar.
    pub(super) fn indent_after_text(&mut self, indent: usize) {
        self.indention = false;
        self.indent(indent);
    }

    /// Moves to this column, on a new line if the current one has content.
    pub(super) fn indent(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.white) {
            self.line_break();
        }
        while self.column < indent {
            self.push(' ');
        }
        (self.white, self.indention) = (true, true);
    }
}
