//! The commands for plugins: `host run-plugin`, those of `host plugin`, and those that `host` itself calls as child
//! processes.

pub mod approve;
pub mod check_settings;
pub mod compile_plugin;
pub mod component;
pub mod inspect;
pub mod list;
pub mod make_component;
pub mod new;
pub mod pack;
pub mod precompile;
pub mod pull;
pub mod push;
pub mod rollback;
pub mod run_plugin;
pub mod test;
pub mod verify;
pub mod wit;
