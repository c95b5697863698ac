//! Core modules that a user gives in place of components: compilers make them, and a component is made of them here.
//! This takes place in a process of its own, `host make-component`, so that no module can end this one.

use crate::codes;
use boson_commands::user_cache;
use boson_componentize::Error;
use boson_oci::{Digest, digest};
use boson_pipeline::Diagnostic;
use boson_pipeline::packed::MAX_COMPONENT_BYTES;
use boson_sandbox::{Cache, Task};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What the process replies on its standard output.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Made(Vec<u8>),
    /// Why none can be made, and what to do.
    Refused(String, Option<String>),
}

// === impl Reply ===

impl Reply {
    pub fn of(made: Result<Vec<u8>, Error>) -> Self {
        let refused = |error: Error| Self::Refused(error.to_string(), error.help().map(str::to_string));
        made.map_or_else(refused, Self::Made)
    }

    /// The component, or the message and the help on a line each: no message begins like a component.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Made(component) => component,
            Self::Refused(message, help) => {
                let message = message.replace(char::is_control, " ");
                format!("{message}\n{}", help.unwrap_or_default()).into_bytes()
            }
        }
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        if bytes.starts_with(b"\0asm") {
            return Self::Made(bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let (message, help) = text.split_once('\n').unwrap_or((&text, ""));
        Self::Refused(
            message.to_string(),
            Some(help.to_string()).filter(|help| !help.is_empty()),
        )
    }
}

/// Whether a file has a core module.
pub fn is_at(path: &Path) -> bool {
    let mut begin = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && boson_componentize::is_core_module(&begin)
}

/// The component of a file that has a core module; `None` for any other file, also one that cannot be read.
///
/// # Errors
/// No component can be made of the module.
pub fn component(path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
    let bound = u64::try_from(MAX_COMPONENT_BYTES).unwrap_or(u64::MAX);
    let Ok(file) = File::open(path) else { return Ok(None) };
    let (mut file, mut bytes) = (file.take(bound), Vec::new());
    // The beginning decides: a component is read by the sandbox.
    let begin = file.by_ref().take(8).read_to_end(&mut bytes);
    if begin.is_err() || !boson_componentize::is_core_module(&bytes) || file.read_to_end(&mut bytes).is_err() {
        return Ok(None);
    }
    match make_cached(&bytes) {
        Reply::Made(component) => Ok(Some(component)),
        Reply::Refused(message, help) => Err(module_error(path, &message, help)),
    }
}

/// A component is made once by each build of this program, because Go's takes a second.
fn make_cached(module: &[u8]) -> Reply {
    let cache = Cache::new(user_cache::directory("compiled"), None);
    let key = key(module);
    if let Some(component) = key.as_ref().and_then(|key| cache.component(key)) {
        return Reply::Made(component);
    }
    let reply = make(module);
    if let (Reply::Made(component), Some(key)) = (&reply, key) {
        cache.keep_component(&key, component);
    }
    reply
}

/// All that determines the component: the module, and this program. `None` if its file is unknown.
fn key(module: &[u8]) -> Option<Digest> {
    let program = std::env::current_exe().and_then(std::fs::metadata).ok()?;
    let (version, size, time) = (env!("CARGO_PKG_VERSION"), program.len(), program.modified().ok()?);
    let module = digest(module);
    Some(digest(format!("{module} {version} {size} {time:?}").as_bytes()))
}

fn make(module: &[u8]) -> Reply {
    tracing::debug!("making a component of a core module");
    let replied = match std::env::current_exe() {
        Ok(program) => Task::MakeComponent.run(&program, module),
        Err(error) => Err(format!("cannot be compiled: {error}")),
    };
    match replied {
        Ok(bytes) => Reply::from_bytes(bytes),
        Err(reason) => Reply::Refused(format!("it {reason}"), Error::Unexpected.help().map(str::to_string)),
    }
}

fn module_error(path: &Path, error: &str, help: Option<String>) -> Diagnostic {
    let message = format!(
        "no component can be made of the core module '{}': {error}",
        path.display()
    );
    Diagnostic {
        help,
        ..Diagnostic::error(codes::PLUGIN_CORE_MODULE, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_as_it_was_written() {
        for reply in [
            Reply::Made(b"\0asm\x0d\0\x01\0".to_vec()),
            Reply::of(Err(Error::NoWorld)),
            Reply::of(Err(Error::NotCore)),
        ] {
            let copy = match &reply {
                Reply::Made(component) => Reply::Made(component.clone()),
                Reply::Refused(message, help) => Reply::Refused(message.clone(), help.clone()),
            };
            assert_eq!(Reply::from_bytes(reply.into_bytes()), copy);
        }
        let message = "two\nlines".to_string();
        let read = Reply::from_bytes(Reply::Refused(message, None).into_bytes());
        assert_eq!(read, Reply::Refused("two lines".into(), None));
    }
}
