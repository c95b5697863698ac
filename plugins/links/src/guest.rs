//! The plugin: this stage behind the contract's world `links`.

use crate::{Deployment, Diagnostic, JobSpec, Severity, codes};
use boson::types::types as wit;
use boson_document::{Tree, json};
use exports::boson::links::resolution as world;

wit_bindgen::generate!({ path: ["../../wit/types", "../../wit/links"], world: "boson:links/links@1.0.0", generate_all });

struct Plugin;
export!(Plugin);

impl world::Guest for Plugin {
    fn describe() -> wit::Description {
        let code = |code: &&crate::Code| wit::Code {
            name: code.name.into(),
            title: code.title.into(),
            explanation: code.explanation.into(),
        };
        wit::Description {
            name: "links".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            stage: "links".into(),
            settings_schema: r#"{"type":"object","additionalProperties":false}"#.into(),
            codes: codes::ALL.iter().map(code).collect(),
            extensions: Vec::new(),
        }
    }

    fn resolve(
        document: String,
        name: String,
        deployment: wit::Deployment,
        jobs: Vec<world::JobSpec>,
        _: String,
    ) -> Result<world::Resolved, Vec<wit::Diagnostic>> {
        let wit::Deployment {
            name: deployment,
            namespace,
            cluster_domain,
            ..
        } = deployment;
        let deployment = Deployment {
            name: deployment,
            namespace,
            cluster_domain,
        };
        let read = |job: world::JobSpec| {
            Ok(JobSpec {
                spec: parse(&job.spec, &job.document_name)?,
                release: job.release,
                job: job.job,
                document_name: job.document_name,
            })
        };
        let jobs = jobs
            .into_iter()
            .map(read)
            .collect::<Result<Vec<_>, Vec<wit::Diagnostic>>>()?;
        let resolved = crate::resolve(&parse(&document, &name)?, &name, &deployment, &jobs).map_err(told)?;
        let group = |group: crate::GroupDocument| world::ResolvedGroup {
            name: group.name,
            document: json::to_text(&group.document),
        };
        let provider = |provider: crate::Provided| {
            let crate::Provided {
                name,
                kind,
                group,
                job,
                properties,
            } = provider;
            world::Provider {
                name,
                type_: kind,
                group,
                job,
                properties: json::to_text(&properties),
            }
        };
        Ok(world::Resolved {
            groups: resolved.groups.into_iter().map(group).collect(),
            providers: resolved.providers.into_iter().map(provider).collect(),
            diagnostics: told(resolved.diagnostics),
            extensions: Vec::new(),
        })
    }
}

fn parse(text: &str, name: &str) -> Result<Tree, Vec<wit::Diagnostic>> {
    json::parse(text).map_err(|error| told(vec![Diagnostic::malformed(error.to_string(), name)]))
}

fn told(diagnostics: Vec<Diagnostic>) -> Vec<wit::Diagnostic> {
    let tell = |diagnostic: Diagnostic| wit::Diagnostic {
        severity: match diagnostic.severity {
            Severity::Error => wit::Severity::Error,
            Severity::Warning => wit::Severity::Warning,
        },
        code: diagnostic.code.name.into(),
        message: diagnostic.message,
        document: Some(diagnostic.document),
        pointer: Some(diagnostic.pointer.to_string()),
        line: None,
        help: diagnostic.help,
        extensions: Vec::new(),
    };
    diagnostics.into_iter().map(tell).collect()
}
