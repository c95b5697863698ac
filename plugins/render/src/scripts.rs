//! Our Ruby files in the order they load.

/// A Ruby file of the renderer.
pub struct Script {
    /// The name in Ruby's backtraces.
    pub name: &'static str,
    pub text: &'static str,
}

/// Files of a folder, and the folder that they have in backtraces.
macro_rules! files {
    ($folder:literal as $shown:literal: $($name:literal),* $(,)?) => {
        &[$(Script { name: concat!($shown, $name), text: include_str!(concat!("../", $folder, $name)) }),*]
    };
}

/// What a call needs.
pub const SCRIPTS: &[Script] = files!["ruby/" as "boson/":
    "stand_ins.rb",
    "libraries.rb",
    "cgi.rb",
    "structs.rb",
    "errors.rb",
    "lookup.rb",
    "link.rb",
    "context.rb",
    "document.rb",
    "borrowed.rb",
    "source.rb",
    "sealed.rb",
    "clock.rb",
    "randomness.rb",
    "renderer.rb",
    "description.rb",
    "memory.rb",
    "plugin.rb",
];

/// The last file, which is loaded between calls for the samples.
pub(crate) const SETTLE: Script = Script {
    name: "boson/settle.rb",
    text: include_str!("../ruby/settle.rb"),
};

/// Templates that do what those of releases usually do.
pub(crate) const REHEARSAL: &[Script] = files!["rehearsal/" as "rehearsal/":
    "bpm.yml.erb",
    "config.erb",
    "config.yml.erb",
    "script.erb",
    "values.erb",
];

/// Templates that fail, each in another way.
pub(crate) const BROKEN: &[Script] = files!["rehearsal/" as "rehearsal/":
    "broken_link.erb",
    "broken_method.erb",
    "broken_property.erb",
    "broken_syntax.erb",
];

/// The context of all of them.
pub(crate) const CONTEXT: &str = include_str!("../rehearsal/context.json");
