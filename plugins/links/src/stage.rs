//! The stage as a whole.

use crate::consume::{Consumer, Deployments, consumed};
use crate::content::Content;
use crate::data::Gathering;
use crate::diagnostic::{Diagnostic, Report};
use crate::manifest::Manifest;
use crate::provide::{Provider, Source, provided};
use crate::resolved::{Documents, GroupDocument};
use crate::spec::{JobSpec, Specs};
use crate::value::plain;
use crate::{addons, codes, quarks};
use boson_deployment::instances::Layout;
use boson_deployment::names::Names;
use boson_document::{Pointer, Tree};

/// The deployment at hand and where it goes.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Name.
    pub name: String,
    /// Kubernetes namespace.
    pub namespace: String,
    /// Domain of the cluster.
    pub cluster_domain: String,
}

/// What the stage replies.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// In the order of the manifest.
    pub groups: Vec<GroupDocument>,
    /// All links that jobs provide and `nil` does not take away.
    pub providers: Vec<Provided>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A link that a job provides.
#[derive(Clone, Debug, PartialEq)]
pub struct Provided {
    /// Name, `as` considered.
    pub name: String,
    /// Type.
    pub kind: String,
    /// Instance group.
    pub group: String,
    /// Job.
    pub job: String,
    /// The exposed properties.
    pub properties: Tree,
}

/// Resolves a whole deployment. `document` is the manifest with variables replaced.
///
/// # Errors
/// Everything that is wrong with the input, with the warnings. Links are only looked for where manifest and specs are sound.
pub fn resolve(
    document: &Tree,
    document_name: &str,
    deployment: &Deployment,
    jobs: &[JobSpec],
) -> Result<Resolved, Vec<Diagnostic>> {
    let mut report = Report::new(document_name);
    let resolved = run(document, deployment, jobs, &mut report);
    match resolved {
        Some((groups, providers)) if !report.failed() => Ok(Resolved {
            groups,
            providers,
            diagnostics: report.into_diagnostics(),
        }),
        _ => Err(report.into_diagnostics()),
    }
}

fn run(
    document: &Tree,
    deployment: &Deployment,
    jobs: &[JobSpec],
    report: &mut Report,
) -> Option<(Vec<GroupDocument>, Vec<Provided>)> {
    let specs = Specs::read(jobs, report);
    let mut manifest = Manifest::read(document, &specs, report);
    addons::place(&mut manifest, &specs, report);
    let names = match Names::new(&deployment.name, &deployment.namespace, &deployment.cluster_domain) {
        Ok(names) => names,
        Err(error) => {
            report.error(codes::NAME, Pointer::root(), error.to_string());
            return None;
        }
    };
    lay_out(&mut manifest, &names, report);
    let (providers, consumers) = declared(&manifest, &specs, deployment, report);
    if report.failed() {
        return None;
    }
    let content = Content::new(&deployment.name, &deployment.cluster_domain, &names);
    let data = Gathering {
        manifest: &manifest,
        specs: &specs,
        providers: &providers,
        deployment: &deployment.name,
        content,
        report,
    }
    .data(&consumers)?;
    if report.failed() {
        return None;
    }
    let documents = Documents::new(&manifest, &deployment.name).all(data, report);
    Some((documents, offered(&providers, &manifest)))
}

/// Most instances of a group: more than Kubernetes runs in one StatefulSet.
const MOST_OF_A_GROUP: u64 = 10_000;

fn lay_out(manifest: &mut Manifest<'_>, names: &Names, report: &mut Report) {
    for group in &mut manifest.groups {
        let replicas = u32::try_from(group.replicas).unwrap_or(u32::MAX);
        let layout = Layout {
            group: &group.name,
            azs: &group.azs,
            replicas,
        };
        if layout.count() > MOST_OF_A_GROUP {
            let message = format!(
                "Instance group '{}' has more than {MOST_OF_A_GROUP} instances over its AZs",
                plain(&group.name)
            );
            report.error(codes::LIMIT, group.place.at("instances"), message);
            continue;
        }
        match layout
            .instances(names)
            .and_then(|instances| names.group_address(&group.name).map(|_| instances))
        {
            Ok(instances) => group.instances = instances,
            Err(error) => report.error(codes::NAME, group.place.at("name"), error.to_string()),
        }
    }
}

fn declared(
    manifest: &Manifest<'_>,
    specs: &Specs<'_>,
    deployment: &Deployment,
    report: &mut Report,
) -> (Vec<Provider>, Vec<Vec<Consumer>>) {
    let deployments = Deployments {
        name: &deployment.name,
        manifest: manifest.tree.str("name"),
    };
    let (mut providers, mut consumers) = (Vec::new(), Vec::new());
    for (number, group) in manifest.groups.iter().enumerate() {
        for job in &group.jobs {
            quarks::check(job, report);
        }
        providers.extend(provided(number, group, specs, report));
        consumers.push(consumed(number, group, specs, deployments, report));
    }
    (providers, consumers)
}

fn offered(providers: &[Provider], manifest: &Manifest<'_>) -> Vec<Provided> {
    let offer = |provider: &Provider| {
        let group = &manifest.groups[provider.group];
        let Source::Job(job) = provider.source else { return None };
        Some(Provided {
            name: provider.name.clone(),
            kind: provider.kind.clone(),
            group: group.name.clone(),
            job: group.jobs[job].name.clone(),
            properties: provider.properties.clone(),
        })
    };
    providers
        .iter()
        .filter(|provider| provider.consumable)
        .filter_map(offer)
        .collect()
}
