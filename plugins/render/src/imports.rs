//! Answers every function that CRuby's module imports, inside the module.
//!
//! Functions that could reveal the machine to a template fail with `EBADF`; the others return the value that Ruby needs
//! to start. Two imports do more: `fd_pread` on descriptor 0 reads the module's own memory, which is how our Ruby code
//! gets the arguments of a call (`memory.rb`), and `random_get` works only until the snapshot is taken.

use anyhow::{Result, anyhow, bail};
use walrus::ir::{BinaryOp, LoadKind, MemArg, StoreKind, UnaryOp};
use walrus::{ConstExpr, FunctionId, GlobalId, ImportKind, InstrSeqBuilder, LocalId, MemoryId, Module, ValType};

const SUCCESS: i32 = 0;
const EBADF: i32 = 8;
/// The fixed time: 2000-01-01T00:00:00Z, in nanoseconds. With a real clock, files would differ every time.
const NOW_NANOSECONDS: i64 = 946_684_800_000_000_000;
/// `__wasi_filetype_t` of a terminal: then Ruby expects no file behind its standard streams.
const CHARACTER_DEVICE: i32 = 2;

/// What the glue shares with the imports.
pub(crate) struct State {
    pub(crate) memory: MemoryId,
    /// 1 after the snapshot: randomness is no longer available.
    pub(crate) sealed: GlobalId,
    /// Address of the arguments of the call under way; 0 before any.
    pub(crate) arguments: GlobalId,
}

/// Replaces all imports.
pub(crate) fn replace_all(module: &mut Module) -> Result<State> {
    let memory = module.get_memory_id()?;
    let mut global = || {
        module
            .globals
            .add_local(ValType::I32, true, false, ConstExpr::Value(walrus::ir::Value::I32(0)))
    };
    let state = State {
        memory,
        sealed: global(),
        arguments: global(),
    };

    let imports: Vec<(String, String, FunctionId)> = module
        .imports
        .iter()
        .map(|import| match import.kind {
            ImportKind::Function(id) => Ok((import.module.clone(), import.name.clone(), id)),
            _ => Err(anyhow!(
                "CRuby imports `{}` `{}`, which is no function",
                import.module,
                import.name
            )),
        })
        .collect::<Result<_>>()?;
    for (interface, name, function) in imports {
        let spare = Spare {
            index: module.locals.add(ValType::I32),
            total: module.locals.add(ValType::I32),
        };
        let mut failure = None;
        module.replace_imported_func(function, |(body, args)| {
            failure = answer(&interface, &name, body, args, &state, &spare).err();
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
    }
    Ok(state)
}

/// Variables for the loop over vectors: while a function is being built none can be added.
struct Spare {
    index: LocalId,
    total: LocalId,
}

fn answer(
    interface: &str,
    name: &str,
    body: &mut InstrSeqBuilder<'_>,
    args: &[LocalId],
    state: &State,
    spare: &Spare,
) -> Result<()> {
    match (interface, name) {
        // There is no JavaScript; nothing of ours asks for it.
        ("rb-js-abi-host", _) => {
            body.unreachable();
        }
        // A handle is the address itself, because there is one caller with one table.
        ("canonical_abi", name) if name.starts_with("resource_drop_") => {}
        ("canonical_abi", _) => {
            body.local_get(args[0]);
        }
        ("wasi_snapshot_preview1", "proc_exit") => {
            body.unreachable();
        }
        ("wasi_snapshot_preview1", name) => wasi(name, body, args, state, spare),
        _ => bail!("CRuby imports `{interface}` `{name}`, which we do not know"),
    }
    Ok(())
}

fn wasi(name: &str, body: &mut InstrSeqBuilder<'_>, args: &[LocalId], state: &State, spare: &Spare) {
    match name {
        // No environment variables: they differ from machine to machine.
        "environ_sizes_get" => {
            store_i32(body, state, args[0], 0, 0);
            store_i32(body, state, args[1], 0, 0);
            body.i32_const(SUCCESS);
        }
        "clock_time_get" => {
            body.local_get(args[2]).i64_const(NOW_NANOSECONDS).store(
                state.memory,
                StoreKind::I64 { atomic: false },
                arg(8, 0),
            );
            body.i32_const(SUCCESS);
        }
        "fd_fdstat_get" => file_status(body, args, state),
        // Output of templates is dropped; failing would break templates that warn.
        "fd_write" => sum_of_vectors(body, args, state, spare, |_| {}),
        "fd_pread" => read_memory(body, args, state, spare),
        "random_get" => random(body, args, state),
        _ => {
            body.i32_const(EBADF);
        }
    }
}

/// `fd_fdstat_get(fd, status)`: every descriptor is a terminal with all rights, without flags.
fn file_status(body: &mut InstrSeqBuilder<'_>, args: &[LocalId], state: &State) {
    store_i32(body, state, args[1], 0, CHARACTER_DEVICE);
    store_i32(body, state, args[1], 4, 0);
    for offset in [8, 16] {
        let all = StoreKind::I64 { atomic: false };
        body.local_get(args[1])
            .i64_const(-1)
            .store(state.memory, all, arg(8, offset));
    }
    body.i32_const(SUCCESS);
}

/// `random_get(buffer, length)`: a fixed filling while Ruby starts (hash seeds), an error afterwards. Predictable
/// secrets would be worse than an error.
fn random(body: &mut InstrSeqBuilder<'_>, args: &[LocalId], state: &State) {
    let memory = state.memory;
    body.global_get(state.sealed).if_else(
        ValType::I32,
        |then| {
            then.i32_const(EBADF);
        },
        |otherwise| {
            otherwise
                .local_get(args[0])
                .i32_const(0x2a)
                .local_get(args[1])
                .memory_fill(memory)
                .i32_const(SUCCESS);
        },
    );
}

/// `fd_pread(fd, vectors, count, offset, read)`: copies from our own memory at `offset`; offset 0 means the arguments
/// of the call. Only descriptor 0, or a template that reads from any other would get memory for file content.
fn read_memory(body: &mut InstrSeqBuilder<'_>, args: &[LocalId], state: &State, spare: &Spare) {
    let (memory, arguments, offset) = (state.memory, state.arguments, args[3]);
    body.local_get(args[0]);
    when(body, |refuse| {
        refuse.i32_const(EBADF).return_();
    });
    body.local_get(offset).unop(UnaryOp::I64Eqz);
    when(body, |zero| {
        zero.global_get(arguments)
            .unop(UnaryOp::I64ExtendUI32)
            .local_set(offset);
    });
    sum_of_vectors(body, args, state, spare, |each| {
        // memory.copy(vector.base, offset + total, vector.length)
        load_i32(each, memory, args[1], 0);
        each.local_get(offset)
            .unop(UnaryOp::I32WrapI64)
            .local_get(spare.total)
            .binop(BinaryOp::I32Add);
        load_i32(each, memory, args[1], 4);
        each.memory_copy(memory, memory);
    });
}

/// Walks the vectors of a read or write (`args[1]`, `args[2]` of them), calls `each` with `args[1]` at every one, and
/// stores the sum of their lengths where the last argument points.
fn sum_of_vectors(
    body: &mut InstrSeqBuilder<'_>,
    args: &[LocalId],
    state: &State,
    spare: &Spare,
    each: impl FnOnce(&mut InstrSeqBuilder<'_>),
) {
    let (vectors, count, memory) = (args[1], args[2], state.memory);
    body.i32_const(0)
        .local_set(spare.total)
        .i32_const(0)
        .local_set(spare.index);
    body.block(None, |done| {
        let done_id = done.id();
        done.loop_(None, |again| {
            let again_id = again.id();
            again
                .local_get(spare.index)
                .local_get(count)
                .binop(BinaryOp::I32GeU)
                .br_if(done_id);
            each(again);
            again.local_get(spare.total);
            load_i32(again, memory, vectors, 4);
            again.binop(BinaryOp::I32Add).local_set(spare.total);
            again
                .local_get(vectors)
                .i32_const(8)
                .binop(BinaryOp::I32Add)
                .local_set(vectors);
            again
                .local_get(spare.index)
                .i32_const(1)
                .binop(BinaryOp::I32Add)
                .local_set(spare.index);
            again.br(again_id);
        });
    });
    if let Some(result) = args.last() {
        let whole = StoreKind::I32 { atomic: false };
        body.local_get(*result)
            .local_get(spare.total)
            .store(memory, whole, arg(4, 0));
    }
    body.i32_const(SUCCESS);
}

fn load_i32(body: &mut InstrSeqBuilder<'_>, memory: MemoryId, address: LocalId, offset: u64) {
    body.local_get(address)
        .load(memory, LoadKind::I32 { atomic: false }, arg(4, offset));
}

fn store_i32(body: &mut InstrSeqBuilder<'_>, state: &State, address: LocalId, offset: u64, value: i32) {
    let whole = StoreKind::I32 { atomic: false };
    body.local_get(address)
        .i32_const(value)
        .store(state.memory, whole, arg(4, offset));
}

/// An `if` without `else`.
pub(crate) fn when(body: &mut InstrSeqBuilder<'_>, then: impl FnOnce(&mut InstrSeqBuilder<'_>)) {
    body.if_else(None, then, |_| {});
}

pub(crate) const fn arg(align: u32, offset: u64) -> MemArg {
    MemArg { align, offset }
}
