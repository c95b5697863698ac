//! Who returned objects or edits: a plugin, by its names and its installer. Permissions of an administrator refer to
//! it.

/// A plugin, as permissions and messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// Its name in messages; with the digest, if it does not ship with the host.
    pub called: String,
    /// Its names. On the command line a plugin has two: that of its option or file, and its own.
    pub names: Vec<String>,
    /// Who installed it.
    pub installer: Installer,
}

/// Who installed a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installer {
    /// It ships with the host.
    BuiltIn,
    /// The user of a command.
    CommandLine,
    /// Users who can write ConfigMaps in this namespace.
    Namespace {
        name: String,
        /// Whether the operator itself runs there.
        is_of_operator: bool,
    },
}

// === impl Author ===

impl Author {
    /// A plugin that ships with the host, or the host itself.
    pub fn built_in(name: &str) -> Self {
        Self {
            called: name.into(),
            names: vec![name.into()],
            installer: Installer::BuiltIn,
        }
    }

    pub fn is_built_in(&self) -> bool {
        self.installer == Installer::BuiltIn
    }

    /// What precedes a permission that is for this plugin only.
    pub(crate) fn prefix(&self) -> String {
        let name = self.names.first().map_or("*", String::as_str);
        match &self.installer {
            Installer::BuiltIn => String::new(),
            Installer::Namespace {
                name: namespace,
                is_of_operator: false,
            } => format!("{namespace}/{name}:"),
            _ => format!("{name}:"),
        }
    }
}

impl From<&str> for Author {
    fn from(name: &str) -> Self {
        Self::built_in(name)
    }
}
