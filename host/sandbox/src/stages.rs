//! The six stages on plugins: `pipeline::Stages` by calls into components.

use crate::account::{self, Account};
use crate::bindings::exports::boson::{bpm, links, ops, render, resources, variables};
use crate::call::Measures;
use crate::conversions::{document, documents, failed, object_reference, references, refusal, reply, specs};
use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::plugin::Plugin;
use boson_document::{Tree, json};
use boson_pipeline::stage::{
    Applied, Definition, Deployment, Edits, GroupRequest, Interpolated, JobSpec, Named, Origin, Provider, Rendered,
    Reply, Resolved, ResolvedGroup, StageError, Template, Variable, VariableRules, VariablesPlan,
};
use boson_pipeline::{Stage, Stages};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// One plugin for each stage, and any number for `resources`.
pub struct Plugins {
    sandbox: Sandbox,
    rules: BTreeMap<Stage, Plugin>,
    resources: Vec<Plugin>,
    used: Mutex<BTreeMap<Stage, (u32, Measures)>>,
    account: Account,
}

/// Makes a call and turns the three ways it can end (trap, `err`, `ok`) into a reply.
macro_rules! call {
    ($self:ident, $plugin:expr, $interface:path, |$guest:ident, $store:ident| $body:expr) => {{
        use $interface as interface;
        let plugin: &Plugin = $plugin;
        let (result, measures) = $self.sandbox.call(plugin, &$self.account, |$store, instance| {
            let $guest = interface::GuestIndices::new(&plugin.pre)?.load(&mut *$store, instance)?;
            $body
        });
        $self.count(plugin.stage, measures);
        match result {
            Err(failure) => return Err(failed(&failure)),
            Ok(Err(diagnostics)) => return Err(refusal(plugin.name(), diagnostics)),
            Ok(Ok(value)) => value,
        }
    }};
}

// === impl Plugins ===

impl Plugins {
    /// No plugin yet.
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            rules: BTreeMap::new(),
            resources: Vec::new(),
            used: Mutex::default(),
            account: Account::unbounded(),
        }
    }

    /// With an account that all calls from now on go to: that of one conversion.
    #[must_use]
    pub fn with_account(mut self, account: Account) -> Self {
        self.account = account;
        self
    }

    /// Puts a plugin in the place of the one its stage had; one of `resources` comes after those there are.
    pub fn insert(&mut self, plugin: Plugin) {
        if plugin.stage == Stage::Resources {
            self.resources.push(plugin);
        } else {
            self.rules.insert(plugin.stage, plugin);
        }
    }

    /// All of them, in the order of the flow.
    pub fn iter(&self) -> impl Iterator<Item = &Plugin> {
        self.rules.values().chain(&self.resources)
    }

    /// Where they run.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Calls made so far, and what they used: fuel and time summed, memory at most.
    pub fn usage(&self) -> BTreeMap<Stage, (u32, Measures)> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, stage: Stage, measures: Measures) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let (calls, sum) = used.entry(stage).or_default();
        *calls += 1;
        sum.fuel += measures.fuel;
        sum.elapsed += measures.elapsed;
        sum.memory = sum.memory.max(measures.memory);
    }

    fn plugin(&self, stage: Stage) -> Result<&Plugin, StageError> {
        self.rules.get(&stage).ok_or_else(|| {
            let failure = Failure::new(
                FailureKind::Refused,
                stage.name(),
                "is missing: no plugin of this stage is installed",
            );
            failed(&failure)
        })
    }
}

/// A document of the reply, or the end of the stage.
fn read(plugin: &Plugin, what: &str, text: &str) -> Result<Tree, StageError> {
    document(plugin.name(), what, text).map_err(|failure| failed(&failure))
}

/// The plugin's settings with a member that the pipeline decides.
fn with_setting(settings: &str, name: &str, value: &str) -> String {
    let settings = json::parse(settings).unwrap_or_else(|_| Tree::object());
    json::to_text(&settings.with(name, value))
}

/// Whose rules the variables stage follows.
fn with_rules(settings: &str, rules: VariableRules) -> String {
    with_setting(
        settings,
        "rules",
        if rules == VariableRules::Cli { "cli" } else { "director" },
    )
}

// === impl Stages for Plugins ===

impl Stages for Plugins {
    fn apply(&self, doc: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        let plugin = self.plugin(Stage::Ops)?;
        let text = json::to_text(doc.tree);
        let files: Vec<_> = files
            .iter()
            .map(|file| ops::operations::OperationsFile {
                name: file.name.into(),
                operations: json::to_text(file.tree),
            })
            .collect();
        let said = call!(self, plugin, ops::operations, |guest, store| guest.call_apply(
            store,
            &text,
            doc.name,
            &files,
            &plugin.settings
        ));
        let origins = said.origins.into_iter().map(|origin| Origin {
            pointer: origin.pointer,
            document: origin.document,
            source: origin.source,
        });
        let applied = Applied {
            document: read(plugin, "document", &said.document)?,
            origins: origins.collect(),
        };
        reply(applied, said.diagnostics)
    }

    fn find(&self, doc: Named<'_>, path: &str) -> Reply<Tree> {
        let plugin = self.plugin(Stage::Ops)?;
        let text = json::to_text(doc.tree);
        let said = call!(self, plugin, ops::operations, |guest, store| guest.call_find(
            store,
            &text,
            doc.name,
            path,
            &plugin.settings
        ));
        Ok((read(plugin, "the value found", &said)?, Vec::new()))
    }

    fn plan(&self, doc: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        let plugin = self.plugin(Stage::Variables)?;
        let (text, settings) = (json::to_text(doc.tree), with_rules(&plugin.settings, rules));
        let said = call!(self, plugin, variables::interpolation, |guest, store| guest
            .call_plan(store, &text, doc.name, &settings));
        let mut definitions = Vec::new();
        for one in said.definitions {
            definitions.push(Definition {
                options: read(plugin, "options", &one.options)?,
                consumes: read(plugin, "consumes", &one.consumes)?,
                name: one.name,
                kind: one.kind,
                update_mode: one.update_mode,
                pointer: one.pointer,
            });
        }
        reply(
            VariablesPlan {
                definitions,
                references: references(said.references),
            },
            said.diagnostics,
        )
    }

    fn interpolate(&self, doc: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        let plugin = self.plugin(Stage::Variables)?;
        let (text, values) = (json::to_text(doc.tree), json::to_text(values));
        let settings = with_rules(&plugin.settings, rules);
        let said = call!(self, plugin, variables::interpolation, |guest, store| guest
            .call_interpolate(store, &text, doc.name, &values, &settings));
        let result = Interpolated {
            document: read(plugin, "document", &said.document)?,
            missing: references(said.missing),
            used: said.used,
        };
        reply(result, said.diagnostics)
    }

    fn resolve(&self, doc: Named<'_>, deployment: &Deployment, jobs: &[JobSpec<'_>]) -> Reply<Resolved> {
        let plugin = self.plugin(Stage::Links)?;
        let text = json::to_text(doc.tree);
        let said = call!(self, plugin, links::resolution, |guest, store| guest.call_resolve(
            store,
            &text,
            doc.name,
            &deployment.into(),
            &specs(jobs),
            &plugin.settings
        ));
        let mut resolved = Resolved {
            groups: Vec::new(),
            providers: Vec::new(),
        };
        for group in said.groups {
            resolved.groups.push(ResolvedGroup {
                document: read(plugin, "document", &group.document)?,
                name: group.name,
            });
        }
        for provider in said.providers {
            resolved.providers.push(Provider {
                properties: read(plugin, "properties", &provider.properties)?,
                name: provider.name,
                kind: provider.type_,
                group: provider.group,
                job: provider.job,
            });
        }
        reply(resolved, said.diagnostics)
    }

    fn variable_addresses(&self, doc: Named<'_>, deployment: &Deployment, jobs: &[JobSpec<'_>]) -> Reply<Tree> {
        let plugin = self.plugin(Stage::Links)?;
        let (text, settings) = (
            json::to_text(doc.tree),
            with_setting(&plugin.settings, "only", "variables"),
        );
        let said = call!(self, plugin, links::resolution, |guest, store| guest.call_resolve(
            store,
            &text,
            doc.name,
            &deployment.into(),
            &specs(jobs),
            &settings
        ));
        // A plugin of somebody else may know nothing of variables: they are warned about then.
        let told = said.extensions.iter().find(|(name, _)| name == "variable-addresses");
        let addresses = match told {
            Some((name, text)) => read(plugin, name, text)?,
            None => Tree::object(),
        };
        reply(addresses, said.diagnostics)
    }

    fn render(&self, templates: &[Template<'_>], context: &Tree) -> Reply<Vec<Rendered>> {
        let plugin = self.plugin(Stage::Render)?;
        let context = json::to_text(context);
        let templates: Vec<_> = templates
            .iter()
            .map(|template| render::templates::Template {
                name: template.name.into(),
                text: template.text.into(),
            })
            .collect();
        let said = call!(self, plugin, render::templates, |guest, store| guest.call_render(
            store,
            &templates,
            &context,
            &plugin.settings
        ));
        let files = said
            .files
            .into_iter()
            .map(|file| Rendered {
                name: file.name,
                content: file.content,
            })
            .collect();
        reply(files, said.diagnostics)
    }

    fn convert_deployment(&self, deployment: &Deployment, doc: Named<'_>, variables: &[Variable]) -> Reply<Vec<Tree>> {
        let plugin = self.plugin(Stage::Bpm)?;
        let request = bpm::conversion::DeploymentRequest {
            deployment: deployment.into(),
            document: json::to_text(doc.tree),
            document_name: doc.name.into(),
            variables: variables.iter().map(Into::into).collect(),
        };
        let said = call!(self, plugin, bpm::conversion, |guest, store| guest
            .call_convert_deployment(store, &request, &plugin.settings));
        let objects = documents(plugin.name(), "objects", &said.objects).map_err(|failure| failed(&failure))?;
        reply(objects, said.diagnostics)
    }

    fn convert_group(&self, request: &GroupRequest<'_>) -> Reply<Vec<Tree>> {
        let plugin = self.plugin(Stage::Bpm)?;
        let request = request.into();
        let said = call!(self, plugin, bpm::conversion, |guest, store| guest.call_convert_group(
            store,
            &request,
            &plugin.settings
        ));
        let objects = documents(plugin.name(), "objects", &said.objects).map_err(|failure| failed(&failure))?;
        reply(objects, said.diagnostics)
    }

    fn spent_here(&self) -> u64 {
        account::spent_here()
    }

    fn transforms(&self) -> usize {
        self.resources.len()
    }

    fn transform(&self, nth: usize, deployment: &Deployment, objects: &[Tree]) -> Reply<Edits> {
        let Some(plugin) = self.resources.get(nth) else {
            return Ok((Edits::default(), Vec::new()));
        };
        let texts: Vec<String> = objects.iter().map(json::to_text).collect();
        let said = call!(self, plugin, resources::transformation, |guest, store| guest
            .call_transform(store, &deployment.into(), &texts, &plugin.settings));
        let mut edits = Edits {
            removals: said.removals.into_iter().map(object_reference).collect(),
            additions: documents(plugin.name(), "additions", &said.additions).map_err(|failure| failed(&failure))?,
            ..Edits::default()
        };
        for one in said.patches {
            edits
                .patches
                .push((object_reference(one.object), read(plugin, "patch", &one.patch)?));
        }
        reply(edits, said.diagnostics)
    }
}
