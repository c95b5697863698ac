//! Plugins for tests, small enough to be read: WebAssembly text, built into a component of one world of the contract.

use boson_tests::component::component_of;

/// Address of a result; the memory is zero before a call, and a result of zeros means success with empty lists.
const RESULT_ADDRESS: u32 = 16;
/// Address of the description.
const DESCRIPTION_ADDRESS: u32 = 256;
/// Address of the texts.
const TEXTS_ADDRESS: u32 = 4096;

/// The world of [`Guest::ops_with_wasi`].
const WITH_WASI: &str = "
package test:plugin;
world w {
    include boson:ops/ops@1.0.0;
    import wasi:random/insecure-seed@0.2.6;
}
package wasi:random@0.2.6 {
    interface insecure-seed { insecure-seed: func() -> tuple<u64, u64>; }
}
";

/// A plugin of a stage.
pub struct Guest {
    stage: &'static str,
    interface: &'static str,
    /// The world, if it is not that of the stage.
    world: Option<&'static str>,
    /// More packages of WIT, with the names of their files.
    packages: &'static [(&'static str, &'static str)],
    imports: String,
    functions: String,
    texts: Vec<String>,
}

// === impl Guest ===

impl Guest {
    fn new(stage: &'static str, interface: &'static str, name: &str) -> Self {
        Self {
            stage,
            interface,
            world: None,
            packages: &[],
            imports: String::new(),
            functions: String::new(),
            texts: vec![
                name.into(),
                "1.2.3".into(),
                r#"{"type":"object","additionalProperties":false}"#.into(),
            ],
        }
    }

    /// Returns the manifest unchanged: operations have no effect.
    pub fn ops(name: &str) -> Vec<u8> {
        Self::without_operations(name).component()
    }

    /// The same, as compilers build it by default: it imports WASI.
    pub fn ops_with_wasi(name: &str) -> Vec<u8> {
        let mut guest = Self::without_operations(name);
        guest.world = Some("w");
        guest.packages = &[("wasi.wit", WITH_WASI)];
        guest.imports = r#"(import "wasi:random/insecure-seed@0.2.6" "insecure-seed" (func (param i32)))"#.into();
        guest.component()
    }

    fn without_operations(name: &str) -> Self {
        let mut guest = Self::new("ops", "operations", name);
        guest.function("find", "unreachable");
        guest.function("apply", &echo());
        guest
    }

    /// Has no variables, and replaces none.
    pub fn variables(name: &str) -> Vec<u8> {
        let mut guest = Self::new("variables", "interpolation", name);
        guest.function("plan", &format!("(i32.const {RESULT_ADDRESS})"));
        guest.function("interpolate", &echo());
        guest.component()
    }

    /// Renders every template to this text.
    pub fn render(name: &str, content: &str) -> Vec<u8> {
        let mut guest = Self::new("render", "templates", name);
        let (at, length) = guest.text(content);
        // For each template a file with its name: two numbers are copied, two are the text.
        let body = format!(
            "(local $files i32) (local $n i32) (local $to i32) (local $from i32) (local $count i32)
            (local.set $count (i32.load offset=4 (local.get 0)))
            (local.set $files (call $new (i32.mul (local.get $count) (i32.const 16))))
            (block $done (loop $next
                (br_if $done (i32.ge_u (local.get $n) (local.get $count)))
                (local.set $to (i32.add (local.get $files) (i32.mul (local.get $n) (i32.const 16))))
                (local.set $from (i32.add (i32.load (local.get 0)) (i32.mul (local.get $n) (i32.const 16))))
                (i64.store (local.get $to) (i64.load (local.get $from)))
                (i32.store offset=8 (local.get $to) (i32.const {at}))
                (i32.store offset=12 (local.get $to) (i32.const {length}))
                (local.set $n (i32.add (local.get $n) (i32.const 1)))
                (br $next)))
            (i32.store offset=4 (i32.const {RESULT_ADDRESS}) (local.get $files))
            (i32.store offset=8 (i32.const {RESULT_ADDRESS}) (local.get $count))
            (i32.const {RESULT_ADDRESS})"
        );
        guest.function("render", &body);
        guest.component()
    }

    /// Adds this object.
    pub fn resources(name: &str, object: &str) -> Vec<u8> {
        Self::large(name, object, 0)
    }

    /// A hook that never ends.
    pub fn endless(name: &str) -> Vec<u8> {
        let mut guest = Self::new("resources", "transformation", name);
        guest.function("transform", "(loop $again (br $again)) unreachable");
        guest.component()
    }

    /// A hook that traps in every call.
    pub fn trapping(name: &str) -> Vec<u8> {
        let mut guest = Self::new("resources", "transformation", name);
        guest.function("transform", "unreachable");
        guest.component()
    }

    /// A check that always reports this error.
    pub fn check(name: &str, code: &str, message: &str) -> Vec<u8> {
        let mut guest = Self::new("checks", "policy", name);
        let ((code, code_length), (message, length)) = (guest.text(code), guest.text(message));
        // All words of the diagnostic after these are zero: an error without a place.
        let body = format!(
            "(i32.store (i32.const 1028) (i32.const {code}))
            (i32.store (i32.const 1032) (i32.const {code_length}))
            (i32.store (i32.const 1036) (i32.const {message}))
            (i32.store (i32.const 1040) (i32.const {length}))
            (i32.store (i32.const {RESULT_ADDRESS}) (i32.const 1024))
            (i32.store offset=4 (i32.const {RESULT_ADDRESS}) (i32.const 1))
            (i32.const {RESULT_ADDRESS})"
        );
        guest.function("check", &body);
        guest.component()
    }

    /// A check that traps.
    pub fn trapping_check(name: &str) -> Vec<u8> {
        let mut guest = Self::new("checks", "policy", name);
        guest.function("check", "unreachable");
        guest.component()
    }

    /// A wrapper of the stage `bpm` that returns the replies of the rule.
    pub fn bpm_wrapper(name: &str) -> Vec<u8> {
        let mut guest = Self::new("bpm", "conversion", name);
        guest.world = Some("bpm-wrapper");
        for function in ["convert-deployment", "convert-group"] {
            guest.imports.push_str(&format!(
                "(import \"boson:bpm/conversion@1.0.0\" \"{function}\" (func ${function} (param i32 i32)))"
            ));
            let body =
                format!("(call ${function} (local.get 0) (i32.const {RESULT_ADDRESS})) (i32.const {RESULT_ADDRESS})");
            guest.function(function, &body);
        }
        guest.component()
    }

    /// Like [`resources`], with this number of additional bytes of machine code.
    pub fn large(name: &str, object: &str, bytes: usize) -> Vec<u8> {
        let mut guest = Self::new("resources", "transformation", name);
        let (at, length) = guest.text(object);
        let body = format!(
            "(i32.store (i32.const 1024) (i32.const 2))
            (i32.store (i32.const 1028) (i32.const {at}))
            (i32.store (i32.const 1032) (i32.const {length}))
            (i32.store offset=4 (i32.const {RESULT_ADDRESS}) (i32.const 1024))
            (i32.store offset=8 (i32.const {RESULT_ADDRESS}) (i32.const 1))
            (i32.const {RESULT_ADDRESS})"
        );
        guest.function("transform", &body);
        // After all that is read: input is written there.
        guest.text(&"x".repeat(bytes));
        guest.component()
    }

    /// The parameter is the address of the request and the context.
    fn function(&mut self, name: &str, body: &str) {
        let (stage, interface) = (self.stage, self.interface);
        self.functions.push_str(&format!(
            "(func (export \"boson:{stage}/{interface}@1.0.0#{name}\") (param i32) (result i32) {body})\n"
        ));
    }

    /// Reserves space for a text; its address and length.
    fn text(&mut self, text: &str) -> (u32, u32) {
        self.texts.push(text.into());
        self.places().pop().unwrap()
    }

    fn places(&self) -> Vec<(u32, u32)> {
        let mut at = TEXTS_ADDRESS;
        let place = |text: &String| {
            let length = u32::try_from(text.len()).unwrap();
            at += length;
            (at - length, length)
        };
        self.texts.iter().map(place).collect()
    }

    fn component(mut self) -> Vec<u8> {
        let described: String = (0..)
            .step_by(8)
            .zip(self.places().into_iter().take(3))
            .map(|(to, (at, length))| {
                format!(
                    "(i32.store offset={to} (i32.const {DESCRIPTION_ADDRESS}) (i32.const {at}))
                    (i32.store offset={} (i32.const {DESCRIPTION_ADDRESS}) (i32.const {length}))",
                    to + 4
                )
            })
            .collect();
        self.functions.push_str(&format!(
            "(func (export \"boson:types/about@1.0.0#describe\") (result i32) {described} (i32.const {DESCRIPTION_ADDRESS}))"
        ));
        let texts: String = self
            .texts
            .concat()
            .bytes()
            .map(|byte| format!("\\{byte:02x}"))
            .collect();
        let module = format!(
            "(module {}
                (memory (export \"memory\") 128)
                (global $top (mut i32) (i32.const 65536))
                (data (i32.const {TEXTS_ADDRESS}) \"{texts}\")
                (func $new (param $size i32) (result i32)
                    (global.get $top)
                    (global.set $top (i32.and (i32.add (i32.add (global.get $top) (local.get $size)) (i32.const 15)) (i32.const -16))))
                (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) (call $new (local.get 3)))
                {})",
            self.imports, self.functions
        );
        component_of(&module, self.stage, self.world.unwrap_or(self.stage), self.packages).unwrap()
    }
}

/// Returns the first document of the request; it is the first member of the result.
fn echo() -> String {
    format!(
        "(i32.store offset=4 (i32.const {RESULT_ADDRESS}) (i32.load (local.get 0)))
        (i32.store offset=8 (i32.const {RESULT_ADDRESS}) (i32.load offset=4 (local.get 0)))
        (i32.const {RESULT_ADDRESS})"
    )
}
