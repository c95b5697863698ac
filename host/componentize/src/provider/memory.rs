//! The memory of the provider. Lists that it gets and returns are valid for one call, so each call begins again at the
//! same address.

use walrus::ValType::{self, I32, I64};
use walrus::ir::{BinaryOp, UnaryOp, Value};
use walrus::{ConstExpr, FunctionBuilder, FunctionId, GlobalId, InstrSeqBuilder, LocalId, MemoryId, Module};

/// These bytes are always zero: an empty list, none, or success.
pub(super) const ZEROS_ADDRESS: i32 = 0;
/// Where results are written that are not one number.
pub(super) const RESULT_ADDRESS: i32 = 64;
const HEAP_ADDRESS: i32 = 1024;
/// Bytes of lists of one call, well above what a stream accepts.
const MAX_LIST_BYTES: i64 = 64 << 20;
const PAGE_SIZE_BITS: i64 = 16;

pub(super) struct Memory {
    pub(super) id: MemoryId,
    heap: GlobalId,
    pub(super) allocate: FunctionId,
}

// === impl Memory ===

impl Memory {
    pub(super) fn add(module: &mut Module) -> Self {
        let id = module.memories.add_local(false, false, 1, None, None);
        let first = ConstExpr::Value(Value::I32(HEAP_ADDRESS));
        let heap = module.globals.add_local(I32, true, false, first);
        module.exports.add("memory", id);
        let allocate = allocator(module, id, heap);
        module.exports.add("cabi_realloc", allocate);
        Self { id, heap, allocate }
    }

    /// Forgets the lists of the call before.
    pub(super) fn begin(&self, body: &mut InstrSeqBuilder<'_>) {
        body.i32_const(HEAP_ADDRESS).global_set(self.heap);
    }
}

/// `cabi_realloc`: the next free bytes, with a copy of the old ones.
fn allocator(module: &mut Module, memory: MemoryId, heap: GlobalId) -> FunctionId {
    let mut local = |kind: ValType| module.locals.add(kind);
    let [old, old_size, align, size, new] = [(); 5].map(|()| local(I32));
    let end = local(I64);
    let mut builder = FunctionBuilder::new(&mut module.types, &[I32; 4], &[I32]);
    builder.name("cabi_realloc".into());
    let mut body = builder.func_body();
    // (heap + align - 1) & -align
    body.global_get(heap).local_get(align).binop(BinaryOp::I32Add);
    body.i32_const(1).binop(BinaryOp::I32Sub).i32_const(0).local_get(align);
    body.binop(BinaryOp::I32Sub).binop(BinaryOp::I32And).local_set(new);
    body.local_get(new).unop(UnaryOp::I64ExtendUI32).local_get(size);
    body.unop(UnaryOp::I64ExtendUI32).binop(BinaryOp::I64Add).local_tee(end);
    body.i64_const(MAX_LIST_BYTES).binop(BinaryOp::I64GtU);
    trap_if(&mut body);
    grow(&mut body, memory, end);
    body.local_get(end).unop(UnaryOp::I32WrapI64).global_set(heap);
    body.local_get(new).local_get(old).local_get(old_size).local_get(size);
    body.local_get(old_size)
        .local_get(size)
        .binop(BinaryOp::I32LtU)
        .select(None);
    body.memory_copy(memory, memory).local_get(new);
    builder.finish(vec![old, old_size, align, size], &mut module.funcs)
}

/// Adds the pages up to this address that are missing.
fn grow(body: &mut InstrSeqBuilder<'_>, memory: MemoryId, end: LocalId) {
    let pages = |body: &mut InstrSeqBuilder<'_>| {
        // Rounded up; minus those that are there.
        body.local_get(end)
            .i64_const((1 << PAGE_SIZE_BITS) - 1)
            .binop(BinaryOp::I64Add);
        body.i64_const(PAGE_SIZE_BITS)
            .binop(BinaryOp::I64ShrU)
            .unop(UnaryOp::I32WrapI64);
        body.memory_size(memory).binop(BinaryOp::I32Sub);
    };
    pages(body);
    body.i32_const(0).binop(BinaryOp::I32GtS);
    let more = |body: &mut InstrSeqBuilder<'_>| {
        pages(body);
        body.memory_grow(memory).i32_const(-1).binop(BinaryOp::I32Eq);
        trap_if(body);
    };
    body.if_else(None, more, |_| {});
}

/// Traps if the number on the stack is not 0.
pub(super) fn trap_if(body: &mut InstrSeqBuilder<'_>) {
    let trap = |body: &mut InstrSeqBuilder<'_>| {
        body.unreachable();
    };
    body.if_else(None, trap, |_| {});
}
