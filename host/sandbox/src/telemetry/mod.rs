//! What calls show besides their replies: what they print, what they use, and the functions that run.

pub(crate) mod console;
pub(crate) mod frames;
pub(crate) mod meter;
pub(crate) mod profiler;
