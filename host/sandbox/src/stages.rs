//! The six stages on plugins: `pipeline::Stages` by calls into components.

use crate::account::{self, Account};
use crate::bindings::exports::boson::{bpm, links, ops, render, resources, variables};
use crate::call::Measures;
use crate::conversions::{object_reference, references, specs};
use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::plugin::Plugin;
use crate::reply::Reading;
use boson_document::{Tree, json};
use boson_pipeline::stage::{
    Addresses, Applied, Consumed, Definition, Deployment, Edits, GroupRequest, Interpolated, JobSpec, Named, Origin,
    Provider, Rendered, Reply, Resolved, ResolvedGroup, StageError, Template, Variable, VariableRules, VariablesPlan,
};
use boson_pipeline::{Stage, Stages};
use std::collections::{BTreeMap, HashSet};
use std::iter;
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
    ($self:ident, $plugin:expr, $reading:expr, $interface:path, |$guest:ident, $store:ident| $body:expr) => {{
        use $interface as interface;
        let plugin: &Plugin = $plugin;
        let (result, measures) = $self.sandbox.call(plugin, &$self.account, |$store, instance| {
            let $guest = interface::GuestIndices::new(&plugin.pre)?.load(&mut *$store, instance)?;
            $body
        });
        $self.count(plugin.stage, measures);
        match result {
            Err(failure) => return Err(failure.stage_error()),
            Ok(Err(diagnostics)) => return Err($reading.refusal(diagnostics)),
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

    /// Sets the account of all later calls: that of one conversion.
    #[must_use]
    pub fn with_account(mut self, account: Account) -> Self {
        self.account = account;
        self
    }

    /// Replaces the plugin of its stage; a plugin of `resources` is added after the others.
    pub fn insert(&mut self, plugin: Plugin) {
        if plugin.stage == Stage::Resources {
            self.resources.push(plugin);
        } else {
            self.rules.insert(plugin.stage, plugin);
        }
    }

    /// All plugins, in the order of the stages.
    pub fn iter(&self) -> impl Iterator<Item = &Plugin> {
        self.rules.values().chain(&self.resources)
    }

    /// The sandbox.
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
            failure.stage_error()
        })
    }
}

/// Names of the entries of a list of the manifest.
fn named(entries: &[Tree]) -> impl Iterator<Item = &str> {
    entries.iter().map(|entry| entry.str("name").unwrap_or_default())
}

// === impl Stages for Plugins ===

impl Stages for Plugins {
    fn apply(&self, doc: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        let plugin = self.plugin(Stage::Ops)?;
        let reading = Reading::of(plugin, iter::once(doc.name).chain(files.iter().map(|file| file.name)));
        let text = json::to_text(doc.tree);
        let files: Vec<_> = files
            .iter()
            .map(|file| ops::operations::OperationsFile {
                name: file.name.into(),
                operations: json::to_text(file.tree),
            })
            .collect();
        let reply = call!(self, plugin, reading, ops::operations, |guest, store| guest.call_apply(
            store,
            &text,
            doc.name,
            &files,
            &plugin.settings
        ));
        for origin in &reply.origins {
            reading.passed("origins", &origin.document)?;
            reading.pointer("origins", &origin.pointer)?;
            reading.pointer("origins", &origin.source)?;
        }
        let origins = reply.origins.into_iter().map(|origin| Origin {
            pointer: origin.pointer,
            document: origin.document,
            source: origin.source,
        });
        let applied = Applied {
            document: reading.document("document", &reply.document)?,
            origins: origins.collect(),
        };
        reading.reply(applied, reply.diagnostics, &reply.more)
    }

    fn find(&self, doc: Named<'_>, path: &str) -> Reply<Tree> {
        let plugin = self.plugin(Stage::Ops)?;
        let reading = Reading::of(plugin, [doc.name]);
        let text = json::to_text(doc.tree);
        let reply = call!(self, plugin, reading, ops::operations, |guest, store| guest.call_find(
            store,
            &text,
            doc.name,
            path,
            &plugin.settings
        ));
        Ok((reading.document("the value found", &reply)?, Vec::new()))
    }

    fn plan(&self, doc: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        let plugin = self.plugin(Stage::Variables)?;
        let reading = Reading::of(plugin, [doc.name]);
        let text = json::to_text(doc.tree);
        let reply = call!(self, plugin, reading, variables::interpolation, |guest, store| guest
            .call_plan(store, &text, doc.name, rules.into(), &plugin.settings));
        let mut definitions = Vec::new();
        for one in reply.definitions {
            reading.pointer("definitions", &one.pointer)?;
            reading.members(&one.more)?;
            definitions.push(Definition {
                options: reading.document("options", &one.options)?,
                consumes: reading.document("consumes", &one.consumes)?,
                name: one.name,
                kind: one.kind,
                update_mode: one.update_mode,
                pointer: one.pointer,
            });
        }
        reading.reply(
            VariablesPlan {
                definitions,
                references: references(&reading, reply.references)?,
            },
            reply.diagnostics,
            &reply.more,
        )
    }

    fn interpolate(&self, doc: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        let plugin = self.plugin(Stage::Variables)?;
        let reading = Reading::of(plugin, [doc.name]);
        let (text, values) = (json::to_text(doc.tree), json::to_text(values));
        let reply = call!(self, plugin, reading, variables::interpolation, |guest, store| guest
            .call_interpolate(store, &text, doc.name, &values, rules.into(), &plugin.settings));
        let result = Interpolated {
            document: reading.document("document", &reply.document)?,
            missing: references(&reading, reply.missing)?,
            used: reply.used,
        };
        reading.reply(result, reply.diagnostics, &reply.more)
    }

    fn resolve(&self, doc: Named<'_>, deployment: &Deployment, jobs: &[JobSpec<'_>]) -> Reply<Resolved> {
        let plugin = self.plugin(Stage::Links)?;
        let reading = Reading::of(
            plugin,
            iter::once(doc.name).chain(jobs.iter().map(|job| job.document_name)),
        );
        let text = json::to_text(doc.tree);
        let reply = call!(self, plugin, reading, links::resolution, |guest, store| guest
            .call_resolve(
                store,
                &text,
                doc.name,
                &deployment.into(),
                &specs(jobs),
                &plugin.settings
            ));
        // A missing group would have no workloads.
        let groups = || reply.groups.iter().map(|group| group.name.as_str());
        reading.names("groups", groups(), named(doc.tree.items("instance_groups")))?;
        if let Some(nth) = reply
            .providers
            .iter()
            .position(|one| !groups().any(|group| group == one.group))
        {
            return Err(reading.malformed(format!("provider {nth} belongs to a group that does not exist")));
        }
        let mut resolved = Resolved {
            groups: Vec::new(),
            providers: Vec::new(),
        };
        for group in reply.groups {
            reading.members(&group.more)?;
            resolved.groups.push(ResolvedGroup {
                document: reading.document("document", &group.document)?,
                name: group.name,
            });
        }
        for provider in reply.providers {
            reading.members(&provider.more)?;
            resolved.providers.push(Provider {
                properties: reading.document("properties", &provider.properties)?,
                name: provider.name,
                kind: provider.type_,
                group: provider.group,
                job: provider.job,
            });
        }
        reading.reply(resolved, reply.diagnostics, &reply.more)
    }

    fn addresses(&self, doc: Named<'_>, deployment: &Deployment, jobs: &[JobSpec<'_>]) -> Reply<Addresses> {
        let plugin = self.plugin(Stage::Links)?;
        let reading = Reading::of(
            plugin,
            iter::once(doc.name).chain(jobs.iter().map(|job| job.document_name)),
        );
        let text = json::to_text(doc.tree);
        let reply = call!(self, plugin, reading, links::resolution, |guest, store| guest
            .call_addresses(
                store,
                &text,
                doc.name,
                &deployment.into(),
                &specs(jobs),
                &plugin.settings
            ));
        let defined: HashSet<&str> = named(doc.tree.items("variables")).collect();
        let mut addresses = Addresses::new();
        for (nth, one) in reply.variables.into_iter().enumerate() {
            if !defined.contains(one.variable.as_str()) {
                return Err(reading.malformed(format!(
                    "entry {nth} of `variables` names a variable that does not exist"
                )));
            }
            reading.members(&one.more)?;
            let consumed = Consumed {
                alternative_names: one.alternative_names,
                common_name: one.common_name,
            };
            if addresses.insert(one.variable, consumed).is_some() {
                return Err(reading.malformed(format!("entry {nth} of `variables` repeats a variable")));
            }
        }
        reading.reply(addresses, reply.diagnostics, &reply.more)
    }

    fn render(&self, templates: &[Template<'_>], context: &Tree) -> Reply<Vec<Rendered>> {
        let plugin = self.plugin(Stage::Render)?;
        let reading = Reading::of(plugin, templates.iter().map(|template| template.name));
        let names = templates.iter().map(|template| template.name);
        let context = json::to_text(context);
        let templates: Vec<_> = templates
            .iter()
            .map(|template| render::templates::Template {
                name: template.name.into(),
                text: template.text.into(),
            })
            .collect();
        let reply = call!(self, plugin, reading, render::templates, |guest, store| guest
            .call_render(store, &templates, &context, &plugin.settings));
        // Rendered files must match the templates.
        reading.names("files", reply.files.iter().map(|file| file.name.as_str()), names)?;
        let files = reply
            .files
            .into_iter()
            .map(|file| Rendered {
                name: file.name,
                content: file.content,
            })
            .collect();
        reading.reply(files, reply.diagnostics, &reply.more)
    }

    fn convert_deployment(&self, deployment: &Deployment, doc: Named<'_>, variables: &[Variable]) -> Reply<Vec<Tree>> {
        let plugin = self.plugin(Stage::Bpm)?;
        let reading = Reading::of(plugin, [doc.name]);
        let request = bpm::conversion::DeploymentRequest {
            deployment: deployment.into(),
            document: json::to_text(doc.tree),
            document_name: doc.name.into(),
            variables: variables.iter().map(Into::into).collect(),
            more: Vec::new(),
        };
        let reply = call!(self, plugin, reading, bpm::conversion, |guest, store| guest
            .call_convert_deployment(store, &request, &plugin.settings));
        let objects = reading.documents("objects", &reply.objects)?;
        reading.reply(objects, reply.diagnostics, &reply.more)
    }

    fn convert_group(&self, request: &GroupRequest<'_>) -> Reply<Vec<Tree>> {
        let plugin = self.plugin(Stage::Bpm)?;
        let copies = request.jobs.iter().flat_map(|job| &job.bpm);
        let documents = copies.map(|copy| copy.document_name.as_str());
        let reading = Reading::of(plugin, iter::once(request.document_name).chain(documents));
        let request = request.into();
        let reply = call!(self, plugin, reading, bpm::conversion, |guest, store| guest
            .call_convert_group(store, &request, &plugin.settings));
        let objects = reading.documents("objects", &reply.objects)?;
        reading.reply(objects, reply.diagnostics, &reply.more)
    }

    fn spent_here(&self) -> u64 {
        account::spent_here()
    }

    fn transforms(&self) -> usize {
        self.resources.len()
    }

    fn called(&self, stage: Stage, nth: usize) -> String {
        let plugin = match stage {
            Stage::Resources => self.resources.get(nth),
            stage => self.rules.get(&stage),
        };
        plugin.map_or_else(|| stage.name().to_string(), Plugin::called)
    }

    fn transform(&self, nth: usize, deployment: &Deployment, objects: &[Tree]) -> Reply<Edits> {
        let Some(plugin) = self.resources.get(nth) else {
            return Ok((Edits::default(), Vec::new()));
        };
        // Objects have no names of documents.
        let reading = Reading::of(plugin, []);
        let texts: Vec<String> = objects.iter().map(json::to_text).collect();
        let reply = call!(self, plugin, reading, resources::transformation, |guest, store| guest
            .call_transform(store, &deployment.into(), &texts, &plugin.settings));
        let mut edits = Edits {
            removals: reply.removals.into_iter().map(object_reference).collect(),
            additions: reading.documents("additions", &reply.additions)?,
            ..Edits::default()
        };
        for one in reply.patches {
            edits
                .patches
                .push((object_reference(one.object), reading.document("patch", &one.patch)?));
        }
        reading.reply(edits, reply.diagnostics, &reply.more)
    }
}
