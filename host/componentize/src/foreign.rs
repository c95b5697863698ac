//! Components that other tools have made.

use crate::composed::{compose, exports};
use crate::{Error, provider};
use wasmparser::{CanonicalFunction, CanonicalOption, Parser, Payload};

/// A component with WASI answered inside of it; `None` if it does not import WASI.
///
/// The component that is returned imports what the other one does, without WASI, and the console if it writes output.
///
/// # Errors
/// [`Error::Async`]: it uses functions that are async. Or its world cannot be read.
pub fn without_wasi(component: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    // The crates that read worlds panic for some that no compiler makes.
    let answered = std::panic::catch_unwind(|| answer_wasi(component)).unwrap_or(Err(Error::Unexpected));
    answered.map_err(|error| match error {
        Error::Async => error,
        other => Error::Wasi(other.to_string()),
    })
}

fn answer_wasi(component: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    // Whoever compiles the component says why it is not valid.
    let Ok(uses) = Uses::of(component) else {
        return Ok(None);
    };
    if uses.is_async {
        return Err(Error::Async);
    }
    if !uses.wasi {
        return Ok(None);
    }
    let (resolve, world) = provider::world(component)?;
    let exports = exports(&resolve, world);
    let provider = provider::provider(resolve, world)?;
    compose(component, &provider, &exports).map(Some)
}

/// What a component uses.
#[derive(Default)]
struct Uses {
    wasi: bool,
    is_async: bool,
}

// === impl Uses ===

impl Uses {
    fn of(component: &[u8]) -> wasmparser::Result<Self> {
        let (mut depth, mut uses) = (0_usize, Self::default());
        for payload in Parser::new(0).parse_all(component) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        uses.wasi |= import?.name.name.starts_with("wasi:");
                    }
                }
                Payload::ComponentCanonicalSection(section) => {
                    for function in section {
                        uses.is_async |= is_async(&function?);
                    }
                }
                _ => {}
            }
        }
        Ok(uses)
    }
}

/// Whether a component defines a function only for async calls, streams or threads.
fn is_async(function: &CanonicalFunction) -> bool {
    match function {
        CanonicalFunction::Lift { options, .. } | CanonicalFunction::Lower { options, .. } => {
            options.iter().any(|option| matches!(option, CanonicalOption::Async))
        }
        CanonicalFunction::ResourceNew { .. }
        | CanonicalFunction::ResourceDrop { .. }
        | CanonicalFunction::ResourceRep { .. } => false,
        _ => true,
    }
}
