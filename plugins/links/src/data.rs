//! The data of every job: bound properties, instances, links.

use crate::codes;
use crate::consume::{Asker, Consumer, Way};
use crate::content::{Content, weight};
use crate::group::Group;
use crate::job::Job;
use crate::manifest::Manifest;
use crate::properties::{Known, bind};
use crate::provide::Provider;
use crate::resolve::{Found, Providers};
use crate::resolved::JobData;
use boson_contract::links::LinksRequest;
use boson_document::{Map, Place, Report, Tree};
use boson_manifest::job::QUARKS;
use boson_manifest::redacted::plain;
use boson_manifest::spec::Specs;

/// Gathers the data of all jobs.
pub struct Gathering<'r, 'a> {
    pub manifest: &'r Manifest<'a>,
    pub specs: &'r Specs<'a>,
    /// All links provided.
    pub providers: &'r [Provider],
    pub request: LinksRequest<'r>,
    /// What is the same for all.
    pub content: Content<'r>,
    /// Where to tell.
    pub report: &'r mut Report,
}

/// Most undeclared properties of one job that are reported.
const MAX_UNUSED_PROPERTIES: usize = 20;

// === impl Gathering ===

impl<'a> Gathering<'_, 'a> {
    /// For each group the data of each of its jobs; none where the deployment is too large, which is reported.
    pub fn data(mut self, consumers: &[Vec<Consumer>]) -> Option<Vec<Vec<JobData>>> {
        let providers = Providers::new(self.providers, &self.manifest.groups, self.request);
        let mut all = Vec::new();
        for (group, consumers) in self.manifest.groups.iter().zip(consumers) {
            let mut data = Vec::new();
            for job in &group.jobs {
                data.push(self.job(group, job)?);
            }
            for consumer in consumers {
                let link = match &consumer.way {
                    Way::Manual(content) => self.given(content, 0, group)?,
                    _ => match providers.find(consumer, self.report) {
                        Some(Found::Provider(provider)) => self.content.counted_link(provider, group, self.report)?,
                        Some(Found::External(link)) => self.given(&link.content, link.instances() as u64, group)?,
                        None => continue,
                    },
                };
                if let Asker::Job { job, .. } = consumer.asker {
                    data[job].consumes.insert(consumer.original.clone(), link);
                }
            }
            all.push(data);
        }
        Some(all)
    }

    /// The content of a link, with this many instances, that a group consumes.
    fn given(&mut self, content: &Tree, instances: u64, group: &Group<'a>) -> Option<Tree> {
        self.content.count(instances, weight(content), group, self.report)?;
        Some(content.clone())
    }

    fn job(&mut self, group: &Group<'a>, job: &Job<'a>) -> Option<JobData> {
        self.content
            .count(group.instances.len() as u64, 0, group, self.report)?;
        let instances = group
            .instances
            .iter()
            .map(|instance| self.content.spec(group, &job.name, instance))
            .collect();
        let hypothetical = group.hypothetical.as_ref();
        let hypothetical = hypothetical.map(|instance| self.content.spec(group, &job.name, instance));
        self.unused(job);
        Some(JobData {
            properties: self.bound_properties(job),
            instances,
            hypothetical,
            consumes: Map::new(),
        })
    }

    fn bound_properties(&mut self, job: &Job<'a>) -> Map {
        let spec = self.specs.get(job.spec);
        let mismatches = match bind(&job.properties, spec) {
            Ok(bound) => return bound,
            Err(mismatches) => mismatches,
        };
        for mismatch in mismatches {
            let at = match mismatch.given {
                Some(path) => job.properties.place.join(&path),
                None => Place::new(spec.document, "/properties").at(&mismatch.property),
            };
            self.report.error(codes::PROPERTY_TYPE, at, mismatch.message);
        }
        Map::new()
    }

    /// Warns of properties that no template can read.
    fn unused(&mut self, job: &Job<'a>) {
        // Properties that several jobs share need not be declared by each job.
        if job.properties.place != job.place.at("properties") || job.properties.is_empty() {
            return;
        }
        let spec = self.specs.get(job.spec);
        let mut known = Known::default();
        QUARKS.into_iter().for_each(|name| known.add(name));
        spec.properties.iter().for_each(|property| known.add(property.name));
        spec.provides
            .iter()
            .flat_map(|link| &link.properties)
            .for_each(|name| known.add(name));
        let custom = job.custom.iter().flat_map(|link| link.texts("properties"));
        custom.for_each(|name| known.add(name));
        for path in known.unknown(&job.properties, MAX_UNUSED_PROPERTIES) {
            let dotted = path.iter().map(|key| plain(key)).collect::<Vec<_>>().join(".");
            let message = format!(
                "Property '{dotted}' is not declared by job '{}' of release '{}'",
                job.name, job.release
            );
            let at = job.properties.place.join(&path);
            self.report
                .warning(codes::UNUSED_PROPERTY, at, message)
                .help("templates cannot read it: check its spelling, or remove it")
                .suggest(&dotted, known.names());
        }
    }
}
