//! The stage as a whole.

use crate::consume::{Consumer, consumed};
use crate::content::{Content, Ids};
use crate::data::Gathering;
use crate::manifest::Manifest;
use crate::provide::{Provider, Source, provided};
use crate::resolve::{Plan, collected};
use crate::resolved::Documents;
use crate::{addons, codes, limit, quarks, variables};
use boson_contract::Reply;
use boson_contract::links::{self, Addresses, LinksRequest, Resolved};
use boson_document::{Pointer, Report};
use boson_manifest::dns;
use boson_manifest::instances::{Layout, Spread};
use boson_manifest::names::{Names, label};
use boson_manifest::redacted::plain;
use boson_manifest::spec::Specs;
use std::collections::HashSet;

/// Resolves a whole deployment, whose manifest has its variables replaced.
///
/// # Errors
/// All errors in the input, with the warnings. Links are resolved only if manifest and specs are valid.
pub fn resolve(request: LinksRequest<'_>, ids: Ids) -> Reply<Resolved> {
    let mut report = limit::report();
    let resolved = run(request, ids, &mut report);
    match resolved {
        Some(resolved) if !report.failed() => Ok((resolved, limit::finish(report))),
        _ => Err(collected(limit::finish(report), &request.deployment.name)),
    }
}

/// The addresses of the links that variables consume.
///
/// For the time before values of variables are known: places that may hold placeholders are not checked.
///
/// # Errors
/// Links of variables with no provider or several providers.
pub fn addresses(request: LinksRequest<'_>) -> Reply<Addresses> {
    let mut unchecked = limit::report();
    let mut report = limit::report();
    let specs = Specs::read(request.jobs, codes::JOB_SPEC, &mut unchecked);
    let plan = plan(request, &specs, &mut unchecked);
    let found = plan.and_then(|plan| variables::addresses(&plan, request, &mut report));
    let reported = collected(limit::finish(report), &request.deployment.name);
    match found {
        Some(addresses) => Ok((addresses, reported)),
        // Other errors may be the cause, but a placeholder in place of a number is not.
        None => {
            let others = limit::finish(unchecked).into_iter();
            let errors = others.filter(|d| d.is_error() && d.code != codes::WRONG_TYPE);
            Err(reported.into_iter().chain(errors).collect())
        }
    }
}

fn plan<'a>(request: LinksRequest<'a>, specs: &Specs<'a>, report: &mut Report) -> Option<Plan<'a>> {
    let deployment = request.deployment;
    let mut manifest = Manifest::read(request.manifest.tree, specs, report);
    addons::place(&mut manifest, &deployment.name, specs, report);
    let names = match Names::of(deployment) {
        Ok(names) => names,
        Err(error) => {
            report.error(codes::NAME, Pointer::root(), error.to_string());
            return None;
        }
    };
    lay_out(&mut manifest, &names, deployment.spread, report);
    let (providers, consumers) = declared(&manifest, specs, request, report);
    Some(Plan {
        manifest,
        names,
        providers,
        consumers,
    })
}

fn run(request: LinksRequest<'_>, ids: Ids, report: &mut Report) -> Option<Resolved> {
    let specs = Specs::read(request.jobs, codes::JOB_SPEC, report);
    let plan = plan(request, &specs, report)?;
    if report.failed() {
        return None;
    }
    variables::addresses(&plan, request, report);
    let Plan {
        manifest,
        names,
        providers,
        consumers,
    } = plan;
    let content = Content::new(request.deployment, &manifest.groups, &names, ids);
    let gathering = Gathering {
        manifest: &manifest,
        specs: &specs,
        providers: &providers,
        request,
        content,
        report,
    };
    let data = gathering.data(&consumers)?;
    let content = Content::new(request.deployment, &manifest.groups, &names, ids);
    let offered = offered_links(&providers, &manifest, content, report);
    if report.failed() {
        return None;
    }
    // The bpm stage, which makes the DNS objects, reports errors in aliases.
    let zone = dns::zone(request.manifest.tree, request.deployment);
    Some(Resolved {
        groups: Documents::new(&manifest, &request.deployment.name, &names, zone).all(data, report),
        providers: offered,
    })
}

/// Most instances of all groups: as many pods as Kubernetes is made for in a namespace.
const MAX_INSTANCES: u64 = 3_000;

fn lay_out(manifest: &mut Manifest<'_>, names: &Names, spread: Spread, report: &mut Report) {
    let (mut total, mut seen) = (0, HashSet::new());
    for group in &mut manifest.groups {
        let layout = Layout {
            group: group.name(),
            azs: &group.azs,
            instances: group.stated,
            spread,
        };
        total += layout.count();
        let error = layout.limit_error().or_else(|| {
            let name = plain(group.name());
            (total > MAX_INSTANCES)
                .then(|| format!("The instance groups up to '{name}' have more than {MAX_INSTANCES} instances"))
        });
        if let Some(message) = error {
            report.error(codes::LIMIT, group.entry.place.at("instances"), message);
            return;
        }
        // Reported already: two groups with the same canonical name.
        if !seen.insert(label(group.name())) {
            continue;
        }
        match layout
            .instances(names)
            .and_then(|instances| Ok((layout.hypothetical(names)?, instances)))
        {
            Ok((hypothetical, instances)) => {
                (group.hypothetical, group.instances) = (hypothetical, instances);
            }
            Err(error) => {
                report.error(codes::NAME, group.entry.place.at("name"), error.to_string());
            }
        }
    }
}

fn declared(
    manifest: &Manifest<'_>,
    specs: &Specs<'_>,
    request: LinksRequest<'_>,
    report: &mut Report,
) -> (Vec<Provider>, Vec<Vec<Consumer>>) {
    let (mut providers, mut consumers) = (Vec::new(), Vec::new());
    for (number, group) in manifest.groups.iter().enumerate() {
        for job in &group.jobs {
            quarks::check(job, report);
        }
        providers.extend(provided(number, group, specs, report));
        consumers.push(consumed(number, group, specs, request, report));
    }
    (providers, consumers)
}

/// The links that jobs provide; those that are shared with their content.
fn offered_links(
    providers: &[Provider],
    manifest: &Manifest<'_>,
    mut content: Content<'_>,
    report: &mut Report,
) -> Vec<links::Provider> {
    let mut all = Vec::new();
    for provider in providers.iter().filter(|provider| provider.consumable) {
        let group = &manifest.groups[provider.group];
        let Source::Job(job) = provider.source else { continue };
        let shared = provider.shared.then(|| content.counted_link(provider, group, report));
        all.push(links::Provider {
            name: provider.name.clone(),
            kind: provider.kind.clone(),
            group: group.name().into(),
            job: group.jobs[job].name.clone(),
            properties: provider.properties.clone(),
            shared: shared.flatten(),
        });
    }
    all
}
