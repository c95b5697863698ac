//! The stage as a whole.

use crate::codes;
use crate::consume::{Consumer, Deployments, Way, consumed};
use crate::content::{Content, TooLarge};
use crate::diagnostic::{Diagnostic, Report};
use crate::manifest::{Group, Job, Manifest, QUARKS, Specs};
use crate::properties::{Known, bind};
use crate::provide::{Provider, Source, provided};
use crate::resolve::{Found, Providers};
use crate::resolved::{Documents, JobData};
use crate::spec::JobSpec;
use crate::value::{depth, plain};
use crate::{addons, value};
use boson_deployment::instances::Layout;
use boson_deployment::names::Names;
use boson_document::{MAX_DEPTH, Map, Pointer, Tree};

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

/// The resolved document of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupDocument {
    /// The group.
    pub name: String,
    /// See `wit/links`.
    pub document: Tree,
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
    let mut stage = Stage {
        manifest: &manifest,
        specs: &specs,
        providers: &providers,
        deployment,
        content,
        report,
    };
    let data = stage.data(&consumers)?;
    if stage.report.failed() {
        return None;
    }
    let documents = stage.documents(data);
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
            given_data(job, report);
        }
        providers.extend(provided(number, group, specs, report));
        consumers.push(consumed(number, group, specs, deployments, report));
    }
    (providers, consumers)
}

/// Checks the job's property `quarks` as far as this stage reads it.
fn given_data(job: &Job<'_>, report: &mut Report) {
    let place = job.place.at("properties");
    for name in QUARKS {
        let Some(given) = job.properties.get(name) else {
            continue;
        };
        let Some(members) = value::Members::of(given, place.at(name), report) else {
            continue;
        };
        for key in ["instances", "release"]
            .into_iter()
            .filter(|key| members.get(key).is_some())
        {
            let message = format!(
                "The key '{key}' of the property '{name}' of job '{}' has no effect: it is computed",
                job.name
            );
            report.warning(codes::GIVEN_DATA, members.place.at(key), message, "take it out");
        }
        members.object("consumes", report);
    }
    if QUARKS.iter().all(|name| job.properties.contains_key(*name)) {
        let message = format!(
            "Job '{}' has both the properties '{}' and '{}'",
            job.name, QUARKS[0], QUARKS[1]
        );
        let help = "move everything under `quarks`: what both have is taken from there";
        report.warning(codes::GIVEN_DATA, place.at(QUARKS[1]), message, help);
    }
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

struct Stage<'r, 'a> {
    manifest: &'r Manifest<'a>,
    specs: &'r Specs<'a>,
    providers: &'r [Provider],
    deployment: &'r Deployment,
    content: Content<'r>,
    report: &'r mut Report,
}

/// Most undeclared properties of one job that are told.
const MOST_UNUSED: usize = 20;

// === impl Stage ===

impl<'a> Stage<'_, 'a> {
    /// For each group the data of each of its jobs; none where the deployment is too large.
    fn data(&mut self, consumers: &[Vec<Consumer>]) -> Option<Vec<Vec<JobData>>> {
        let providers = Providers::new(self.providers);
        let mut all = Vec::new();
        for (group, consumers) in self.manifest.groups.iter().zip(consumers) {
            let mut data = Vec::new();
            for job in &group.jobs {
                data.push(
                    self.job(group, job)
                        .map_err(|error| self.too_large(group, error))
                        .ok()?,
                );
            }
            for consumer in consumers {
                let Some(found) = providers.find(consumer, &self.manifest.groups, &self.deployment.name, self.report)
                else {
                    continue;
                };
                let link = self
                    .link(consumer, found)
                    .map_err(|error| self.too_large(group, error))
                    .ok()?;
                data[consumer.job].consumes.insert(consumer.original.clone(), link);
            }
            all.push(data);
        }
        Some(all)
    }

    fn too_large(&mut self, group: &Group<'_>, error: TooLarge) {
        self.report.error(codes::LIMIT, group.place.clone(), error.0);
    }

    fn job(&mut self, group: &Group<'a>, job: &Job<'a>) -> Result<JobData, TooLarge> {
        self.content.spend(group.instances.len() as u64, 0)?;
        let instances = group
            .instances
            .iter()
            .map(|instance| self.content.spec(group, &job.name, instance))
            .collect();
        self.unused(job);
        Ok(JobData {
            properties: self.bound(job),
            instances,
            consumes: Map::new(),
        })
    }

    fn bound(&mut self, job: &Job<'a>) -> Map {
        let spec = self.specs.of(job);
        let mismatches = match bind(&job.properties, spec) {
            Ok(bound) => return bound,
            Err(mismatches) => mismatches,
        };
        for mismatch in mismatches {
            match mismatch.given {
                Some(path) => {
                    let at = job.place.at("properties").join(&path);
                    self.report.error(codes::PROPERTY_TYPE, at, mismatch.message);
                }
                None => {
                    let at = Pointer::root().at("properties").at(&mismatch.property);
                    self.report
                        .error_in(spec.document, codes::PROPERTY_TYPE, at, mismatch.message);
                }
            }
        }
        Map::new()
    }

    /// Warns of properties that no template can see.
    fn unused(&mut self, job: &Job<'a>) {
        let spec = self.specs.of(job);
        let mut known = Known::default();
        QUARKS.into_iter().for_each(|name| known.add(name));
        spec.properties.iter().for_each(|property| known.add(property.name));
        spec.provides
            .iter()
            .flat_map(|link| &link.properties)
            .for_each(|name| known.add(name));
        let custom = job
            .custom
            .iter()
            .flat_map(|link| link.items("properties"))
            .filter_map(Tree::as_str);
        custom.for_each(|name| known.add(name));
        if !matches!(job.properties, crate::manifest::Properties::Own(_)) {
            return;
        }
        for path in known.unknown(&job.properties, MOST_UNUSED) {
            let dotted = path.iter().map(|key| plain(key)).collect::<Vec<_>>().join(".");
            let message = format!(
                "Property '{dotted}' is not declared by job '{}' of release '{}'",
                job.name, job.release
            );
            let at = job.place.at("properties").join(&path);
            self.report.warning(
                codes::UNUSED_PROPERTY,
                at,
                message,
                "templates do not see it: check its spelling, or take it out",
            );
        }
    }

    fn link(&mut self, consumer: &Consumer, found: Found) -> Result<Tree, TooLarge> {
        let (Found::Provider(index), groups) = (found, &self.manifest.groups) else {
            let Way::Manual(content) = &consumer.way else {
                return Ok(Tree::Null);
            };
            self.content.spend(0, value::weight(content))?;
            return Ok(content.clone());
        };
        let provider = &self.providers[index];
        let (instances, bytes) = Content::cost(provider, groups);
        self.content.spend(instances, bytes)?;
        self.content
            .link(provider, groups)
            .map_err(|error| TooLarge(error.to_string()))
    }

    fn documents(&mut self, data: Vec<Vec<JobData>>) -> Vec<GroupDocument> {
        let documents = Documents::new(self.manifest, &self.deployment.name);
        let mut made = Vec::new();
        for (group, data) in self.manifest.groups.iter().zip(data) {
            let document = documents.document(group, data);
            if depth(&document) > MAX_DEPTH {
                let message = format!(
                    "The resolved document of the instance group '{}' is nested too deep",
                    plain(&group.name)
                );
                self.report.error(codes::TOO_DEEP, group.place.clone(), message);
            }
            made.push(GroupDocument {
                name: group.name.clone(),
                document,
            });
        }
        made
    }
}
