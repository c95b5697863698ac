//! A call in the JSON form of [`crate::json_call`], made as in a conversion: its reply is checked against the contract.

use crate::engine::Sandbox;
use crate::plugin::Plugin;
use crate::stages::plugins::Plugins;
use boson_document::Tree;
use boson_pipeline::stage::{
    Answer, Call, Deployment, DeploymentRequest, External, ExternalLink, GroupRequest, GroupSummary, Hook, JobFiles,
    JobSpec, LinksRequest, MANIFEST, Named, OtherDeployment, Reply, Spread, Template, Variable, VariableRules, View,
};
use boson_pipeline::{Stage, Stages};
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// The deployment of a call: of its options and its context.
///
/// # Errors
/// What is missing.
pub fn deployment(arguments: &Tree) -> Result<Deployment, String> {
    let (request, context) = (arguments.get("request"), arguments.get("context"));
    let options = request.and_then(|request| request.get("options"));
    let named = context.and_then(|context| context.get("deployment"));
    let text = |tree: Option<&Tree>, name: &str| tree.and_then(|tree| tree.str(name)).map(str::to_string);
    Ok(Deployment {
        name: text(named, "name").unwrap_or_default(),
        namespace: text(named, "namespace").unwrap_or_default(),
        cluster_domain: text(options, "cluster-domain").unwrap_or_default(),
        operator_image: text(options, "operator-image").unwrap_or_default(),
        registry: text(options, "registry"),
        spread: match text(options, "spread").as_deref() {
            None => Spread::default(),
            Some(name) => Spread::named(name).ok_or("`spread` is neither total nor per-zone")?,
        },
    })
}

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

fn ops(plugins: &Plugins, function: &str, request: Members<'_>) -> Result<Reply<Answer>, String> {
    let document = request.document()?;
    if function == "find" {
        let path = request.text("path")?;
        return Ok(plugins.call(Call::Find { document, path }));
    }
    let files = &request.list("files", |file| {
        Ok(Named::new(file.text("name")?, file.member("operations")?))
    })?;
    Ok(plugins.call(Call::Apply { document, files }))
}

fn variables(plugins: &Plugins, function: &str, request: Members<'_>) -> Result<Reply<Answer>, String> {
    let document = request.document()?;
    let rules = match request.text("rules")? {
        "director" => VariableRules::Director,
        "cli" => VariableRules::Cli,
        _ => return Err("`rules` is neither director nor cli".into()),
    };
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

fn links(
    plugins: &Plugins,
    function: &str,
    request: Members<'_>,
    deployment: &Deployment,
) -> Result<Reply<Answer>, String> {
    let document = request.document()?;
    let jobs = request.list("jobs", |job| {
        Ok(JobSpec {
            release: job.text("release")?.into(),
            job: job.text("job")?.into(),
            spec: Cow::Borrowed(job.member("spec")?),
            document_name: job.text("document-name")?.into(),
        })
    })?;
    let other = |other: Members<'_>| {
        Ok(OtherDeployment {
            name: other.text("name")?.into(),
            links: other.list("links", Members::external_link)?,
        })
    };
    let external = External {
        native: request.list("native", Members::external_link)?,
        deployments: request.list("deployments", other)?,
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

fn render(plugins: &Plugins, request: Members<'_>) -> Result<Reply<Answer>, String> {
    let templates = request.list("templates", |template| {
        Ok(Template {
            name: template.text("name")?,
            text: template.text("text")?,
        })
    })?;
    Ok(plugins.call(Call::Render {
        group: None,
        templates: &templates,
        context: request.member("spec")?,
    }))
}

fn bpm(
    plugins: &Plugins,
    function: &str,
    request: Members<'_>,
    deployment: &Deployment,
) -> Result<Reply<Answer>, String> {
    if function == "convert-deployment" {
        let variables = request.list("variables", Members::variable)?;
        return Ok(plugins.call(Call::ConvertDeployment(DeploymentRequest {
            deployment,
            manifest: request.document()?,
            variables: &variables,
        })));
    }
    let request = GroupRequest {
        deployment: deployment.clone(),
        group: request.member("group")?.clone(),
        document_name: request.text("document-name")?.into(),
        pointer: request.text("pointer")?.into(),
        jobs: request.list("jobs", Members::job_files)?,
        resolved_secret: request.text("resolved-secret")?.into(),
    };
    Ok(plugins.call(Call::ConvertGroup(&request)))
}

fn hook(
    plugins: &Plugins,
    stage: Stage,
    request: Members<'_>,
    deployment: &Deployment,
) -> Result<Reply<Answer>, String> {
    let groups: Vec<GroupSummary> = request.list("groups", Members::record)?;
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

    fn list<T>(self, name: &str, one: impl Fn(Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        self.0.items(name).iter().map(|item| one(Members(item))).collect()
    }

    fn document(self) -> Result<Named<'t>, String> {
        Ok(Named::new(self.text("document-name")?, self.member("document")?))
    }

    fn external_link(self) -> Result<ExternalLink, String> {
        Ok(ExternalLink {
            name: self.text("name")?.into(),
            kind: self.text("type")?.into(),
            origin: self.text("origin")?.into(),
            content: self.member("link")?.clone(),
        })
    }

    fn variable(self) -> Result<Variable, String> {
        Ok(Variable {
            name: self.text("name")?.into(),
            kind: self.text("kind")?.into(),
            options: self.member("options")?.clone(),
            update_mode: self.0.str("update-mode").map(str::to_string),
            pointer: self.text("pointer")?.into(),
        })
    }

    /// A record without documents.
    fn record<T: DeserializeOwned>(self) -> Result<T, String> {
        let record = serde_json::to_value(without_nulls(self.0)).and_then(serde_json::from_value);
        record.map_err(|error| error.to_string())
    }

    /// The documents of its copies are read for themselves: so a number keeps its text.
    fn job_files(self) -> Result<JobFiles, String> {
        let mut files: JobFiles = self.record()?;
        for (copy, given) in files.bpm.iter_mut().zip(self.0.items("bpm")) {
            copy.bpm = Members(given).member("bpm")?.clone();
        }
        Ok(files)
    }
}

/// A record without its members that are null: a list that is null is empty.
fn without_nulls(record: &Tree) -> Tree {
    match record {
        Tree::Object(members) => {
            let given = members.iter().filter(|(_, value)| !value.is_null());
            given
                .map(|(name, value)| (name.as_str(), without_nulls(value)))
                .collect()
        }
        Tree::Array(items) => Tree::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}
