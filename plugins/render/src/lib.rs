//! Seals CRuby and our ERB renderer into one component that imports nothing.
//!
//! CRuby comes as a WebAssembly module (`package`) that imports about fifty functions of its host. `imports` answers
//! every import inside the module, `glue` adds the exports of the typed `render` world, `snapshot` starts Ruby once,
//! loads the renderer (`../ruby/*.rb`, listed by `scripts`) and writes the warm memory back into the module, and
//! `component` wraps the module by the WIT contract. An instance then starts in a tenth of a millisecond, and every one
//! starts the same.

mod component;
mod glue;
mod imports;
mod package;
mod scripts;
mod snapshot;

pub use component::{check_sealed, encode};
pub use package::{DIGEST, read_package};
pub use scripts::{SCRIPTS, Script};

use anyhow::{Context, Result};

/// The `render` component, made from the bytes of CRuby's module (see [`read_package`]). `progress` is called with the
/// next step.
///
/// # Errors
///
/// When the module is unknown, or one of our Ruby files does not load; the text names it.
pub fn build(ruby: &[u8], progress: &mut dyn FnMut(&str)) -> Result<Vec<u8>> {
    progress("answering the imports of CRuby");
    let mut module = walrus::ModuleConfig::new()
        .generate_name_section(true)
        .generate_producers_section(false)
        .parse(ruby)
        .context("reading the module of CRuby")?;
    let state = imports::replace_all(&mut module)?;
    glue::add_exports(&mut module, &state)?;
    let sealed = module.emit_wasm();
    drop(module);

    let warm = snapshot::warm_up(&sealed, progress).map_err(|error| anyhow::anyhow!("{error:?}"))?;

    progress("wrapping the component");
    let core = glue::drop_build_exports(&warm)?;
    let component = component::encode_render(core)?;
    check_sealed(&component)?;
    Ok(component)
}
