//! Generates values: missing ones, and those that the variable's update mode replaces.

use super::{Path, Resolver, with_context};
use crate::diagnostic::Diagnostic;
use crate::stage::{Definition, StageError, VariableRules};
use crate::variables::codes;
use crate::variables::definitions::generate::signer_name;
use crate::variables::definitions::update::{self, UpdateMode};
use boson_document::{Pointer, Tree};

// === impl Resolver ===

impl<'a> Resolver<'a> {
    /// Has the value generated if it is missing, or if the variable's update mode asks for another one.
    pub(super) fn ensure(
        &mut self,
        definition: &Definition,
        kind: &str,
        options: &Tree,
        path: &mut Path<'a>,
    ) -> Result<bool, StageError> {
        self.warn_about_ignored_options(definition, kind, options);
        if self.value(&definition.name).is_none() {
            return self.generate(definition, kind, options, path);
        }
        let own = definition.update_mode.as_deref().and_then(UpdateMode::named);
        let mode = self.update_mode.map(|default| own.unwrap_or(default));
        let Some(mode) = mode.filter(|_| self.table.get(&definition.name).is_none()) else {
            return Ok(true);
        };
        if mode == UpdateMode::Converge {
            self.resolve_signer(definition, kind, options, path)?;
        }
        match self.replacement_reason(definition, kind, options, mode) {
            Some(why) => {
                self.warnings
                    .push(update::regenerated_note(definition, why, self.document));
                self.generate(definition, kind, options, path)
            }
            None => Ok(true),
        }
    }

    /// Warns about options without effect, if the value is generated from them.
    fn warn_about_ignored_options(&mut self, definition: &Definition, kind: &str, options: &Tree) {
        let Some(generator) = self
            .generator
            .as_ref()
            .filter(|_| self.table.get(&definition.name).is_none())
        else {
            return;
        };
        for name in generator.ignored(kind, options) {
            let message = format!("Option '{name}' of variable '{}' has no effect", definition.name);
            let warning = Diagnostic::warning(codes::VARIABLES_IGNORED_OPTION, message).in_document(self.document);
            let place = Pointer::parse(&definition.pointer).unwrap_or_default();
            self.warnings.push(warning.at(place.at("options").at(name)));
        }
    }

    /// Why the value is to be replaced, if it is.
    fn replacement_reason(
        &self,
        definition: &Definition,
        kind: &str,
        options: &Tree,
        mode: UpdateMode,
    ) -> Option<&'static str> {
        let (name, recipes) = (&definition.name, &self.store.recipes);
        let value = self.store.get(name)?;
        let signer = || signer_name(kind, options).and_then(|name| self.value(name));
        match mode {
            UpdateMode::NoOverwrite => None,
            UpdateMode::Overwrite => Some("its update mode is overwrite"),
            UpdateMode::Converge if recipes.differ(name, kind, options, value) => Some("its options have changed"),
            UpdateMode::Converge if recipes.contains(name, value) && update::signed_by_another(value, signer()) => {
                Some("its CA has changed")
            }
            UpdateMode::Converge => None,
        }
    }

    /// Makes sure that the CA has its value, if the order of definitions is irrelevant.
    fn resolve_signer(
        &mut self,
        definition: &Definition,
        kind: &str,
        options: &Tree,
        path: &mut Path<'a>,
    ) -> Result<(), StageError> {
        let Some(signer) = signer_name(kind, options).filter(|_| self.rules == VariableRules::Director) else {
            return Ok(());
        };
        let context = format!("Generating variable '{}': Loading certificates", definition.name);
        self.resolve_within(signer, path)
            .map(drop)
            .map_err(|error| with_context(error, &context))
    }

    fn generate(
        &mut self,
        definition: &Definition,
        kind: &str,
        options: &Tree,
        path: &mut Path<'a>,
    ) -> Result<bool, StageError> {
        self.resolve_signer(definition, kind, options, path)?;
        let signer = signer_name(kind, options);
        let signer = signer.and_then(|name| self.table.get(name).or_else(|| self.store.get(name)));
        let Some(generator) = &mut self.generator else {
            return Ok(false);
        };
        let value = generator.generate(definition, options, signer);
        let value = value.map_err(|error| StageError::Input(vec![self.placed(error, &definition.pointer)]))?;
        if self.update_mode.is_some() {
            self.store.recipes.record(&definition.name, kind, options, &value);
        }
        self.store.put(&definition.name, value);
        Ok(true)
    }
}
