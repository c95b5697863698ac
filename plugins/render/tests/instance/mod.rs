//! Runs the sealed component as the host does: a fresh instance for every call, from a pre-instantiated component.

#![allow(clippy::panic, reason = "a wrong shape of the reply fails the test")]
#![allow(dead_code, reason = "the example and the tests use different parts")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, Val};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result, Store, format_err};

/// What a call may burn. A template of everyday size takes some ten million.
pub const FUEL: u64 = 20_000_000_000;

/// What calls need of the machine's stack before Ruby's own limits end them.
pub const STACK_BYTES: usize = 4 << 20;

/// The component, ready for instances.
pub struct Renderer {
    engine: Engine,
    instance: InstancePre<()>,
    render: ComponentExportIndex,
    describe: ComponentExportIndex,
}

/// The reply to one call.
#[derive(Debug)]
pub struct Reply {
    pub files: Vec<(String, String)>,
    pub diagnostics: Vec<Diagnostic>,
    pub fuel: u64,
    pub instantiation: std::time::Duration,
}

/// The fields of a diagnostic that tests check.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    pub severity: String,
    pub code: String,
    pub message: String,
    pub document: Option<String>,
    pub line: Option<u32>,
    pub class: Option<String>,
}

// === impl Renderer ===

impl Renderer {
    /// The component that `boson-build` made, from `BOSON_RENDER_COMPONENT` or from cargo's target folder.
    pub fn open() -> Result<Self> {
        let path = match std::env::var_os("BOSON_RENDER_COMPONENT") {
            Some(path) => PathBuf::from(path),
            None => std::env::current_exe()?
                .ancestors()
                .map(|folder| folder.join("plugins/render.wasm"))
                .find(|path| path.exists())
                .ok_or_else(|| format_err!("no plugins/render.wasm: build it with `boson-build --ruby PATH`"))?,
        };
        let engine = Engine::new(&config())?;
        let component = load(&engine, &path)?;
        let function = |interface: &str, name: &str| {
            component
                .get_export_index(None, interface)
                .and_then(|interface| component.get_export_index(Some(&interface), name))
                .ok_or_else(|| format_err!("the component exports no {name}"))
        };
        let render = function("boson:render/templates@1.0.0", "render")?;
        let describe = function("boson:types/about@1.0.0", "describe")?;
        let instance = Linker::new(&engine).instantiate_pre(&component)?;
        Ok(Self {
            engine,
            instance,
            render,
            describe,
        })
    }

    pub fn render(&self, templates: &[(&str, &str)], spec: &str) -> Result<Reply> {
        self.render_with(templates, spec, &[], FUEL)
    }

    /// `more`: names of additional members of the request, whose value is null.
    pub fn render_with(&self, templates: &[(&str, &str)], spec: &str, more: &[&str], fuel: u64) -> Result<Reply> {
        std::thread::scope(|scope| {
            let deep = std::thread::Builder::new().stack_size(STACK_BYTES + (1 << 20));
            let call = deep.spawn_scoped(scope, || self.call(templates, spec, more, fuel))?;
            call.join().map_err(|_| format_err!("the call panicked"))?
        })
    }

    fn call(&self, templates: &[(&str, &str)], spec: &str, more: &[&str], fuel: u64) -> Result<Reply> {
        let start = Instant::now();
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(fuel)?;
        let instance = self.instance.instantiate(&mut store)?;
        let instantiation = start.elapsed();
        let function = instance
            .get_func(&mut store, self.render)
            .ok_or_else(|| format_err!("no render"))?;
        let text = |text: &str| Val::String(text.to_owned());
        let templates = templates
            .iter()
            .map(|(name, source)| Val::Record(vec![("name".into(), text(name)), ("text".into(), text(source))]))
            .collect();
        let additional = |name: &&str| Val::Record(vec![("name".into(), text(name)), ("value".into(), text("null"))]);
        let more = more.iter().map(additional).collect();
        let request = Val::Record(vec![
            ("templates".into(), Val::List(templates)),
            ("spec".into(), text(spec)),
            ("more".into(), Val::List(more)),
        ]);
        let context = Val::Record(vec![
            ("deployment".into(), Val::Option(None)),
            ("settings".into(), text("{}")),
            ("features".into(), Val::List(Vec::new())),
            ("more".into(), Val::List(Vec::new())),
        ]);
        let mut results = [Val::Bool(false)];
        function.call(&mut store, &[request, context], &mut results)?;
        let fuel = fuel - store.get_fuel()?;
        let [Val::Result(result)] = results else {
            return Err(format_err!("no result"));
        };
        let (files, diagnostics) = match &result {
            Ok(Some(files)) => (
                list(member(files, "files"))
                    .iter()
                    .map(|file| (string(member(file, "name")), string(member(file, "content"))))
                    .collect(),
                member(files, "diagnostics"),
            ),
            Err(Some(diagnostics)) => (Vec::new(), &**diagnostics),
            _ => return Err(format_err!("an empty result")),
        };
        let diagnostics = list(diagnostics).iter().map(diagnostic).collect();
        Ok(Reply {
            files,
            diagnostics,
            fuel,
            instantiation,
        })
    }

    pub fn describe(&self) -> Result<Val> {
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(FUEL)?;
        let instance = self.instance.instantiate(&mut store)?;
        let function = instance
            .get_func(&mut store, self.describe)
            .ok_or_else(|| format_err!("no describe"))?;
        let mut results = [Val::Bool(false)];
        function.call(&mut store, &[], &mut results)?;
        let [description] = results;
        Ok(description)
    }
}

fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.max_memory_size(512 << 20)
        .table_elements(60_000)
        .total_component_instances(16)
        .total_core_instances(64)
        .total_memories(16)
        .total_tables(64)
        .max_core_instance_size(1 << 20)
        .max_component_instance_size(1 << 20)
        .linear_memory_keep_resident(0);
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .max_wasm_stack(STACK_BYTES)
        .async_stack_size(STACK_BYTES + (1 << 20))
        .memory_guaranteed_dense_image_size(256 << 20)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// Compiled once per component and engine: that takes half a minute, and the tests run often.
fn load(engine: &Engine, path: &Path) -> Result<Component> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let bytes = std::fs::read(path)?;
    let mut key = DefaultHasher::new();
    bytes.hash(&mut key);
    engine.precompile_compatibility_hash().hash(&mut key);
    let compiled = path.with_extension(format!("test-{:016x}.cwasm", key.finish()));
    if !compiled.exists() {
        std::fs::write(&compiled, engine.precompile_component(&bytes)?)?;
    }
    #[allow(unsafe_code, reason = "machine code that this test has just written itself")]
    // SAFETY: the file is the output of `precompile_component` for this engine; no other program writes into the target
    // folder.
    unsafe {
        Component::deserialize_file(engine, &compiled)
    }
}

pub fn member<'a>(record: &'a Val, name: &str) -> &'a Val {
    let Val::Record(members) = record else {
        panic!("no record: {record:?}")
    };
    members
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
        .unwrap_or_else(|| panic!("no member {name}"))
}

pub fn list(value: &Val) -> &[Val] {
    let Val::List(items) = value else {
        panic!("no list: {value:?}")
    };
    items
}

pub fn string(value: &Val) -> String {
    let Val::String(text) = value else {
        panic!("no string: {value:?}")
    };
    text.clone()
}

fn diagnostic(value: &Val) -> Diagnostic {
    let (document, line) = match member(value, "place") {
        Val::Option(None) => (None, None),
        Val::Option(Some(place)) => match &**place {
            Val::Variant(case, Some(place)) if case == "text" => {
                let line = match member(place, "line") {
                    Val::Option(Some(line)) => match **line {
                        Val::U32(line) => Some(line),
                        _ => None,
                    },
                    _ => None,
                };
                (Some(string(member(place, "document"))), line)
            }
            other => panic!("no place in a text: {other:?}"),
        },
        other => panic!("no option: {other:?}"),
    };
    let Val::Enum(severity) = member(value, "severity") else {
        panic!("no severity")
    };
    let class = list(member(value, "more"))
        .iter()
        .find(|one| string(member(one, "name")) == "class")
        .map(|class| string(member(class, "value")).trim_matches('"').to_string());
    Diagnostic {
        severity: severity.clone(),
        code: string(member(value, "code")),
        message: string(member(value, "message")),
        document,
        line,
        class,
    }
}
