//! Makes a component of a core module, so that authors of plugins need only their compiler and `wit-bindgen`, and
//! answers WASI in components that other tools have made. It does no input or output.
//!
//! ```text
//! core module -> its world (its `component-type` section, or the contract) -> WASI answered inside the module
//!     -> component
//! component that imports WASI -> its world -> a component that exports that part of WASI -> both in one component
//! ```
//!
//! # Guarantees
//! The component imports nothing but types, a wrapper also the interface that it exports, and one with output the
//! console. The same module always gives the same bytes.
//!
//! # Caveats
//! A runtime that needs WASI gets no arguments, no environment and no files; the time is fixed.
//! `random_get` is **not random**: while the module starts (`_initialize`), it fills buffers with a fixed byte, because
//! Go takes a seed for its maps from it. Afterwards it fails, so that no plugin creates keys or passwords that anybody
//! can predict. Rust's `HashMap` on WASI takes its first seed later: build Rust for `wasm32-unknown-unknown`.
//!
//! A module can overflow the stack: `wit-parser` orders the packages of a world by recursion, without end if they use
//! each other. Call [`component`] and [`without_wasi`] for files of users only in a process that may end, as `host
//! make-component` and `host compile-plugin` do.

mod answers;
mod composed;
mod console;
mod contract;
mod error;
mod foreign;
mod imports;
mod packages;
mod provider;
mod start;
mod wasi;

pub use contract::{Function, contract, functions};
pub use error::{Error, help_for_import};
pub use foreign::without_wasi;
pub use packages::{Package, packages, wit};

use contract::Declared;
use walrus::Module;
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Version of the answers to WASI that [`without_wasi`] adds. Machine code of a component with others is outdated.
pub const ANSWERS: &str = env!("ANSWERS");

/// Magic number and version of a core module. In a component, the version is another one.
const CORE: &[u8] = b"\0asm\x01\0\0\0";

/// Whether the bytes are a core module, which [`component`] makes a component of.
pub fn is_core_module(bytes: &[u8]) -> bool {
    bytes.starts_with(CORE)
}

/// Makes a component of a core module.
///
/// The world is the one in the module's `component-type` section, which `wit-bindgen` writes for Rust and C. A module
/// without this section, such as one of Go, gets the world of the contract whose interfaces it exports.
///
/// # Errors
/// It is not a core module, has no world or not the exports of its world, or imports what no plugin has.
pub fn component(core: &[u8]) -> Result<Vec<u8>, Error> {
    // The crates that read worlds and modules expect those of compilers, and panic for some others.
    std::panic::catch_unwind(|| make_component(core)).unwrap_or(Err(Error::Unexpected))
}

fn make_component(core: &[u8]) -> Result<Vec<u8>, Error> {
    if !is_core_module(core) {
        return Err(Error::NotCore);
    }
    let mut module = Module::from_buffer(core).map_err(|error| Error::Invalid(format!("{error:#}")))?;
    start::check(&module)?;
    let declared = Declared::of(core, &module)?;
    let prints = imports::replace_all(&mut module, &declared)?;
    let mut sealed = module.emit_wasm();
    if !declared.in_module {
        let (resolve, world) = (&declared.resolve, declared.world);
        embed_component_metadata(&mut sealed, resolve, world, StringEncoding::UTF8).map_err(Error::mismatch)?;
    }
    if prints {
        embed(&mut sealed, &console::WORLD)?;
    }
    provider::encode(&sealed)
}

/// Adds the world of the last of these packages to that of a module.
fn embed(module: &mut Vec<u8>, packages: &[(&str, &str)]) -> Result<(), Error> {
    let mut resolve = Resolve::default();
    let mut last = None;
    for (file, text) in packages {
        last = Some(resolve.push_str(file, text).map_err(Error::mismatch)?);
    }
    let world = resolve.select_world(last.as_slice(), None).map_err(Error::mismatch)?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8).map_err(Error::mismatch)
}
