//! Stops two leaks of CRuby 3.4's non-local exits: each `raise`, `break` and `throw` of a template takes memory for
//! good.
//!
//! CRuby unwinds the stack by Asyncify: functions return early, without their epilogue. An exit ends in the function
//! `rb_wasm_try_catch_loop_run`, called by `vm_exec`. Version 3.4 forgets there
//!
//! - to set C's stack pointer back to what it was in `vm_exec`, which costs some hundred bytes of the stack, and keeps
//!   the objects on it alive;
//! - to free the jump buffer (24 kB) of each `vm_exec` that the exit passes.
//!
//! Later versions do both ([12995], [13142]). The module has no names, but is always the same one (`package`), so that
//! offsets and order of calls are known; what is searched must exist exactly once.
//!
//! [12995]: https://github.com/ruby/ruby/pull/12995
//! [13142]: https://github.com/ruby/ruby/pull/13142

use anyhow::{Context, Result, bail};
use walrus::ir::{BinaryOp, Instr, InstrLocId, InstrSeq, InstrSeqId, LoadKind, Value, Visitor, dfs_in_order};
use walrus::{FunctionId, LocalId, Module};

use crate::imports::arg;

/// Bytes from the stack pointer in `vm_exec` to its `struct rb_wasm_try_catch`.
const TRY_CATCH_IN_FRAME: i32 = 12;
/// Offset of `tag` in `rb_execution_context_t`.
const CONTEXT_TAG: u64 = 12;
/// Offsets in `struct rb_vm_tag`.
const TAG_BUFFER: u64 = 8;
const TAG_PREVIOUS: u64 = 12;

/// A position in a function.
#[derive(Clone, Copy)]
struct Place {
    function: FunctionId,
    sequence: InstrSeqId,
    index: usize,
}

/// An instruction and its place in the file.
type Step = (Instr, InstrLocId);

/// Adds what version 3.4 forgets.
pub(crate) fn repair(module: &mut Module) -> Result<()> {
    let caught = caught(module)?;
    let (passed, tag) = only(find(module, passes)).context("where an exit passes a frame")?;
    let free = free(module, caught.function)?;
    reset_stack(module, caught)?;
    release_buffer(module, passed, tag, free)
}

/// Where `rb_wasm_try_catch_loop_run` has ended the unwinding. It is the only function that ends one and begins none.
fn caught(module: &Module) -> Result<Place> {
    let calls = |name| {
        let wanted = module.exports.get_func(name);
        let wanted = wanted.with_context(|| format!("CRuby exports no `{name}`"))?;
        anyhow::Ok(find(module, |[step]| (called(step) == Some(wanted)).then_some(())))
    };
    let beginnings = calls("asyncify_start_unwind")?;
    let begins = |function| beginnings.iter().any(|(place, ())| place.function == function);
    let mut ends = calls("asyncify_stop_rewind")?;
    ends.retain(|(place, ())| !begins(place.function));
    Ok(only(ends).context("where an exit is caught")?.0)
}

/// `ec->tag = ec->tag->prev`, as `vm_exec_handle_exception` does before it goes on with the exit. Returns the variable
/// of the former tag.
fn passes(steps: &[Step; 7]) -> Option<LocalId> {
    let [
        (Instr::LocalGet(to), _),
        (Instr::LocalGet(from), _),
        (Instr::Load(tag), _),
        (Instr::LocalTee(former), _),
        (Instr::Load(previous), _),
        (Instr::LocalTee(_), _),
        (Instr::Store(store), _),
    ] = steps
    else {
        return None;
    };
    let offsets = [tag.arg.offset, previous.arg.offset, store.arg.offset];
    let wanted = [CONTEXT_TAG, TAG_PREVIOUS, CONTEXT_TAG];
    (to.local == from.local && offsets == wanted).then_some(former.local)
}

/// `ruby_xfree`: `vm_exec`, the only caller of `catching`, calls it last, for its own buffer.
fn free(module: &Module, catching: FunctionId) -> Result<FunctionId> {
    let calls = find(module, |[step]| called(step));
    let of_catching = calls.iter().filter(|(_, function)| *function == catching).collect();
    let (vm_exec, _) = only(of_catching).context("the caller of what catches an exit")?;
    let by_vm_exec = calls.iter().rfind(|(place, _)| place.function == vm_exec.function);
    by_vm_exec
        .map(|(_, function)| *function)
        .context("`vm_exec` calls nothing")
}

/// `__stack_pointer = (char *)try_catch - TRY_CATCH_IN_FRAME`
fn reset_stack(module: &mut Module, at: Place) -> Result<()> {
    // The linker writes `__stack_pointer` first.
    let stack_pointer = module.globals.iter().next().context("CRuby has no globals")?.id();
    let body = module.funcs.get_mut(at.function).kind.unwrap_local_mut();
    let try_catch = *body.args.first().context("what catches an exit has no argument")?;
    let mut sequence = body.builder_mut().instr_seq(at.sequence);
    sequence
        .local_get_at(at.index, try_catch)
        .const_at(at.index + 1, Value::I32(TRY_CATCH_IN_FRAME))
        .binop_at(at.index + 2, BinaryOp::I32Sub)
        .global_set_at(at.index + 3, stack_pointer);
    Ok(())
}

/// `ruby_xfree(tag->buf)`
fn release_buffer(module: &mut Module, at: Place, tag: LocalId, free: FunctionId) -> Result<()> {
    let memory = module.get_memory_id()?;
    let body = module.funcs.get_mut(at.function).kind.unwrap_local_mut();
    let mut sequence = body.builder_mut().instr_seq(at.sequence);
    sequence
        .local_get_at(at.index, tag)
        .load_at(
            at.index + 1,
            memory,
            LoadKind::I32 { atomic: false },
            arg(4, TAG_BUFFER),
        )
        .call_at(at.index + 2, free);
    Ok(())
}

/// What `read` finds in the instructions of the module, and the places behind them, in order.
fn find<const LENGTH: usize, T>(module: &Module, read: impl Fn(&[Step; LENGTH]) -> Option<T>) -> Vec<(Place, T)> {
    let mut found = Vec::new();
    for (function, body) in module.funcs.iter_local() {
        let mut sequences = Sequences(Vec::new());
        dfs_in_order(&mut sequences, body, body.entry_block());
        for sequence in sequences.0 {
            for (start, steps) in sequence.instrs.windows(LENGTH).enumerate() {
                let Some(what) = steps.first_chunk().and_then(&read) else {
                    continue;
                };
                let (sequence, index) = (sequence.id(), start + LENGTH);
                found.push((
                    Place {
                        function,
                        sequence,
                        index,
                    },
                    what,
                ));
            }
        }
    }
    found
}

fn called(step: &Step) -> Option<FunctionId> {
    match &step.0 {
        Instr::Call(call) => Some(call.func),
        _ => None,
    }
}

fn only<T>(mut found: Vec<T>) -> Result<T> {
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (_, _) => bail!("CRuby has {} such places instead of one", found.len()),
    }
}

/// The sequences of instructions of a function, in order of their begins.
struct Sequences<'a>(Vec<&'a InstrSeq>);

impl<'a> Visitor<'a> for Sequences<'a> {
    fn start_instr_seq(&mut self, sequence: &'a InstrSeq) {
        self.0.push(sequence);
    }
}
