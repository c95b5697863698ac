//! The stages on plugins: `pipeline::Stages` by calls into components.

pub(crate) mod checked_call;
pub(crate) mod plugins;
pub(crate) mod recorder;
mod recording;
mod unchanged;

use crate::bindings::boson::types::objects as wit_objects;
use crate::bindings::boson::types::types::Context;
use crate::bindings::boson::{bpm, links, ops, render, variables};
use crate::bindings::exports::boson as exports;
use crate::call::conversions::{context, references};
use crate::call::reply::{Reading, member_names};
use crate::limits::account;
use crate::plugin::Plugin;
use boson_contract::bindings::{Reader, ToWit};
use boson_document::{Tree, json};
use boson_pipeline::Stages;
use boson_pipeline::schema::SettingsError;
use boson_pipeline::stage::{
    Addresses, Answer, Applied, Call, Consumed, Definition, DeploymentRequest, Edit, GroupRequest, Interpolated,
    LinksRequest, Named, Origin, PluginInfo, PluginRef, Rendered, Reply, Resolved, Settings, Template, VariableRules,
    VariablesPlan, View,
};
use plugins::Plugins;
use std::collections::HashSet;

/// Makes a call. If the plugin fails, this ends the function.
macro_rules! reply {
    ($self:ident, $interface:path, $function:ident, $request:expr) => {{
        use $interface as interface;
        let Pending { plugins, plugin, .. } = $self;
        plugins.record($self.call, Some(plugin), $request, &$self.context);
        let (result, measures) = plugins.sandbox.call(plugin, &plugins.account, |store, instance| {
            let guest = interface::GuestIndices::new(&plugin.pre)?.load(&mut *store, instance)?;
            guest.$function(store, $request, &$self.context)
        });
        plugins.count(plugin.stage, measures);
        result.map_err(|error| $self.reading.call_error(&error))?
    }};
}

/// Makes a call of a function that can fail. If the plugin fails or returns `err`, this ends the function.
macro_rules! call {
    ($self:ident, $interface:path, $function:ident, $request:expr) => {
        reply!($self, $interface, $function, $request).map_err(|errors| $self.reading.input_error(errors))?
    };
}

/// A call that is being made.
struct Pending<'a> {
    plugins: &'a Plugins,
    plugin: &'a Plugin,
    call: Call<'a>,
    context: Context,
    reading: Reading<'a>,
}

/// Names of the entries of a list of the manifest.
fn named(entries: &[Tree]) -> impl Iterator<Item = &str> {
    entries.iter().map(|entry| entry.str("name").unwrap_or_default())
}

fn answer<T: Into<Answer>>(reply: Reply<T>) -> Reply<Answer> {
    reply.map(|(value, diagnostics)| (value.into(), diagnostics))
}

// === impl Plugins ===

impl Stages for Plugins {
    fn call(&self, call: Call<'_>) -> Reply<Answer> {
        let Some(plugin) = self.plugin_of(call.plugin())? else {
            self.record_without_plugin(call);
            return Ok((call.nothing(), Vec::new()));
        };
        let pending = Pending {
            plugins: self,
            plugin: &plugin,
            call,
            context: context(&plugin, self.deployment_of(call)),
            reading: Reading::of(&self.sandbox, &plugin, call),
        };
        match call {
            Call::Apply { document, files } => answer(pending.apply(document, files)),
            Call::Find { document, path } => answer(pending.find(document, path)),
            Call::Plan { document, rules } => answer(pending.plan(document, rules)),
            Call::Interpolate {
                document,
                values,
                rules,
            } => answer(pending.interpolate(document, values, rules)),
            Call::Resolve(request) => answer(pending.resolve(request)),
            Call::Addresses(request) => answer(pending.addresses(request)),
            Call::Render { templates, context, .. } => answer(pending.render(templates, context)),
            Call::ConvertDeployment(request) => answer(pending.convert_deployment(request)),
            Call::ConvertGroup(request) => answer(pending.convert_group(request)),
            Call::Transform(hook) => answer(pending.transform(hook.view)),
            Call::Check(hook) => answer(pending.check(hook.view)),
        }
    }

    fn info(&self, plugin: PluginRef<'_>) -> Option<PluginInfo> {
        let Some(found) = self.plugin_of(plugin).ok()? else {
            // A recorder gets a call from a stage without plugins.
            let is_recorded =
                self.recorder.is_some() && matches!(plugin, PluginRef::Resources(0) | PluginRef::Check(0));
            return is_recorded.then(|| PluginInfo::built_in(plugin.stage()));
        };
        let addition = self.addition(plugin);
        Some(PluginInfo {
            author: found.author(),
            is_ordered: addition.is_some_and(|one| one.is_ordered),
            policy: addition.map(|one| one.policy).unwrap_or_default(),
        })
    }

    fn spent_here(&self) -> u64 {
        account::spent_here()
    }

    fn check_properties(&self, schema: &Tree, properties: &Tree) -> Result<Vec<SettingsError>, String> {
        self.sandbox.check_properties(schema, properties)
    }

    fn below(&self, plugin: PluginRef<'_>) -> Option<Box<dyn Stages>> {
        let below = self.plugin_of(plugin).ok()??.below.as_deref()?.clone();
        Some(Box::new(Self::of_one(self.sandbox.clone(), below)))
    }

    fn settings(&self, plugin: PluginRef<'_>) -> Option<Settings> {
        let plugin = self.plugin_of(plugin).ok()??;
        Some(Settings {
            tree: json::parse(&plugin.settings).ok()?,
            document: plugin.settings_document.clone(),
        })
    }

    fn with_settings(&self, plugin: PluginRef<'_>, settings: &Tree) -> Option<Box<dyn Stages>> {
        let mut plugin = self.plugin_of(plugin).ok()??.into_owned();
        plugin.settings = json::to_text(settings);
        Some(Box::new(Self::of_one(self.sandbox.clone(), plugin)))
    }
}

// === impl Pending ===

impl Pending<'_> {
    fn apply(&self, doc: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        let request = ops::shapes::ApplyRequest {
            document: doc.tree.to_wit(),
            document_name: doc.name.into(),
            files: files.to_wit(),
            more: Vec::new(),
        };
        let reply = call!(self, exports::ops::operations, call_apply, &request);
        let origins: Vec<Origin> = self.reading.read("origins", reply.origins)?;
        for origin in &origins {
            self.reading.check_document_name("origins", &origin.document)?;
            self.reading.pointer("origins", &origin.pointer)?;
            self.reading.pointer("origins", &origin.source)?;
        }
        let applied = Applied {
            document: self.reading.document("document", &reply.document)?,
            origins,
        };
        let (applied, diagnostics) = self.reading.reply(applied, reply.diagnostics, &reply.more)?;
        if self.plugin.is_any_foreign()
            && let Some(place) = unchanged::changed_by_apply(&applied.document, doc, files, &applied.origins)
        {
            let what = format!("the value at '{place}' differs from its origin; see `origins` in the contract");
            return Err(self.reading.malformed(what));
        }
        Ok((applied, diagnostics))
    }

    fn find(&self, doc: Named<'_>, path: &str) -> Reply<Tree> {
        let request = ops::shapes::FindRequest {
            document: doc.tree.to_wit(),
            document_name: doc.name.into(),
            path: path.into(),
            more: Vec::new(),
        };
        let reply = call!(self, exports::ops::operations, call_find, &request);
        self.reading
            .reply(self.reading.document("value", &reply.value)?, Vec::new(), &reply.more)
    }

    fn plan(&self, doc: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        let request = variables::shapes::PlanRequest {
            document: doc.tree.to_wit(),
            document_name: doc.name.into(),
            rules: rules.to_wit(),
            more: Vec::new(),
        };
        let reply = call!(self, exports::variables::interpolation, call_plan, &request);
        let definitions: Vec<Definition> = self.reading.read("definitions", reply.definitions)?;
        for one in &definitions {
            self.reading.pointer("definitions", &one.pointer)?;
        }
        let plan = VariablesPlan {
            definitions,
            references: references(&self.reading, reply.references)?,
        };
        self.reading.reply(plan, reply.diagnostics, &reply.more)
    }

    fn interpolate(&self, doc: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        let request = variables::shapes::InterpolateRequest {
            document: doc.tree.to_wit(),
            document_name: doc.name.into(),
            values: values.to_wit(),
            rules: rules.to_wit(),
            more: Vec::new(),
        };
        let reply = call!(self, exports::variables::interpolation, call_interpolate, &request);
        let result = Interpolated {
            document: self.reading.document("document", &reply.document)?,
            missing: references(&self.reading, reply.missing)?,
            used: reply.used,
        };
        let (result, diagnostics) = self.reading.reply(result, reply.diagnostics, &reply.more)?;
        if self.plugin.is_any_foreign()
            && let Some(place) = unchanged::changed_by_interpolate(&result.document, doc.tree)
        {
            let what = format!("the value at '{place}' has changed, although it has no placeholder");
            return Err(self.reading.malformed(what));
        }
        Ok((result, diagnostics))
    }

    fn resolve(&self, asked: LinksRequest<'_>) -> Reply<Resolved> {
        let request: links::shapes::LinksRequest = asked.into();
        let reply = call!(self, exports::links::resolution, call_resolve, &request);
        // A missing group would have no workloads.
        let groups = || reply.groups.iter().map(|group| group.name.as_str());
        self.reading
            .names("groups", groups(), named(asked.manifest.tree.items("instance_groups")))?;
        if let Some(nth) = reply
            .providers
            .iter()
            .position(|one| !groups().any(|group| group == one.group))
        {
            return Err(self
                .reading
                .malformed(format!("provider {nth} belongs to a group that does not exist")));
        }
        let resolved = Resolved {
            groups: self.reading.read("groups", reply.groups)?,
            providers: self.reading.read("providers", reply.providers)?,
        };
        self.reading.reply(resolved, reply.diagnostics, &reply.more)
    }

    fn addresses(&self, asked: LinksRequest<'_>) -> Reply<Addresses> {
        let request: links::shapes::LinksRequest = asked.into();
        let reply = call!(self, exports::links::resolution, call_addresses, &request);
        let defined: HashSet<&str> = named(asked.manifest.tree.items("variables")).collect();
        let mut addresses = Addresses::new();
        for (nth, one) in reply.variables.into_iter().enumerate() {
            if !defined.contains(one.variable.as_str()) {
                return Err(self.reading.malformed(format!(
                    "entry {nth} of `variables` names a variable that does not exist"
                )));
            }
            self.reading.more(member_names(&one.more))?;
            let consumed = Consumed {
                alternative_names: one.alternative_names,
                common_name: one.common_name,
            };
            if addresses.insert(one.variable, consumed).is_some() {
                return Err(self
                    .reading
                    .malformed(format!("entry {nth} of `variables` repeats a variable")));
            }
        }
        self.reading.reply(addresses, reply.diagnostics, &reply.more)
    }

    fn render(&self, templates: &[Template<'_>], spec: &Tree) -> Reply<Vec<Rendered>> {
        let request = render::shapes::RenderRequest {
            templates: templates.to_wit(),
            spec: spec.to_wit(),
            more: Vec::new(),
        };
        let reply = call!(self, exports::render::templates, call_render, &request);
        // Rendered files must match the templates.
        let names = templates.iter().map(|template| &*template.name);
        self.reading
            .names("files", reply.files.iter().map(|file| file.name.as_str()), names)?;
        let files: Vec<Rendered> = self.reading.read("files", reply.files)?;
        self.reading.reply(files, reply.diagnostics, &reply.more)
    }

    fn convert_deployment(&self, request: DeploymentRequest<'_>) -> Reply<Vec<Tree>> {
        let request: bpm::shapes::DeploymentRequest = request.into();
        let reply = call!(self, exports::bpm::conversion, call_convert_deployment, &request);
        let objects = self.reading.read("objects", reply.objects)?;
        self.reading.reply(objects, reply.diagnostics, &reply.more)
    }

    fn convert_group(&self, request: &GroupRequest) -> Reply<Vec<Tree>> {
        let request: bpm::shapes::GroupRequest = request.to_wit();
        let reply = call!(self, exports::bpm::conversion, call_convert_group, &request);
        let objects = self.reading.read("objects", reply.objects)?;
        self.reading.reply(objects, reply.diagnostics, &reply.more)
    }

    fn transform(&self, view: View<'_>) -> Reply<Vec<Edit>> {
        let request = wit_objects::View::from(view);
        let reply = call!(self, exports::resources::transformation, call_transform, &request);
        let edits = self.reading.read("edits", reply.edits)?;
        self.reading.reply(edits, reply.diagnostics, &reply.more)
    }

    fn check(&self, view: View<'_>) -> Reply<()> {
        let request = wit_objects::View::from(view);
        let reply = reply!(self, exports::checks::policy, call_check, &request);
        self.reading.reply((), reply, &[])
    }
}
