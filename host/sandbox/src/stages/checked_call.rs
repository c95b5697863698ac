//! A call in the JSON form of [`crate::json_call`], made as in a conversion: its reply is checked against the contract.

use crate::engine::Sandbox;
use crate::plugin::Plugin;
use crate::stages::plugins::Plugins;
use boson_contract::bindings::{FromWit, member};
use boson_contract::ops::OperationsFile;
use boson_contract::types::DeploymentName;
use boson_document::Tree;
use boson_pipeline::stage::{
    Answer, Call, Deployment, DeploymentRequest, External, GroupRequest, GroupSummary, Hook, JobSpec, LinksRequest,
    MANIFEST, Named, Reply, Template, Variable, View,
};
use boson_pipeline::{Stage, Stages};

/// The deployment of a call: of its options and its context.
///
/// # Errors
/// What is missing.
pub fn deployment(arguments: &Tree) -> Result<Deployment, String> {
    let options: Option<Deployment> = member(arguments.get("request"), "options")?;
    let named: Option<DeploymentName> = member(arguments.get("context"), "deployment")?;
    let DeploymentName { name, namespace } = named.unwrap_or_default();
    Ok(Deployment {
        name,
        namespace,
        ..options.unwrap_or_default()
    })
}

/// The outer error names an argument that is missing.
type Checked = Result<Reply<Answer>, String>;

/// Members of an argument.
#[derive(Clone, Copy)]
struct Members<'t>(&'t Tree);

// === impl Sandbox ===

impl Sandbox {
    /// Calls a function of a plugin of any stage. The outer error names an argument that is missing.
    ///
    /// # Errors
    /// As for a call in a conversion.
    pub fn call_checked(&self, plugin: &Plugin, function: &str, arguments: &Tree) -> Result<Reply<Answer>, String> {
        let stage = plugin.stage;
        let settings = arguments.get("context").and_then(|context| context.get("settings"));
        let plugin = match settings {
            Some(settings) => plugin.clone().with_settings(settings, "settings"),
            None => plugin.clone(),
        };
        let deployment = deployment(arguments)?;
        let mut plugins = Plugins::of_one(self.clone(), plugin);
        if !deployment.name.is_empty() {
            plugins = plugins.with_deployment(&deployment.name, &deployment.namespace);
        }
        let parameter = match stage {
            Stage::Resources | Stage::Checks => "view",
            _ => "request",
        };
        let request = Members(Members(arguments).member(parameter)?);
        match stage {
            Stage::Ops => ops(&plugins, function, request),
            Stage::Variables => variables(&plugins, function, request),
            Stage::Links => links(&plugins, function, request, &deployment),
            Stage::Render => render(&plugins, request),
            Stage::Bpm => bpm(&plugins, function, request, &deployment),
            Stage::Resources | Stage::Checks => hook(&plugins, stage, request, &deployment),
        }
    }
}

fn ops(plugins: &Plugins, function: &str, request: Members<'_>) -> Checked {
    let document = request.document()?;
    if function == "find" {
        let path = request.text("path")?;
        return Ok(plugins.call(Call::Find { document, path }));
    }
    let files: Vec<OperationsFile> = request.read("files")?;
    let files: Vec<Named<'_>> = files
        .iter()
        .map(|file| Named::new(&file.name, &file.operations))
        .collect();
    Ok(plugins.call(Call::Apply {
        document,
        files: &files,
    }))
}

fn variables(plugins: &Plugins, function: &str, request: Members<'_>) -> Checked {
    let document = request.document()?;
    let rules = request.read("rules")?;
    let call = match function {
        "plan" => Call::Plan { document, rules },
        _ => Call::Interpolate {
            document,
            values: request.member("values")?,
            rules,
        },
    };
    Ok(plugins.call(call))
}

fn links(plugins: &Plugins, function: &str, request: Members<'_>, deployment: &Deployment) -> Checked {
    let document = request.document()?;
    let jobs: Vec<JobSpec<'_>> = request.read("jobs")?;
    let external = External {
        native: request.read("native")?,
        deployments: request.read("deployments")?,
    };
    let request = LinksRequest {
        manifest: document,
        deployment,
        jobs: &jobs,
        external: &external,
    };
    Ok(plugins.call(match function {
        "resolve" => Call::Resolve(request),
        _ => Call::Addresses(request),
    }))
}

fn render(plugins: &Plugins, request: Members<'_>) -> Checked {
    let templates: Vec<Template<'_>> = request.read("templates")?;
    Ok(plugins.call(Call::Render {
        group: None,
        templates: &templates,
        context: request.member("spec")?,
    }))
}

fn bpm(plugins: &Plugins, function: &str, request: Members<'_>, deployment: &Deployment) -> Checked {
    if function == "convert-deployment" {
        let variables: Vec<Variable> = request.read("variables")?;
        return Ok(plugins.call(Call::ConvertDeployment(DeploymentRequest {
            deployment,
            manifest: request.document()?,
            variables: &variables,
        })));
    }
    let mut request = GroupRequest::from_json(Some(request.0), "request")?;
    request.deployment = deployment.clone();
    Ok(plugins.call(Call::ConvertGroup(&request)))
}

fn hook(plugins: &Plugins, stage: Stage, request: Members<'_>, deployment: &Deployment) -> Checked {
    let groups: Vec<GroupSummary> = request.read("groups")?;
    let view = View {
        target: request.text("target")?,
        manifest: Named::new(MANIFEST, request.member("manifest")?),
        groups: &groups,
        objects: request.0.items("objects"),
    };
    let hook = Hook {
        nth: 0,
        deployment,
        view,
    };
    Ok(plugins.call(match stage {
        Stage::Checks => Call::Check(hook),
        _ => Call::Transform(hook),
    }))
}

// === impl Members ===

impl<'t> Members<'t> {
    fn member(self, name: &str) -> Result<&'t Tree, String> {
        self.0.get(name).ok_or_else(|| format!("`{name}` is missing"))
    }

    fn text(self, name: &str) -> Result<&'t str, String> {
        self.0
            .str(name)
            .ok_or_else(|| format!("`{name}` is missing, or not a string"))
    }

    fn read<W, T: FromWit<W>>(self, name: &str) -> Result<T, String> {
        member(Some(self.0), name)
    }

    fn document(self) -> Result<Named<'t>, String> {
        Ok(Named::new(self.text("document-name")?, self.member("document")?))
    }
}
