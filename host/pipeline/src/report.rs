//! Diagnostics as text: file, line, column, excerpt.
