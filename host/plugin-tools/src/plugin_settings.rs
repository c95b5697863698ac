//! Which settings of `--plugin-settings` a plugin gets: those that name it, else those for its stage. Unused settings
//! are reported.

use crate::codes;
use crate::plugin_arguments::Replacement;
use boson_commands::inputs;
use boson_document::Tree;
use boson_pipeline::report::Sources;
use boson_pipeline::settings::Settings;
use boson_pipeline::yaml::{Document, Mark};
use boson_pipeline::{Diagnostic, Stage};

/// The given files, and which of them are used.
pub struct Given {
    files: Vec<(Settings, bool)>,
}

// === impl Given ===

impl Given {
    /// Keeps the settings for plugins of these stages; other plugins are not loaded.
    pub fn new(settings: Vec<Settings>, stages: &[Stage]) -> Self {
        let ours = settings.into_iter().filter(|one| stages.contains(&one.stage));
        Self {
            files: ours.map(|one| (one, false)).collect(),
        }
    }

    /// Settings for the plugin of this stage with these names.
    ///
    /// # Errors
    /// There are several.
    pub fn take(&mut self, stage: Stage, names: &[&str]) -> Result<Option<Document>, Diagnostic> {
        let is_own = |one: &Settings| one.plugin.as_deref().is_some_and(|name| names.contains(&name));
        let mut own = self.positions(stage, is_own);
        if own.is_empty() {
            own = self.positions(stage, |one| one.plugin.is_none());
        }
        own.iter().for_each(|at| self.files[*at].1 = true);
        let mut files = own.into_iter().map(|at| &self.files[at].0);
        match (files.next(), files.next()) {
            (Some(one), Some(other)) => Err(duplicate_error(one, other)),
            (one, _) => Ok(one.map(|one| one.document.clone())),
        }
    }

    fn positions(&self, stage: Stage, is_wanted: impl Fn(&Settings) -> bool) -> Vec<usize> {
        let files = self.files.iter().enumerate();
        let wanted = files.filter(|(_, (one, _))| one.stage == stage && is_wanted(one));
        wanted.map(|(at, _)| at).collect()
    }

    /// Errors for files that no plugin uses. `loaded`: stage and name of each plugin.
    pub fn unused(&self, loaded: &[(Stage, String)]) -> Vec<Diagnostic> {
        let unused = self.files.iter().filter(|(_, taken)| !taken);
        unused.map(|(one, _)| no_plugin(one, loaded)).collect()
    }
}

/// The given files, and errors of those that cannot be read.
pub fn read(files: &[Replacement], sources: &mut Sources) -> (Vec<Settings>, Vec<Diagnostic>) {
    let (mut settings, mut errors) = (Vec::new(), Vec::new());
    for one in files {
        match inputs::secret_file(&one.value, sources) {
            Ok(document) => settings.push(Settings {
                stage: one.stage,
                plugin: one.name.clone(),
                document,
            }),
            Err(error) => errors.push(error),
        }
    }
    (settings, errors)
}

fn duplicate_error(one: &Settings, other: &Settings) -> Diagnostic {
    let (first, second) = (&one.document.name, &other.document.name);
    let message = match &one.plugin {
        Some(plugin) => format!("plugin '{plugin}' has settings in two files: '{first}' and '{second}'"),
        None => format!(
            "the stage '{}' has settings in two files: '{first}' and '{second}'",
            one.stage
        ),
    };
    let help = "remove one; to give each of several plugins its own settings, use --plugin-settings STAGE:NAME=FILE";
    Diagnostic::error(codes::PLUGIN_SETTINGS_TWICE, message)
        .in_document(second)
        .help(help)
}

fn no_plugin(one: &Settings, loaded: &[(Stage, String)]) -> Diagnostic {
    let stage = one.stage;
    let names = loaded
        .iter()
        .filter(|(of, _)| *of == stage)
        .map(|(_, name)| name.as_str());
    let names: Vec<&str> = names.collect();
    let message = match &one.plugin {
        Some(plugin) => format!("there is no plugin '{plugin}' of the stage '{stage}' for these settings"),
        None if names.is_empty() => format!("there is no plugin of the stage '{stage}' for these settings"),
        None => format!("each plugin of the stage '{stage}' has its own settings: these have no effect"),
    };
    let help = match names.as_slice() {
        [] => format!("add the plugin: --plugin {stage}=FILE"),
        names => format!("plugins of this stage: {}", names.join(", ")),
    };
    Diagnostic::error(codes::PLUGIN_SETTINGS_UNUSED, message)
        .in_document(&one.document.name)
        .help(help)
}

/// Settings without source lines.
pub fn document(name: &str, tree: &Tree) -> Document {
    Document {
        name: name.to_string(),
        text: "".into(),
        tree: tree.clone(),
        marks: Mark::default(),
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::yaml;

    fn settings(stage: Stage, plugin: Option<&str>, file: &str) -> Settings {
        Settings {
            stage,
            plugin: plugin.map(str::to_string),
            document: yaml::read(file, "{}").unwrap(),
        }
    }

    #[test]
    fn settings_that_name_a_plugin_come_before_those_of_its_stage() {
        let all = [
            settings(Stage::Resources, None, "all.yml"),
            settings(Stage::Resources, Some("b"), "b.yml"),
            settings(Stage::Bpm, Some("b"), "bpm.yml"),
            settings(Stage::Render, None, "render.yml"),
        ];
        let mut given = Given::new(all.to_vec(), &[Stage::Resources, Stage::Bpm]);
        let mut taken = |stage, names: &[&str]| given.take(stage, names).unwrap().map(|one| one.name);
        assert_eq!(taken(Stage::Resources, &["a", "labels"]).as_deref(), Some("all.yml"));
        assert_eq!(taken(Stage::Resources, &["x", "b"]).as_deref(), Some("b.yml"));
        assert_eq!(taken(Stage::Ops, &["ops"]), None);
        let unused = given.unused(&[(Stage::Bpm, "bpm".into())]);
        assert_eq!(unused.len(), 1, "{unused:?}");
        assert_eq!(
            unused[0].message,
            "there is no plugin 'b' of the stage 'bpm' for these settings"
        );
        assert_eq!(unused[0].help.as_deref(), Some("plugins of this stage: bpm"));
    }

    #[test]
    fn two_files_for_one_plugin_are_refused() {
        for plugin in [None, Some("a")] {
            let all = ["1.yml", "2.yml"].map(|file| settings(Stage::Resources, plugin, file));
            let error = Given::new(all.to_vec(), &Stage::ALL)
                .take(Stage::Resources, &["a"])
                .unwrap_err();
            assert_eq!(error.code, "plugin-settings-twice");
            assert!(error.message.contains("'1.yml' and '2.yml'"), "{}", error.message);
        }
    }
}
