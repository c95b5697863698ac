//! What each function of WASI 0.2 and 0.3 answers to a component: the same as preview 1 answers to a module.

use crate::console;
use crate::wasi::{CLOCK_NANOSECONDS, CLOCK_RESOLUTION_NANOSECONDS, RANDOM_BYTE};

/// Bytes that a stream accepts at once.
const STREAM_ROOM_BYTES: i64 = 1 << 20;
/// Eight of the fixed bytes.
const RANDOM_NUMBER: i64 = 0x2a2a_2a2a_2a2a_2a2a;
const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// What a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// An empty list, none, success without a value, or nothing.
    Empty,
    Number(i64),
    True,
    /// A record of seconds and nanoseconds.
    Time {
        seconds: i64,
        nanoseconds: i32,
    },
    /// A new resource of the type that the function returns.
    Resource,
    /// The same, in an `option`: a standard stream is a terminal.
    SomeResource,
    /// How many bytes a stream accepts.
    Room(i64),
    /// Prints the bytes in the last parameter.
    Print,
    /// The first of the pollables is ready.
    First,
    Seed(i64),
    /// A list of this byte while the component starts; afterwards it traps.
    RandomBytes(i32),
    /// This number while the component starts; afterwards it traps.
    RandomNumber(i64),
    Trap,
}

/// The answer of a function by its names in WIT. `interface` has a version, which makes no difference: a function whose
/// type is another one in that version traps.
pub(crate) fn answer(interface: &str, function: &str) -> Answer {
    if console::is_print(interface, function) {
        return Answer::Print;
    }
    let Some((package, interface)) = interface.split_once('/') else {
        return Answer::Trap;
    };
    let interface = interface.split_once('@').map_or(interface, |(name, _)| name);
    match package {
        "wasi:cli" => of_cli(interface),
        "wasi:clocks" => of_clocks(interface, function),
        "wasi:filesystem" if function == "get-directories" => Answer::Empty,
        "wasi:io" => of_io(function),
        "wasi:random" => of_random(function),
        _ => Answer::Trap,
    }
}

fn of_cli(interface: &str) -> Answer {
    match interface {
        "environment" => Answer::Empty,
        "stdin" | "stdout" | "stderr" => Answer::Resource,
        "terminal-stdin" | "terminal-stdout" | "terminal-stderr" => Answer::SomeResource,
        _ => Answer::Trap,
    }
}

fn of_clocks(interface: &str, function: &str) -> Answer {
    match (interface, function) {
        ("monotonic-clock", "now") => Answer::Number(CLOCK_NANOSECONDS),
        ("wall-clock" | "system-clock", "now") => Answer::Time {
            seconds: CLOCK_NANOSECONDS / NANOSECONDS_PER_SECOND,
            nanoseconds: 0,
        },
        ("wall-clock", "resolution") => Answer::Time {
            seconds: 0,
            nanoseconds: 1,
        },
        (_, "resolution" | "get-resolution") => Answer::Number(CLOCK_RESOLUTION_NANOSECONDS),
        // Sleeping takes no time.
        (_, "subscribe-instant" | "subscribe-duration") => Answer::Resource,
        _ => Answer::Trap,
    }
}

fn of_io(function: &str) -> Answer {
    match function {
        "poll" => Answer::First,
        "[method]pollable.ready" => Answer::True,
        "[method]pollable.block" | "[method]output-stream.flush" | "[method]output-stream.blocking-flush" => {
            Answer::Empty
        }
        "[method]output-stream.check-write" => Answer::Room(STREAM_ROOM_BYTES),
        "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush" => Answer::Print,
        "[method]output-stream.subscribe" => Answer::Resource,
        _ => Answer::Trap,
    }
}

fn of_random(function: &str) -> Answer {
    match function {
        // For hash maps only: Rust takes it when the first one is made, also after the start.
        "insecure-seed" | "get-insecure-seed" => Answer::Seed(RANDOM_NUMBER),
        "get-random-bytes" | "get-insecure-random-bytes" => Answer::RandomBytes(RANDOM_BYTE),
        "get-random-u64" | "get-insecure-random-u64" => Answer::RandomNumber(RANDOM_NUMBER),
        _ => Answer::Trap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_makes_no_difference_and_what_is_unknown_traps() {
        for version in ["0.2.0", "0.2.6", "0.3.0"] {
            let answer = |interface: &str, function: &str| answer(&format!("{interface}@{version}"), function);
            assert_eq!(answer("wasi:cli/environment", "get-environment"), Answer::Empty);
            assert_eq!(answer("wasi:filesystem/preopens", "get-directories"), Answer::Empty);
            assert_eq!(
                answer("wasi:clocks/monotonic-clock", "now"),
                Answer::Number(CLOCK_NANOSECONDS)
            );
            for (interface, function) in [
                ("wasi:cli/exit", "exit"),
                ("wasi:filesystem/types", "[method]descriptor.open-at"),
                ("wasi:io/streams", "[method]input-stream.read"),
                ("wasi:sockets/tcp-create-socket", "create-tcp-socket"),
                ("wasi:http/outgoing-handler", "handle"),
                ("wasi:random/random", "new-function"),
                ("example:cli/environment", "get-environment"),
            ] {
                assert_eq!(answer(interface, function), Answer::Trap, "{interface}#{function}");
            }
        }
        assert_eq!(answer("wasi:cli", "get-environment"), Answer::Trap);
    }
}
