//! Points at which a test ends the process, as a crash would. This program has none.

pub fn point() {}
