//! Our Ruby files in the order they load.

/// A Ruby file of the renderer.
pub struct Script {
    /// The name in Ruby's backtraces.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
}

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(Script { name: concat!("boson/", $name), text: include_str!(concat!("../ruby/", $name)) }),*]
    };
}

/// `warm_up.rb` is the last: it renders a template, so that an instance finds Ruby's caches filled.
pub const SCRIPTS: &[Script] = scripts![
    "stand_ins.rb",
    "libraries.rb",
    "structs.rb",
    "errors.rb",
    "lookup.rb",
    "link.rb",
    "context.rb",
    "document.rb",
    "source.rb",
    "sealed.rb",
    "clock.rb",
    "randomness.rb",
    "renderer.rb",
    "description.rb",
    "memory.rb",
    "plugin.rb",
    "warm_up.rb",
];
