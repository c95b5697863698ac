//! The stages on plugins: `pipeline::Stages` by calls into components.

use crate::account;
use crate::bindings::boson::types::objects as wit_objects;
use crate::bindings::boson::{bpm, links, ops, render, variables};
use crate::bindings::exports::boson as exports;
use crate::conversions::{context, edit, references};
use crate::plugin::Plugin;
use crate::plugins::{Check, Plugins, ResourcePlugin, of};
use crate::reply::Reading;
use crate::unchanged;
use boson_document::{Tree, json};
use boson_pipeline::stage::{
    Addresses, Applied, Consumed, Definition, Deployment, Edit, GroupRequest, Interpolated, LinksRequest, Maker, Named,
    Origin, Provider, Rendered, Reply, Resolved, ResolvedGroup, Settings, StageError, Template, Variable,
    VariableRules, VariablesPlan, View,
};
use boson_pipeline::{Author, Stage, Stages, resolved_document};
use std::borrow::Cow;
use std::collections::HashSet;
use std::iter;

/// Makes a call. If the plugin fails, this ends the function.
macro_rules! reply {
    ($self:ident, $plugin:expr, $reading:expr, $interface:path, |$guest:ident, $store:ident| $body:expr) => {{
        use $interface as interface;
        let plugin: &Plugin = $plugin;
        let (result, measures) = $self.sandbox.call(plugin, &$self.account, |$store, instance| {
            let $guest = interface::GuestIndices::new(&plugin.pre)?.load(&mut *$store, instance)?;
            $body
        });
        $self.count(plugin.stage, measures);
        result.map_err(|failure| $reading.broken_off(&failure))?
    }};
}

/// Makes a call of a function that can fail. If the plugin fails or returns `err`, this ends the function.
macro_rules! call {
    ($self:ident, $plugin:expr, $reading:expr, $interface:path, |$guest:ident, $store:ident| $body:expr) => {
        reply!($self, $plugin, $reading, $interface, |$guest, $store| $body)
            .map_err(|errors| $reading.refusal(errors))?
    };
}

/// Names of the documents that a call of the stage `links` passes.
fn documents<'a>(request: &LinksRequest<'a>) -> impl Iterator<Item = &'a str> {
    let specs = request.jobs.iter().map(|job| job.document_name);
    iter::once(request.manifest.name).chain(specs)
}

/// Names of the entries of a list of the manifest.
fn named(entries: &[Tree]) -> impl Iterator<Item = &str> {
    entries.iter().map(|entry| entry.str("name").unwrap_or_default())
}

// === impl Plugins ===

impl Plugins {
    fn maker(&self, of: Maker<'_>) -> Option<Cow<'_, Plugin>> {
        match of {
            Maker::Bpm(group) => self.nth(Stage::Bpm, 0).map(|plugin| plugin.serving(group)),
            Maker::Resources(nth) => self.nth(Stage::Resources, nth).map(Cow::Borrowed),
        }
    }
}

// === impl Stages for Plugins ===

impl Stages for Plugins {
    fn apply(&self, doc: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        let plugin = self.rule(Stage::Ops)?;
        let documents = iter::once(doc.name).chain(files.iter().map(|file| file.name));
        let reading = Reading::of(&self.sandbox, plugin, documents);
        let file = |file: &Named<'_>| ops::shapes::OperationsFile {
            name: file.name.into(),
            operations: json::to_text(file.tree),
        };
        let request = ops::shapes::ApplyRequest {
            document: json::to_text(doc.tree),
            document_name: doc.name.into(),
            files: files.iter().map(file).collect(),
            more: Vec::new(),
        };
        let context = context(plugin, self.deployment());
        self.record((Stage::Ops, "apply"), Some(plugin), &request, &context);
        let reply = call!(self, plugin, reading, exports::ops::operations, |guest, store| guest
            .call_apply(store, &request, &context));
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
        let (applied, diagnostics) = reading.reply(applied, reply.diagnostics, &reply.more)?;
        if plugin.is_any_foreign()
            && let Some(place) = unchanged::applied(&applied.document, doc, files, &applied.origins)
        {
            let what = format!("the value at '{place}' differs from its origin; see `origins` in the contract");
            return Err(reading.malformed(what));
        }
        Ok((applied, diagnostics))
    }

    fn find(&self, doc: Named<'_>, path: &str) -> Reply<Tree> {
        let plugin = self.rule(Stage::Ops)?;
        let reading = Reading::of(&self.sandbox, plugin, [doc.name]);
        let request = ops::shapes::FindRequest {
            document: json::to_text(doc.tree),
            document_name: doc.name.into(),
            path: path.into(),
            more: Vec::new(),
        };
        let context = context(plugin, self.deployment());
        self.record((Stage::Ops, "find"), Some(plugin), &request, &context);
        let reply = call!(self, plugin, reading, exports::ops::operations, |guest, store| guest
            .call_find(store, &request, &context));
        reading.reply(reading.document("value", &reply.value)?, Vec::new(), &reply.more)
    }

    fn plan(&self, doc: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        let plugin = self.rule(Stage::Variables)?;
        let reading = Reading::of(&self.sandbox, plugin, [doc.name]);
        let request = variables::shapes::PlanRequest {
            document: json::to_text(doc.tree),
            document_name: doc.name.into(),
            rules: rules.into(),
            more: Vec::new(),
        };
        let context = context(plugin, self.deployment());
        self.record((Stage::Variables, "plan"), Some(plugin), &request, &context);
        let reply = call!(
            self,
            plugin,
            reading,
            exports::variables::interpolation,
            |guest, store| guest.call_plan(store, &request, &context)
        );
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
        let plan = VariablesPlan {
            definitions,
            references: references(&reading, reply.references)?,
        };
        reading.reply(plan, reply.diagnostics, &reply.more)
    }

    fn interpolate(&self, doc: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        let plugin = self.rule(Stage::Variables)?;
        let reading = Reading::of(&self.sandbox, plugin, [doc.name]);
        let request = variables::shapes::InterpolateRequest {
            document: json::to_text(doc.tree),
            document_name: doc.name.into(),
            values: json::to_text(values),
            rules: rules.into(),
            more: Vec::new(),
        };
        let context = context(plugin, self.deployment());
        self.record((Stage::Variables, "interpolate"), Some(plugin), &request, &context);
        let reply = call!(
            self,
            plugin,
            reading,
            exports::variables::interpolation,
            |guest, store| guest.call_interpolate(store, &request, &context)
        );
        let result = Interpolated {
            document: reading.document("document", &reply.document)?,
            missing: references(&reading, reply.missing)?,
            used: reply.used,
        };
        let (result, diagnostics) = reading.reply(result, reply.diagnostics, &reply.more)?;
        if plugin.is_any_foreign()
            && let Some(place) = unchanged::interpolated(&result.document, doc.tree)
        {
            let what = format!("the value at '{place}' has changed, although it has no placeholder");
            return Err(reading.malformed(what));
        }
        Ok((result, diagnostics))
    }

    fn resolve(&self, asked: LinksRequest<'_>) -> Reply<Resolved> {
        let plugin = self.rule(Stage::Links)?;
        let reading = Reading::of(&self.sandbox, plugin, documents(&asked));
        let context = context(plugin, of(asked.deployment));
        let request: links::shapes::LinksRequest = asked.into();
        self.record((Stage::Links, "resolve"), Some(plugin), &request, &context);
        let reply = call!(self, plugin, reading, exports::links::resolution, |guest, store| guest
            .call_resolve(store, &request, &context));
        // A missing group would have no workloads.
        let groups = || reply.groups.iter().map(|group| group.name.as_str());
        reading.names("groups", groups(), named(asked.manifest.tree.items("instance_groups")))?;
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
            let shared = provider.shared.as_deref();
            resolved.providers.push(Provider {
                shared: shared.map(|link| reading.document("shared", link)).transpose()?,
                properties: reading.document("properties", &provider.properties)?,
                name: provider.name,
                kind: provider.type_,
                group: provider.group,
                job: provider.job,
            });
        }
        reading.reply(resolved, reply.diagnostics, &reply.more)
    }

    fn addresses(&self, asked: LinksRequest<'_>) -> Reply<Addresses> {
        let plugin = self.rule(Stage::Links)?;
        let reading = Reading::of(&self.sandbox, plugin, documents(&asked));
        let context = context(plugin, of(asked.deployment));
        let request: links::shapes::LinksRequest = asked.into();
        self.record((Stage::Links, "addresses"), Some(plugin), &request, &context);
        let reply = call!(self, plugin, reading, exports::links::resolution, |guest, store| guest
            .call_addresses(store, &request, &context));
        let defined: HashSet<&str> = named(asked.manifest.tree.items("variables")).collect();
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

    fn render(&self, group: Option<&str>, templates: &[Template<'_>], spec: &Tree) -> Reply<Vec<Rendered>> {
        let rule = self.rule(Stage::Render)?;
        let plugin = &*group.map_or(Cow::Borrowed(rule), |group| rule.serving(Some(group)));
        let reading = Reading::of(&self.sandbox, plugin, templates.iter().map(|template| template.name));
        let template = |template: &Template<'_>| render::shapes::Template {
            name: template.name.into(),
            text: template.text.into(),
        };
        let request = render::shapes::RenderRequest {
            templates: templates.iter().map(template).collect(),
            spec: json::to_text(spec),
            more: Vec::new(),
        };
        let context = context(plugin, self.deployment());
        self.record((Stage::Render, "render"), Some(plugin), &request, &context);
        let reply = call!(self, plugin, reading, exports::render::templates, |guest, store| guest
            .call_render(store, &request, &context));
        // Rendered files must match the templates.
        let names = templates.iter().map(|template| template.name);
        reading.names("files", reply.files.iter().map(|file| file.name.as_str()), names)?;
        let file = |file: render::shapes::Rendered| Rendered {
            name: file.name,
            content: file.content,
        };
        let files: Vec<Rendered> = reply.files.into_iter().map(file).collect();
        reading.reply(files, reply.diagnostics, &reply.more)
    }

    fn convert_deployment(&self, deployment: &Deployment, doc: Named<'_>, variables: &[Variable]) -> Reply<Vec<Tree>> {
        let plugin = &*self.rule(Stage::Bpm)?.serving(None);
        let reading = Reading::of(&self.sandbox, plugin, [doc.name]);
        let request = bpm::shapes::DeploymentRequest {
            options: deployment.into(),
            document: json::to_text(doc.tree),
            document_name: doc.name.into(),
            variables: variables.iter().map(Into::into).collect(),
            more: Vec::new(),
        };
        let context = context(plugin, of(deployment));
        self.record((Stage::Bpm, "convert-deployment"), Some(plugin), &request, &context);
        let reply = call!(self, plugin, reading, exports::bpm::conversion, |guest, store| guest
            .call_convert_deployment(store, &request, &context));
        let objects = reading.documents("objects", &reply.objects)?;
        reading.reply(objects, reply.diagnostics, &reply.more)
    }

    fn convert_group(&self, request: &GroupRequest<'_>) -> Reply<Vec<Tree>> {
        let plugin = &*self
            .rule(Stage::Bpm)?
            .serving(Some(resolved_document::name(request.group)));
        let copies = request.jobs.iter().flat_map(|job| &job.bpm);
        let documents = copies.map(|copy| copy.document_name.as_str());
        let documents = iter::once(request.document_name).chain(documents);
        let reading = Reading::of(&self.sandbox, plugin, documents);
        let context = context(plugin, of(request.deployment));
        let request: bpm::shapes::GroupRequest = request.into();
        self.record((Stage::Bpm, "convert-group"), Some(plugin), &request, &context);
        let reply = call!(self, plugin, reading, exports::bpm::conversion, |guest, store| guest
            .call_convert_group(store, &request, &context));
        let objects = reading.documents("objects", &reply.objects)?;
        reading.reply(objects, reply.diagnostics, &reply.more)
    }

    fn spent_here(&self) -> u64 {
        account::spent_here()
    }

    fn transforms(&self) -> usize {
        self.calls_of(self.resources.len())
    }

    fn is_ordered(&self, nth: usize) -> bool {
        self.resources.get(nth).is_some_and(|one| one.is_ordered)
    }

    fn transform(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<Vec<Edit>> {
        let Some(ResourcePlugin { plugin, .. }) = self.resources.get(nth) else {
            self.record_view((Stage::Resources, "transform"), deployment, view);
            return Ok((Vec::new(), Vec::new()));
        };
        let reading = Reading::of_view(&self.sandbox, plugin, view);
        let (request, context) = (wit_objects::View::from(view), context(plugin, of(deployment)));
        self.record((Stage::Resources, "transform"), Some(plugin), &request, &context);
        let reply = call!(
            self,
            plugin,
            reading,
            exports::resources::transformation,
            |guest, store| guest.call_transform(store, &request, &context)
        );
        let edits = reply.edits.into_iter().map(|one| edit(&reading, one));
        let edits = edits.collect::<Result<_, StageError>>()?;
        reading.reply(edits, reply.diagnostics, &reply.more)
    }

    fn checks(&self) -> usize {
        self.calls_of(self.checks.len())
    }

    fn is_enforced(&self, nth: usize) -> bool {
        self.checks.get(nth).is_some_and(|one| one.policy.is_enforced)
    }

    fn is_optional(&self, nth: usize) -> bool {
        self.checks.get(nth).is_some_and(|one| one.policy.is_optional)
    }

    fn check(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<()> {
        let Some(Check { plugin, .. }) = self.checks.get(nth) else {
            self.record_view((Stage::Checks, "check"), deployment, view);
            return Ok(((), Vec::new()));
        };
        let reading = Reading::of_view(&self.sandbox, plugin, view);
        let (request, context) = (wit_objects::View::from(view), context(plugin, of(deployment)));
        self.record((Stage::Checks, "check"), Some(plugin), &request, &context);
        let reply = reply!(self, plugin, reading, exports::checks::policy, |guest, store| guest
            .call_check(store, &request, &context));
        reading.reply((), reply, &[])
    }

    fn author(&self, stage: Stage, nth: usize) -> Author {
        let plugin = self.nth(stage, nth);
        plugin.map_or_else(
            || Author::built_in(stage.name()),
            |plugin| plugin.serving(None).author(),
        )
    }

    fn group_author(&self, group: &str) -> Author {
        let plugin = self.nth(Stage::Bpm, 0);
        plugin.map_or_else(
            || Author::built_in(Stage::Bpm.name()),
            |plugin| plugin.serving(Some(group)).author(),
        )
    }

    fn below(&self, group: Option<&str>) -> Option<Box<dyn Stages>> {
        let below = self.maker(Maker::Bpm(group))?.below.as_deref()?.clone();
        Some(Box::new(Self::of_one(self.sandbox.clone(), below)))
    }

    fn settings(&self, of: Maker<'_>) -> Option<Settings> {
        let plugin = self.maker(of)?;
        Some(Settings {
            tree: json::parse(plugin.settings()).ok()?,
            document: plugin.settings_document.clone(),
        })
    }

    fn with_settings(&self, of: Maker<'_>, settings: &Tree) -> Option<Box<dyn Stages>> {
        let mut plugin = self.maker(of)?.into_owned();
        plugin.settings = json::to_text(settings);
        Some(Box::new(Self::of_one(self.sandbox.clone(), plugin)))
    }
}
