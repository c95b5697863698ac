//! The instructions of a function of the provider.

use super::memory::{Memory, RESULT_ADDRESS, ZEROS_ADDRESS, trap_if};
use crate::answers::Answer;
use walrus::ValType::{self, I32, I64};
use walrus::ir::{BinaryOp, MemArg, StoreKind, UnaryOp};
use walrus::{FunctionId, GlobalId, InstrSeqBuilder, LocalId};

/// Any number but 0: all resources of a type behave in the same way.
const RESOURCE_REPRESENTATION: i32 = 1;

/// What a function is made of.
pub(super) struct Body<'m> {
    pub(super) params: &'m [ValType],
    pub(super) args: &'m [LocalId],
    pub(super) result: Option<ValType>,
    /// The result is the address of what the function returns.
    pub(super) in_memory: bool,
    /// Address of a list.
    pub(super) list: LocalId,
    pub(super) memory: &'m Memory,
    pub(super) started: Option<GlobalId>,
    pub(super) print: Option<FunctionId>,
    /// Makes the resource that is returned.
    pub(super) new: Option<FunctionId>,
}

// === impl Body ===

impl Body<'_> {
    /// Writes the answer. A function with another type than the answer needs traps: interfaces come from the component.
    pub(super) fn write(&self, body: &mut InstrSeqBuilder<'_>, answer: Answer) {
        let (args, in_memory) = (self.args, self.in_memory);
        match (answer, self.result, self.params) {
            (Answer::Empty, None, _) => {}
            (Answer::Empty, Some(I32), _) => number(body, ZEROS_ADDRESS),
            (Answer::True, Some(I32), _) if !in_memory => number(body, 1),
            (Answer::Resource, Some(I32), _) if !in_memory => self.resource(body),
            (Answer::SomeResource, ..) if in_memory => self.some_resource(body),
            (Answer::Time { seconds, nanoseconds }, ..) if in_memory => self.time(body, seconds, nanoseconds),
            (Answer::Room(bytes), ..) if in_memory => self.store_pair(body, 0, bytes),
            (Answer::Seed(number), ..) if in_memory => self.store_pair(body, number, number),
            (Answer::Number(number), Some(I64), _) => {
                body.i64_const(number);
            }
            (Answer::RandomNumber(number), Some(I64), _) => {
                self.trap_after_start(body);
                body.i64_const(number);
            }
            (Answer::RandomBytes(byte), _, [I64]) if in_memory => self.random_bytes(body, args, byte),
            (Answer::First, _, [I32, I32]) if in_memory => self.first(body, args),
            (Answer::Print, _, [.., I32, I32]) if in_memory || self.result.is_none() => self.print(body, args),
            _ => trap(body),
        }
    }

    fn time(&self, body: &mut InstrSeqBuilder<'_>, seconds: i64, nanoseconds: i32) {
        self.store_i64(body, 0, seconds);
        body.i32_const(RESULT_ADDRESS).i32_const(nanoseconds);
        self.store_i32(body, 8);
        body.i32_const(RESULT_ADDRESS);
    }

    /// Two numbers of 64 bits, or success with one.
    fn store_pair(&self, body: &mut InstrSeqBuilder<'_>, first: i64, second: i64) {
        self.store_i64(body, 0, first);
        self.store_i64(body, 8, second);
        body.i32_const(RESULT_ADDRESS);
    }

    fn resource(&self, body: &mut InstrSeqBuilder<'_>) {
        let Some(new) = self.new else { return trap(body) };
        body.i32_const(RESOURCE_REPRESENTATION).call(new);
    }

    fn some_resource(&self, body: &mut InstrSeqBuilder<'_>) {
        body.i32_const(RESULT_ADDRESS).i32_const(1);
        self.store_i32(body, 0);
        body.i32_const(RESULT_ADDRESS);
        self.resource(body);
        self.store_i32(body, 4);
        body.i32_const(RESULT_ADDRESS);
    }

    fn print(&self, body: &mut InstrSeqBuilder<'_>, args: &[LocalId]) {
        let ([.., address, length], Some(print)) = (args, self.print) else {
            return trap(body);
        };
        body.local_get(*address).local_get(*length).call(print);
        if self.in_memory {
            body.i32_const(ZEROS_ADDRESS);
        }
    }

    /// A list with the index 0. The interface lets an empty list of pollables trap.
    fn first(&self, body: &mut InstrSeqBuilder<'_>, args: &[LocalId]) {
        let [_, count] = args else { return trap(body) };
        body.local_get(*count).unop(UnaryOp::I32Eqz);
        trap_if(body);
        body.i32_const(RESULT_ADDRESS).i32_const(ZEROS_ADDRESS);
        self.store_i32(body, 0);
        body.i32_const(RESULT_ADDRESS).i32_const(1);
        self.store_i32(body, 4);
        body.i32_const(RESULT_ADDRESS);
    }

    fn random_bytes(&self, body: &mut InstrSeqBuilder<'_>, args: &[LocalId], byte: i32) {
        let [length] = args else { return trap(body) };
        self.trap_after_start(body);
        // More than 32 bits are more than there is memory.
        body.local_get(*length).i64_const(32).binop(BinaryOp::I64ShrU);
        body.unop(UnaryOp::I32WrapI64);
        trap_if(body);
        let size = |body: &mut InstrSeqBuilder<'_>| {
            body.local_get(*length).unop(UnaryOp::I32WrapI64);
        };
        body.i32_const(0).i32_const(0).i32_const(1);
        size(body);
        body.call(self.memory.allocate).local_tee(self.list).i32_const(byte);
        size(body);
        body.memory_fill(self.memory.id);
        body.i32_const(RESULT_ADDRESS).local_get(self.list);
        self.store_i32(body, 0);
        body.i32_const(RESULT_ADDRESS);
        size(body);
        self.store_i32(body, 4);
        body.i32_const(RESULT_ADDRESS);
    }

    fn trap_after_start(&self, body: &mut InstrSeqBuilder<'_>) {
        if let Some(started) = self.started {
            body.global_get(started);
            trap_if(body);
        }
    }

    /// Stores the number on the stack; below it is the address.
    fn store_i32(&self, body: &mut InstrSeqBuilder<'_>, offset: u64) {
        let place = MemArg { align: 4, offset };
        body.store(self.memory.id, StoreKind::I32 { atomic: false }, place);
    }

    fn store_i64(&self, body: &mut InstrSeqBuilder<'_>, offset: u64, number: i64) {
        let place = MemArg { align: 8, offset };
        body.i32_const(RESULT_ADDRESS).i64_const(number);
        body.store(self.memory.id, StoreKind::I64 { atomic: false }, place);
    }
}

fn number(body: &mut InstrSeqBuilder<'_>, number: i32) {
    body.i32_const(number);
}

fn trap(body: &mut InstrSeqBuilder<'_>) {
    body.unreachable();
}
