//! What each function of WASI preview 1 answers inside a component: the same on every machine, and nothing about it.

use crate::Error;
use walrus::ValType::{self, I32, I64};
use walrus::ir::{BinaryOp, ExtendedLoad, LoadKind, MemArg, StoreKind};
use walrus::{FunctionId, GlobalId, InstrSeqBuilder, LocalId, MemoryId};

/// Module of the imports.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";

/// The function that writes output.
pub(crate) const WRITE: &str = "fd_write";

const ERRNO_SUCCESS: i32 = 0;
/// `EBADF`: there is no such descriptor.
const ERRNO_BADF: i32 = 8;
/// `ENOSYS`: there is no such function.
const ERRNO_NOSYS: i32 = 52;
/// 2000-01-01T00:00:00Z, in nanoseconds.
pub(crate) const CLOCK_NANOSECONDS: i64 = 946_684_800_000_000_000;
/// In nanoseconds.
pub(crate) const CLOCK_RESOLUTION_NANOSECONDS: i64 = 1;
/// `filetype` of a terminal, so that no runtime expects a file behind its standard streams.
const CHARACTER_DEVICE_FILETYPE: i64 = 2;
/// `fd_read` and `fd_write`. With the right to seek, it would not be a terminal for libc.
const STREAM_RIGHTS: i64 = 1 << 1 | 1 << 6;
/// What `random_get` fills buffers with.
pub(crate) const RANDOM_BYTE: i32 = 0x2a;
/// Size of an `iovec`: address and length.
const IOVEC_BYTES: i32 = 8;

/// What the answers share.
pub(crate) struct State {
    pub(crate) memory: MemoryId,
    /// 1 after the module has started.
    pub(crate) started: GlobalId,
    /// Prints bytes; `None` if output is dropped.
    pub(crate) print: Option<FunctionId>,
}

/// Variables of a loop.
pub(crate) struct Scratch {
    pub(crate) index: LocalId,
    pub(crate) total: LocalId,
}

/// What a function does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Returns this number and writes nothing.
    Errno(i32),
    /// `args_sizes_get`, `environ_sizes_get`: no strings, which take no bytes.
    NoStrings,
    /// The clocks: writes this number to the address in the last argument.
    Time(i64),
    /// `random_get`: a fixed byte until the module has started, then an error.
    Fill,
    /// `fd_write`: prints what is written to standard output and standard error, or drops it.
    Write,
    /// `poll_oneoff`: the first subscription is ready at once, a clock without an error. So sleeping takes no time; Go
    /// sleeps before it prints the text of a panic.
    Poll,
    /// `fd_fdstat_get`: the standard streams are terminals.
    Status,
    /// `proc_exit`: traps.
    Exit,
    Nothing,
}

/// What the function with this name and signature does.
pub(crate) fn answer(name: &str, params: &[ValType], results: &[ValType]) -> Result<Answer, Error> {
    let (expected, answer): (&[ValType], Answer) = match name {
        // Not of WASI but of its adapter: Go stops the clock while it allocates. Ours never moves.
        "adapter_monotonic_clock_set_paused" => (&[I32], Answer::Nothing),
        "args_get" | "environ_get" => (&[I32, I32], Answer::Errno(ERRNO_SUCCESS)),
        "args_sizes_get" | "environ_sizes_get" => (&[I32, I32], Answer::NoStrings),
        "clock_res_get" => (&[I32, I32], Answer::Time(CLOCK_RESOLUTION_NANOSECONDS)),
        "clock_time_get" => (&[I32, I64, I32], Answer::Time(CLOCK_NANOSECONDS)),
        "fd_fdstat_get" => (&[I32, I32], Answer::Status),
        WRITE => (&[I32, I32, I32, I32], Answer::Write),
        "poll_oneoff" => (&[I32, I32, I32, I32], Answer::Poll),
        "proc_exit" => (&[I32], Answer::Exit),
        "proc_raise" => (&[I32], Answer::Errno(ERRNO_NOSYS)),
        "random_get" => (&[I32, I32], Answer::Fill),
        "sched_yield" => (&[], Answer::Errno(ERRNO_SUCCESS)),
        // They use none of their arguments.
        _ if ["fd_", "path_", "sock_"].iter().any(|prefix| name.starts_with(prefix)) => {
            (params, Answer::Errno(ERRNO_BADF))
        }
        _ => {
            return Err(Error::Import {
                interface: MODULE.into(),
                name: name.into(),
            });
        }
    };
    let returned: &[ValType] = match answer {
        Answer::Exit | Answer::Nothing => &[],
        _ => &[I32],
    };
    if (params, results) != (expected, returned) {
        return Err(Error::Signature(name.into()));
    }
    Ok(answer)
}

// === impl Answer ===

impl Answer {
    /// Writes the function. [`answer`] has checked the number and the types of its arguments.
    pub(crate) fn write(self, body: &mut InstrSeqBuilder<'_>, args: &[LocalId], state: &State, scratch: &Scratch) {
        match (self, args) {
            (Self::Errno(number), _) => {
                body.i32_const(number);
            }
            (Self::NoStrings, [count, size]) => {
                store_i32(body, state, *count, 0, 0);
                store_i32(body, state, *size, 0, 0);
                body.i32_const(ERRNO_SUCCESS);
            }
            (Self::Time(time), [.., result]) => {
                store_i64(body, state, *result, 0, time);
                body.i32_const(ERRNO_SUCCESS);
            }
            (Self::Fill, [buffer, length]) => fill(body, state, *buffer, *length),
            (Self::Write, [descriptor, vectors, count, result]) => {
                refuse_unless(body, |body| {
                    // 1 and 2
                    body.local_get(*descriptor).i32_const(1).binop(BinaryOp::I32Sub);
                    body.i32_const(2).binop(BinaryOp::I32LtU);
                });
                sum(body, state, scratch, *vectors, *count);
                body.local_get(*result).local_get(scratch.total);
                body.store(state.memory, StoreKind::I32 { atomic: false }, at(4, 0));
                body.i32_const(ERRNO_SUCCESS);
            }
            (Self::Poll, [subscriptions, events, _, count]) => {
                poll(body, state, *subscriptions, *events);
                store_i32(body, state, *count, 0, 1);
                body.i32_const(ERRNO_SUCCESS);
            }
            (Self::Status, [descriptor, status]) => write_status(body, state, *descriptor, *status),
            (Self::Nothing, _) => {}
            // `Exit`: `answer` has excluded other numbers of arguments.
            _ => {
                body.unreachable();
            }
        }
    }
}

/// Returns an error if `condition` leaves 0 on the stack.
fn refuse_unless(body: &mut InstrSeqBuilder<'_>, condition: impl FnOnce(&mut InstrSeqBuilder<'_>)) {
    condition(body);
    let refuse = |body: &mut InstrSeqBuilder<'_>| {
        body.i32_const(ERRNO_BADF).return_();
    };
    body.if_else(None, |_| {}, refuse);
}

/// Writes the `event` of a `subscription`: its user data, an error unless it is of a clock, and its type.
fn poll(body: &mut InstrSeqBuilder<'_>, state: &State, subscription: LocalId, event: LocalId) {
    let kind = |body: &mut InstrSeqBuilder<'_>| {
        let byte = LoadKind::I32_8 {
            kind: ExtendedLoad::ZeroExtend,
        };
        body.local_get(subscription).load(state.memory, byte, at(1, 8));
    };
    body.local_get(event).local_get(subscription);
    body.load(state.memory, LoadKind::I64 { atomic: false }, at(8, 0));
    body.store(state.memory, StoreKind::I64 { atomic: false }, at(8, 0));
    body.local_get(event).i32_const(ERRNO_BADF).i32_const(ERRNO_SUCCESS);
    kind(body);
    body.select(None);
    body.store(state.memory, StoreKind::I32_16 { atomic: false }, at(2, 8));
    body.local_get(event);
    kind(body);
    body.store(state.memory, StoreKind::I32_8 { atomic: false }, at(1, 10));
}

fn fill(body: &mut InstrSeqBuilder<'_>, state: &State, buffer: LocalId, length: LocalId) {
    body.global_get(state.started).if_else(
        I32,
        |then| {
            then.i32_const(ERRNO_NOSYS);
        },
        |otherwise| {
            otherwise.local_get(buffer).i32_const(RANDOM_BYTE).local_get(length);
            otherwise.memory_fill(state.memory).i32_const(ERRNO_SUCCESS);
        },
    );
}

/// Writes an `fdstat`: type and flags, rights, rights of descriptors that derive from it.
fn write_status(body: &mut InstrSeqBuilder<'_>, state: &State, descriptor: LocalId, status: LocalId) {
    refuse_unless(body, |body| {
        body.local_get(descriptor).i32_const(3).binop(BinaryOp::I32LtU);
    });
    store_i64(body, state, status, 0, CHARACTER_DEVICE_FILETYPE);
    store_i64(body, state, status, 8, STREAM_RIGHTS);
    store_i64(body, state, status, 16, 0);
    body.i32_const(ERRNO_SUCCESS);
}

/// Adds up the lengths of `count` vectors in `scratch.total`, and prints the bytes of each.
fn sum(body: &mut InstrSeqBuilder<'_>, state: &State, scratch: &Scratch, vectors: LocalId, count: LocalId) {
    let (index, total) = (scratch.index, scratch.total);
    body.block(None, |done| {
        let done_id = done.id();
        done.loop_(None, |again| {
            let again_id = again.id();
            again
                .local_get(index)
                .local_get(count)
                .binop(BinaryOp::I32GeU)
                .br_if(done_id);
            if let Some(print) = state.print {
                for offset in [0, 4] {
                    again.local_get(vectors);
                    again.load(state.memory, LoadKind::I32 { atomic: false }, at(4, offset));
                }
                again.call(print);
            }
            again.local_get(total).local_get(vectors);
            again.load(state.memory, LoadKind::I32 { atomic: false }, at(4, 4));
            again.binop(BinaryOp::I32Add).local_set(total);
            add(again, vectors, IOVEC_BYTES);
            add(again, index, 1);
            again.br(again_id);
        });
    });
}

fn add(body: &mut InstrSeqBuilder<'_>, local: LocalId, number: i32) {
    body.local_get(local)
        .i32_const(number)
        .binop(BinaryOp::I32Add)
        .local_set(local);
}

fn store_i32(body: &mut InstrSeqBuilder<'_>, state: &State, address: LocalId, offset: u64, value: i32) {
    body.local_get(address).i32_const(value);
    body.store(state.memory, StoreKind::I32 { atomic: false }, at(4, offset));
}

fn store_i64(body: &mut InstrSeqBuilder<'_>, state: &State, address: LocalId, offset: u64, value: i64) {
    body.local_get(address).i64_const(value);
    body.store(state.memory, StoreKind::I64 { atomic: false }, at(8, offset));
}

const fn at(align: u32, offset: u64) -> MemArg {
    MemArg { align, offset }
}
