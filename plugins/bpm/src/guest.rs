//! The WIT glue: records of the contract to our nouns and back.
#![allow(unsafe_code, missing_docs, reason = "generated bindings")]

use crate::{codes, convert, report, request};
use boson_document::{Tree, json};
use exports::boson::bpm::conversion as wit;

wit_bindgen::generate!({ path: ["../../wit/types", "../../wit/bpm"], world: "boson:bpm/bpm@1.0.0", generate_all });

struct Plugin;

export!(Plugin);

impl wit::Guest for Plugin {
    fn describe() -> wit::Description {
        let code = |code: &codes::Code| boson::types::types::Code {
            name: code.name.into(),
            title: code.title.into(),
            explanation: code.explanation.into(),
        };
        wit::Description {
            name: "bpm".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            stage: "bpm".into(),
            settings_schema: crate::SETTINGS_SCHEMA.into(),
            codes: codes::CODES.iter().map(code).collect(),
            extensions: Vec::new(),
        }
    }

    fn convert_deployment(
        request: wit::DeploymentRequest,
        settings: String,
    ) -> Result<wit::Converted, Vec<wit::Diagnostic>> {
        reply(convert::deployment(&request.into(), &tree(&settings)))
    }

    fn convert_group(request: wit::GroupRequest, settings: String) -> Result<wit::Converted, Vec<wit::Diagnostic>> {
        reply(convert::group(&request.into(), &tree(&settings)))
    }
}

/// The host sends JSON only; what is none reads as null and fails as a missing key.
fn tree(text: &str) -> Tree {
    json::parse(text).unwrap_or_default()
}

fn reply(reply: request::Reply) -> Result<wit::Converted, Vec<wit::Diagnostic>> {
    let all = |diagnostics: Vec<report::Diagnostic>| diagnostics.into_iter().map(Into::into).collect::<Vec<_>>();
    match reply {
        Ok(converted) => Ok(wit::Converted {
            objects: converted.objects.iter().map(json::to_text).collect(),
            diagnostics: all(converted.diagnostics),
            extensions: Vec::new(),
        }),
        Err(diagnostics) => Err(all(diagnostics)),
    }
}

impl From<report::Diagnostic> for wit::Diagnostic {
    fn from(ours: report::Diagnostic) -> Self {
        Self {
            severity: match ours.severity {
                report::Severity::Error => boson::types::types::Severity::Error,
                report::Severity::Warning => boson::types::types::Severity::Warning,
            },
            code: ours.code.into(),
            message: ours.message,
            document: Some(ours.document),
            pointer: Some(ours.pointer),
            line: None,
            help: ours.help,
            extensions: Vec::new(),
        }
    }
}

impl From<wit::Deployment> for request::Deployment {
    fn from(wit: wit::Deployment) -> Self {
        let wit::Deployment {
            name,
            namespace,
            cluster_domain,
            operator_image,
            registry,
            extensions: _,
        } = wit;
        Self {
            name,
            namespace,
            cluster_domain,
            operator_image,
            registry,
        }
    }
}

impl From<wit::GroupRequest> for request::GroupRequest {
    fn from(wit: wit::GroupRequest) -> Self {
        let copy = |copy: wit::BpmCopy| request::BpmCopy {
            document_name: copy.document_name,
            instances: copy.instances,
            bpm: tree(&copy.bpm),
        };
        let job = |files: wit::JobFiles| request::JobFiles {
            job: files.job,
            release: files.release,
            templates: files.templates,
            monitored: files.monitored,
            bpm: files.bpm.into_iter().map(copy).collect(),
        };
        Self {
            deployment: wit.deployment.into(),
            group: tree(&wit.group),
            document_name: wit.document_name,
            pointer: wit.pointer,
            jobs: wit.jobs.into_iter().map(job).collect(),
            resolved_secret: wit.resolved_secret,
        }
    }
}

impl From<wit::DeploymentRequest> for request::DeploymentRequest {
    fn from(wit: wit::DeploymentRequest) -> Self {
        let variable = |variable: wit::Variable| request::Variable {
            name: variable.name,
            kind: variable.kind,
            options: tree(&variable.options),
            update_mode: variable.update_mode,
            pointer: variable.pointer,
        };
        Self {
            deployment: wit.deployment.into(),
            document: tree(&wit.document),
            document_name: wit.document_name,
            variables: wit.variables.into_iter().map(variable).collect(),
        }
    }
}
