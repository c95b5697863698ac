//! Starts Ruby, loads our files and writes what memory holds then back into the module.

use std::future::Future;
use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};

use wasmtime::error::Context as _;
use wasmtime::{
    Config, Engine, Instance, Memory, Module, OptLevel, Result, Store, StoreLimits, StoreLimitsBuilder, TypedFunc, Val,
    bail, format_err,
};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

use crate::glue::{INTERFACE, build, ruby};
use crate::scripts::{BROKEN, CONTEXT, REHEARSAL, SCRIPTS, SETTLE, Script};

/// What `ruby` gets on its command line. Without the two suggestion libraries error texts are BOSH's.
const ARGUMENTS: &[&str] = &[
    "ruby.wasm",
    "-EUTF-8",
    "--disable=did_you_mean,error_highlight,syntax_suggest",
    "-e_",
];

/// Deep recursion of Ruby's compiler needs more than the default half megabyte.
const STACK_BYTES: usize = 4 << 20;

/// Bytes of memory that Ruby may have while it starts, twice of what it needs. When it starts, version 4.0 also asks
/// for 256 MiB in one piece, an index for objects with more than ten instance variables, and does without where it gets
/// none. It would be a part of every instance, and count for the limit of each call.
const MAX_START_BYTES: usize = 192 << 20;

/// Largest hole to search for in C's heap, in bytes; larger ones are as good for a call as fresh memory.
const MAX_HOLE_BYTES: usize = 1 << 20;

/// Bytes of C's heap that a call finds free in one piece. They lie below everything that Ruby has made: after a call
/// the host overwrites the lowest pages that it has written to, so that they stay mapped for the next one, and gives
/// all others back.
const FREE_HEAP_BYTES: u32 = 6 << 20;

/// A call removes the constant of our Ruby code, so the code needs another name until the next call.
const KEEP: &str = "Object.const_set(:Rehearsed, Boson); ''";
const BRING_BACK: &str =
    "Object.const_set(:Boson, Object.__send__(:remove_const, :Rehearsed)); Boson::Memory::KEPT.clear; ''";

/// Makes what the first template of a call needs.
const PREPARE: &str = "Boson::Renderer.prepare; ''";

/// The module with Ruby started and our files loaded.
pub(crate) fn warm_up(module: &[u8], progress: &mut dyn FnMut(&str)) -> Result<Vec<u8>> {
    let wizer = Wizer::new();
    let (context, instrumented) = wizer.instrument(module)?;
    progress("compiling CRuby");
    let mut config = Config::new();
    // This code runs once, for a second or two: compiling it well would take longer than running it badly.
    config
        .cranelift_opt_level(OptLevel::None)
        .max_wasm_stack(STACK_BYTES)
        .async_stack_size(2 * STACK_BYTES);
    let engine = Engine::new(&config)?;
    let compiled = Module::new(&engine, &instrumented)?;
    let limits = StoreLimitsBuilder::new().memory_size(MAX_START_BYTES).build();
    let mut store = Store::new(&engine, limits);
    store.limiter(|limits| limits);
    let instance = Instance::new(&mut store, &compiled, &[])?;

    let mut start = Start::new(&mut store, instance)?;
    progress("starting Ruby");
    let room = start.reserve()?;
    start.ruby()?;
    progress("loading the renderer");
    for script in SCRIPTS {
        start.load(script)?;
    }
    progress("rehearsing");
    // Twice: Ruby loads or compiles some code only at the second pass.
    start.rehearse()?;
    start.rehearse()?;
    start.load(&SETTLE)?;
    start.fill_holes()?;
    // Garbage collection has emptied the caches of all call sites. This fills them again for the snapshot.
    start.rehearse()?;
    start.evaluate(PREPARE)?;
    start.fill_holes()?;
    start.release(room)?;
    start.run(build::SEAL)?;

    progress("writing the snapshot");
    let mut state = Started { store, instance };
    at_once(wizer.snapshot(&context, &mut state))?
}

/// Ruby while it starts.
struct Start<'a> {
    store: &'a mut Store<StoreLimits>,
    instance: Instance,
    memory: Memory,
    realloc: TypedFunc<(u32, u32, u32, u32), u32>,
    evaluate: TypedFunc<(u32, u32), u32>,
    text: TypedFunc<u32, u32>,
}

// === impl Start ===

impl<'a> Start<'a> {
    fn new(store: &'a mut Store<StoreLimits>, instance: Instance) -> Result<Self> {
        let memory = instance
            .get_memory(&mut *store, "memory")
            .context("CRuby exports no memory")?;
        let realloc = instance.get_typed_func(&mut *store, ruby::REALLOC)?;
        let evaluate = instance.get_typed_func(&mut *store, ruby::EVALUATE)?;
        let text = instance.get_typed_func(&mut *store, ruby::TEXT)?;
        Ok(Self {
            store,
            instance,
            memory,
            realloc,
            evaluate,
            text,
        })
    }

    /// Runs what C runs first, and takes a part of its heap before Ruby does.
    fn reserve(&mut self) -> Result<u32> {
        self.run(build::CONSTRUCT)?;
        self.realloc.call(&mut *self.store, (0, 0, 8, FREE_HEAP_BYTES))
    }

    /// Gives all but its beginning back.
    fn release(&mut self, room: u32) -> Result<()> {
        self.realloc.call(&mut *self.store, (room, FREE_HEAP_BYTES, 8, 8))?;
        Ok(())
    }

    fn ruby(&mut self) -> Result<()> {
        let address = self.place_all(ARGUMENTS.iter().copied())?;
        let start = self
            .instance
            .get_typed_func::<(u32, u32), ()>(&mut *self.store, ruby::START)?;
        start.call(&mut *self.store, (address, u32::try_from(ARGUMENTS.len())?))?;
        Ok(())
    }

    fn load(&mut self, script: &Script) -> Result<()> {
        let (address, length) = self.place(script.text.as_bytes())?;
        // The text comes through the same door as the arguments of a call, so it needs no quoting.
        let code = format!(
            "begin; eval((defined?(Boson::Memory) ? Boson::Memory.bytes({address}, {length}) : STDIN.pread({length}, {address})).force_encoding('UTF-8'), TOPLEVEL_BINDING, '{}', 1); ''; \
             rescue Exception => e; e.full_message(highlight: false); end",
            script.name
        );
        let error = self.evaluate(&code)?;
        if !error.is_empty() {
            bail!("{} does not load: {error}", script.name);
        }
        Ok(())
    }

    /// Templates that succeed, and some that fail.
    fn rehearse(&mut self) -> Result<()> {
        self.render(REHEARSAL, true)?;
        self.render(BROKEN, false)
    }

    /// A call as the host makes it. At its first pass Ruby fills caches (of methods and constants) all over memory;
    /// caches in the snapshot need not be written by calls.
    fn render(&mut self, templates: &[Script], succeeds: bool) -> Result<()> {
        let texts = templates.iter().flat_map(|template| [template.name, template.text]);
        let records = self.place_all(texts)?;
        let (context, context_length) = self.place(CONTEXT.as_bytes())?;
        let (settings, settings_length) = self.place(b"{}")?;
        let count = u32::try_from(templates.len())?;
        // The request has no additional members.
        let mut call = vec![records, count, context, context_length, 0, 0];
        // The context has no deployment, features and additional members.
        call.extend([0; 7]);
        call.extend([settings, settings_length, 0, 0, 0, 0]);
        let call: Vec<u8> = call.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (arguments, _) = self.place(&call)?;
        self.evaluate(KEEP)?;
        let result = self
            .instance
            .get_typed_func::<u32, u32>(&mut *self.store, &format!("{INTERFACE}#render"))?
            .call(&mut *self.store, arguments)?;
        let failed = self.word(result)? != 0;
        self.evaluate(BRING_BACK)?;
        if failed == succeeds {
            bail!(
                "the templates of the rehearsal should {}",
                if succeeds { "succeed" } else { "fail" }
            );
        }
        Ok(())
    }

    /// Takes every hole that starting up left in C's heap, largest first. A call then gets fresh memory side by side
    /// instead of bits from everywhere, and the host has few pages to reset after it instead of hundreds all over.
    fn fill_holes(&mut self) -> Result<()> {
        let (end, _) = self.place(&vec![0; MAX_HOLE_BYTES])?;
        let halves = (9..MAX_HOLE_BYTES.ilog2()).rev().map(|power| 1 << power);
        // Below half a kilobyte the allocator has a bin for every multiple of eight.
        for size in halves.chain((1..=32).rev().map(|eighths| 8 * eighths)) {
            while self.realloc.call(&mut *self.store, (0, 0, 8, size))? < end {}
        }
        Ok(())
    }

    /// Calls a function without parameters and results.
    fn run(&mut self, function: &str) -> Result<()> {
        let function = self.instance.get_typed_func::<(), ()>(&mut *self.store, function)?;
        function.call(&mut *self.store, ())
    }

    /// The string that Ruby code gives.
    fn evaluate(&mut self, code: &str) -> Result<String> {
        let (address, length) = self.place(code.as_bytes())?;
        let result = self.evaluate.call(&mut *self.store, (address, length))?;
        let (value, state) = (self.word(result)?, self.word(result + 4)?);
        if state != 0 {
            bail!("Ruby failed with state {state} at: {code}");
        }
        let text = self.text.call(&mut *self.store, value)?;
        let (address, length) = (self.word(text)? as usize, self.word(text + 4)? as usize);
        let bytes = self.memory.data(&*self.store).get(address..address + length);
        Ok(String::from_utf8_lossy(bytes.context("Ruby answered outside its memory")?).into_owned())
    }

    /// Puts bytes into the module's memory, with a zero byte behind them: CRuby takes code for a C string.
    fn place(&mut self, bytes: &[u8]) -> Result<(u32, u32)> {
        let length = u32::try_from(bytes.len())?;
        let address = self.realloc.call(&mut *self.store, (0, 0, 8, length + 1))?;
        self.memory.write(&mut *self.store, address as usize, bytes)?;
        self.memory
            .write(&mut *self.store, address as usize + bytes.len(), &[0])?;
        Ok((address, length))
    }

    /// Puts texts into the module's memory, and then a list of their addresses and lengths, whose address it returns.
    fn place_all(&mut self, texts: impl IntoIterator<Item = &'static str>) -> Result<u32> {
        let mut list = Vec::new();
        for text in texts {
            let (address, length) = self.place(text.as_bytes())?;
            list.extend(address.to_le_bytes());
            list.extend(length.to_le_bytes());
        }
        Ok(self.place(&list)?.0)
    }

    fn word(&self, address: u32) -> Result<u32> {
        let mut bytes = [0; 4];
        self.memory.read(&*self.store, address as usize, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

/// What wizer asks of the started instance. Its own implementation needs features of wasmtime that the host does
/// without, and with two feature sets wasmtime would be built twice.
struct Started {
    store: Store<StoreLimits>,
    instance: Instance,
}

// === impl Started ===

impl InstanceState for Started {
    #[allow(
        clippy::panic,
        reason = "wizer names the globals it has exported itself, and this is a build tool"
    )]
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        let value = self
            .instance
            .get_global(&mut self.store, name)
            .map(|global| global.get(&mut self.store));
        match value {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(value)) => SnapshotVal::F32(value),
            Some(Val::F64(value)) => SnapshotVal::F64(value),
            other => panic!("CRuby has a global that no snapshot can hold: {name}, {other:?}"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        if let Some(memory) = self.instance.get_memory(&mut self.store, name) {
            contents(memory.data(&self.store));
        }
    }
}

/// The result of a future that never waits.
fn at_once<F: Future>(future: F) -> Result<F::Output> {
    match pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(format_err!("the snapshot waits for something")),
    }
}
