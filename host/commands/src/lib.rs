//! What the commands of `host` share: reading and writing files, output and exit codes, the question before a
//! change, and the options for memory, registries and the API server.

pub mod codes;
pub mod columns;
pub mod confirm;
pub mod connection;
pub mod duration;
pub mod exit;
pub mod files;
pub mod folder;
pub mod inputs;
pub mod memory;
pub mod output;
pub mod registries;
pub mod runtime;
pub mod storage;
pub mod user_cache;

pub use codes::ALL as CODES;
