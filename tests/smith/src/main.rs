//! Generates WebAssembly: `boson-smith DIRECTORY FIRST COUNT [SHAPE...]` writes three files for each number from FIRST,
//! always the same ones. SHAPE: core modules whose exports a generated plugin has.
//!
//! ```text
//! <number>-module.wasm       any core module
//! <number>-plugin.wasm       a core module with the exports of a shape, and any code
//! <number>-component.wasm    any component
//! ```

use arbitrary::{Arbitrary, Unstructured};
use std::error::Error;
use std::path::Path;
use wasm_smith::{Component, Config, Module};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, first, count, shapes @ ..] = &arguments[..] else {
        return Err("usage: boson-smith DIRECTORY FIRST COUNT [SHAPE...]".into());
    };
    let (first, count): (u64, u64) = (first.parse()?, count.parse()?);
    let shapes: Vec<Vec<u8>> = shapes.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    for number in first..first.saturating_add(count) {
        let write = |kind: &str, bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) => std::fs::write(Path::new(directory).join(format!("{number}-{kind}.wasm")), bytes),
            None => Ok(()),
        };
        let noise = noise(number);
        write("module", module(&noise))?;
        write("component", component(&noise))?;
        let shape = usize::try_from(number)
            .ok()
            .and_then(|nth| shapes.get(nth % shapes.len().max(1)));
        write("plugin", shape.and_then(|shape| plugin(&noise, number, shape)))?;
    }
    Ok(())
}

/// Bytes that decide what is generated.
fn noise(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let length = 1 << (8 + u64::from(next()) % 7);
    (0..length).map(|_| next()).collect()
}

/// `None` if the noise makes no module.
fn module(noise: &[u8]) -> Option<Vec<u8>> {
    let mut source = Unstructured::new(noise);
    let config = Config::arbitrary(&mut source).ok()?;
    Some(Module::new(config, &mut source).ok()?.to_bytes())
}

fn component(noise: &[u8]) -> Option<Vec<u8>> {
    let mut source = Unstructured::new(noise);
    let config = Config::arbitrary(&mut source).ok()?;
    Some(Component::new(config, &mut source).ok()?.to_bytes())
}

/// Half of them use only what the host supports, so that their code runs.
fn plugin(noise: &[u8], number: u64, shape: &[u8]) -> Option<Vec<u8>> {
    let mut source = Unstructured::new(noise);
    let mut config = Config::arbitrary(&mut source).ok()?;
    if number.is_multiple_of(2) {
        config.gc_enabled = false;
        config.exceptions_enabled = false;
        config.threads_enabled = false;
        config.memory64_enabled = false;
        config.custom_page_sizes_enabled = false;
        config.wide_arithmetic_enabled = false;
        config.shared_everything_threads_enabled = false;
        config.max_imports = 0;
        config.max_memory32_bytes = 4 << 20;
        config.max_table_elements = 1000;
        config.max_instructions = 300;
    }
    config.exports = Some(shape.to_vec());
    config.available_imports = None;
    config.module_shape = None;
    config.allow_start_export = true;
    Some(Module::new(config, &mut source).ok()?.to_bytes())
}
