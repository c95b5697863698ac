//! A deployment to resolve: a manifest and jobs' specs as JSON values.

use boson_contract::Reply;
use boson_document::{Diagnostic, Pointer, Severity, Tree, json};
use boson_links::{Addresses, Deployment, External, Ids, JobSpec, LinksRequest, Named, Resolved, addresses, resolve};
use boson_manifest::instances::Spread;
use serde_json::{Value, json as value};
use std::borrow::Cow;

/// A deployment `dep` in namespace `ns`.
pub struct Case {
    manifest: Value,
    /// Release, name, spec and the spec's document of each job.
    jobs: Vec<(String, String, Tree, String)>,
    /// What `instances` means.
    pub spread: Spread,
    /// Whose ids are.
    pub ids: Ids,
    /// The links from outside.
    pub external: External,
}

pub fn tree(value: &Value) -> Tree {
    json::parse(&value.to_string()).unwrap()
}

impl Case {
    /// Groups with the release `r`, version 1.
    pub fn new(groups: Value) -> Self {
        let manifest =
            value!({"name": "manifest", "releases": [{"name": "r", "version": "1"}], "instance_groups": groups});
        Self {
            manifest,
            jobs: Vec::new(),
            spread: Spread::default(),
            ids: Ids::default(),
            external: External::default(),
        }
    }

    /// A top-level key of the manifest.
    pub fn key(mut self, key: &str, value: Value) -> Self {
        self.manifest[key] = value;
        self
    }

    /// Without this top-level key of the manifest.
    pub fn without(mut self, key: &str) -> Self {
        self.manifest.as_object_mut().unwrap().remove(key);
        self
    }

    /// A job of the release `r`: its spec but for the name.
    pub fn job(self, name: &str, spec: Value) -> Self {
        self.job_of("r", name, spec)
    }

    pub fn job_of(mut self, release: &str, name: &str, mut spec: Value) -> Self {
        if spec.get("name").is_none() {
            spec["name"] = name.into();
        }
        let document_name = format!("{release}/jobs/{name}/spec");
        let job = (release.into(), name.into(), tree(&spec), document_name);
        self.jobs.push(job);
        self
    }

    pub fn resolve(&self) -> Reply<Resolved> {
        self.call(|request| resolve(request, self.ids))
    }

    fn jobs(&self) -> Vec<JobSpec<'_>> {
        let jobs = self.jobs.iter().map(|(release, job, spec, document_name)| JobSpec {
            release: release.into(),
            job: job.into(),
            spec: Cow::Borrowed(spec),
            document_name: document_name.into(),
        });
        jobs.collect()
    }

    fn call<T>(&self, function: impl FnOnce(LinksRequest<'_>) -> T) -> T {
        let deployment = Deployment {
            name: "dep".into(),
            namespace: "ns".into(),
            cluster_domain: "cluster.local".into(),
            spread: self.spread,
            ..Deployment::default()
        };
        function(LinksRequest {
            manifest: Named::new("manifest", &tree(&self.manifest)),
            deployment: &deployment,
            jobs: &self.jobs(),
            external: &self.external,
        })
    }

    /// The addresses that variables consume, or the errors.
    pub fn addresses(&self) -> Result<Addresses, Vec<(String, String)>> {
        let found = self.call(addresses);
        found
            .map(|(addresses, _)| addresses)
            .map_err(|diagnostics| reported(&diagnostics, Severity::Error))
    }

    /// It resolves; the warnings are dropped.
    pub fn resolved(&self) -> Resolved {
        self.sound().0
    }

    fn sound(&self) -> (Resolved, Vec<Diagnostic>) {
        self.resolve().unwrap_or_else(|diagnostics| panic!("{diagnostics:#?}"))
    }

    /// Pointer (with the document, where it is not the manifest) and message of all errors, but for the text that
    /// collects those of links.
    pub fn errors(&self) -> Vec<(String, String)> {
        reported(&self.resolve().expect_err("it should not resolve"), Severity::Error)
    }

    pub fn warnings(&self) -> Vec<(String, String)> {
        reported(&self.sound().1, Severity::Warning)
    }
}

fn reported(diagnostics: &[Diagnostic], severity: Severity) -> Vec<(String, String)> {
    let place = |d: &Diagnostic| match &d.document {
        None => d.pointer_text(),
        Some(document) => format!("{document}#{}", d.pointer_text()),
    };
    diagnostics
        .iter()
        .filter(|d| d.severity == severity && d.code.name != "links-failed")
        .map(|d| (place(d), d.message.clone()))
        .collect()
}

/// A group of one instance with these jobs of the release `r`.
pub fn group(name: &str, jobs: Value) -> Value {
    value!({"name": name, "instances": 1, "jobs": jobs})
}

/// A value in the resolved document of a group, as JSON text.
pub fn at(resolved: &Resolved, group: &str, pointer: &str) -> String {
    let document = &resolved
        .groups
        .iter()
        .find(|g| g.name == group)
        .expect("the group")
        .document;
    Pointer::parse(pointer)
        .unwrap()
        .find(document)
        .map_or_else(|| "(absent)".into(), json::to_text)
}

/// A value below the first job's `quarks`.
pub fn quarks(resolved: &Resolved, group: &str, pointer: &str) -> String {
    at(
        resolved,
        group,
        &format!("/instance_groups/0/jobs/0/properties/quarks{pointer}"),
    )
}
