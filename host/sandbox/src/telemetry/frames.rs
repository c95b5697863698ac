//! Names of functions in reports of traps, as an author wrote them.

use wasmtime::{FrameInfo, WasmBacktrace};

/// Frames that are shown.
const MAX_SHOWN_FRAMES: usize = 8;
/// Frames that are read: those of a runtime come first.
const MAX_READ_FRAMES: usize = 64;
/// Characters of a name.
const MAX_NAME_CHARS: usize = 120;

/// How the names of functions begin that a runtime has between the mistake and the trap.
const RUNTIME_PREFIXES: [&str; 17] = [
    // Rust
    "__rust",
    "alloc::alloc::handle_alloc_error",
    "alloc::raw_vec::",
    "core::cell::panic_",
    "core::option::expect_failed",
    "core::option::unwrap_failed",
    "core::panicking::",
    "core::result::unwrap_failed",
    "core::slice::index::",
    "core::str::slice_error_fail",
    "rust_begin_unwind",
    "rust_panic",
    "std::alloc::",
    "std::panicking::",
    "std::sys::",
    // Go
    "runtime.",
    // WASI inside the component
    "wasi_snapshot_preview1.",
];

/// Such functions of C.
const C_RUNTIME_FUNCTIONS: [&str; 2] = ["__assert_fail", "abort"];

/// Names of the functions that were active at a trap, innermost first, from the first that is not of a runtime. Data of
/// the plugin: bounded and cleaned of control characters.
pub(crate) fn functions(error: &wasmtime::Error) -> Vec<String> {
    let trace = error.downcast_ref::<WasmBacktrace>();
    trace.map(|trace| without_runtime(names(trace))).unwrap_or_default()
}

/// Names of all functions in a stack, innermost first.
pub(crate) fn names(stack: &WasmBacktrace) -> Vec<String> {
    stack.frames().iter().take(MAX_READ_FRAMES).map(name).collect()
}

/// All names, for those that the plugin itself marks.
pub(crate) fn is_active(error: &wasmtime::Error, is_wanted: impl Fn(&str) -> bool) -> bool {
    let trace = error.downcast_ref::<WasmBacktrace>();
    let mut frames = trace.iter().flat_map(|trace| trace.frames()).take(MAX_READ_FRAMES);
    frames.any(|frame| frame.func_name().is_some_and(&is_wanted))
}

fn name(frame: &FrameInfo) -> String {
    match frame.func_name() {
        Some(name) => demangled(name),
        None => format!("function {}", frame.func_index()),
    }
}

/// Without the hash that compilers of Rust add.
fn demangled(name: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(name));
    name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect()
}

fn without_runtime(mut names: Vec<String>) -> Vec<String> {
    let is_of_runtime = |name: &String| {
        C_RUNTIME_FUNCTIONS.contains(&name.as_str()) || RUNTIME_PREFIXES.iter().any(|begin| name.starts_with(begin))
    };
    let first = names.iter().position(|name| !is_of_runtime(name)).unwrap_or(0);
    names.drain(..first);
    names.truncate(MAX_SHOWN_FRAMES);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_begin_where_the_author_can_do_something() {
        let shown_of = |names: &[&str]| without_runtime(names.iter().map(|name| demangled(name)).collect());
        let rust = [
            "__rustc[5224e6b81cd82a8f]::rust_panic",
            "_ZN4core9panicking9panic_fmt17h0123456789abcdefE",
            "_ZN4core6option13unwrap_failed17h0123456789abcdefE",
            "_ZN9my_labels4edit17h0123456789abcdefE",
            "boson:resources/transformation@1.0.0#transform",
        ];
        assert_eq!(
            shown_of(&rust),
            ["my_labels::edit", "boson:resources/transformation@1.0.0#transform"]
        );
        assert_eq!(
            shown_of(&[
                "wasi_snapshot_preview1.proc_exit",
                "runtime.exit",
                "runtime.gopanic",
                "main.annotate"
            ]),
            ["main.annotate"]
        );
        assert_eq!(shown_of(&["runtime.throw"]), ["runtime.throw"], "nothing else is known");
        assert_eq!(shown_of(&["a\u{1b}[1m"; 20]).len(), MAX_SHOWN_FRAMES);
    }
}
