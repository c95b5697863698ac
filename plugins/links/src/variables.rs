//! Links that variables consume: addresses of groups for the names in certificates.

use crate::consume::{Asker, Consumer, Way};
use crate::provide::Source;
use crate::resolve::{Found, Plan, Providers};
use boson_contract::links::{Addresses, LinksRequest};
use boson_document::{Place, Pointer, Report, Tree, ruby};

/// Links that a certificate may consume.
const CONSUMERS: [&str; 2] = ["alternative_name", "common_name"];

/// A link of a variable.
struct VariableLink {
    consumer: Consumer,
    variable: String,
    wildcard: bool,
}

/// The links that variables consume. The variables stage has checked them; what it refuses is skipped.
fn consumed(document: &Tree) -> Vec<VariableLink> {
    let mut links = Vec::new();
    for (index, variable) in document.items("variables").iter().enumerate() {
        let consumes = variable.get("consumes").and_then(Tree::as_map);
        let (Some(name), Some(consumes)) = (variable.str("name"), consumes) else {
            continue;
        };
        let place = Place::from(Pointer::root().at("variables").at(index).at("consumes"));
        for (original, entry) in consumes {
            if CONSUMERS.contains(&original.as_str())
                && variable.str("type") == Some("certificate")
                && entry.as_map().is_some()
            {
                links.push(link(name, original, entry, place.at(original)));
            }
        }
    }
    links
}

fn link(variable: &str, original: &str, entry: &Tree, place: Place) -> VariableLink {
    let given = |key: &str| entry.get(key).and_then(ruby::string);
    let consumer = Consumer {
        original: original.into(),
        name: given("from").unwrap_or_else(|| original.into()),
        kind: given("link_type").unwrap_or_else(|| "address".into()),
        optional: false,
        way: Way::Explicit,
        network: None,
        deployment: None,
        asker: Asker::Variable(variable.into()),
        place,
    };
    let wildcard = entry.find(&["properties", "wildcard"]) == Some(&Tree::Bool(true));
    VariableLink {
        consumer,
        variable: variable.into(),
        wildcard,
    }
}

/// The addresses of the providers of the links that variables consume, for each variable; `None` if one was not found,
/// which is reported.
pub fn addresses(plan: &Plan<'_>, request: LinksRequest<'_>, report: &mut Report) -> Option<Addresses> {
    let groups = &plan.manifest.groups;
    let index = Providers::new(&plan.providers, groups, request);
    let (mut addresses, mut complete) = (Addresses::new(), true);
    for link in consumed(request.manifest.tree) {
        let (address, instances): (_, Vec<String>) = match index.find(&link.consumer, report) {
            Some(Found::Provider(provider)) => {
                let group = &groups[provider.group];
                let instances = group.instances.iter().map(|instance| instance.address.clone());
                // As in BOSH, a disk has no address.
                let address = plan.names.group_address(group.name()).ok();
                (address.filter(|_| provider.source != Source::Disk), instances.collect())
            }
            Some(Found::External(link)) => (
                link.address().map(Into::into),
                link.addresses().map(Into::into).collect(),
            ),
            None => {
                complete = false;
                continue;
            }
        };
        let Some(address) = address else { continue };
        let found = addresses.entry(link.variable).or_default();
        if link.consumer.original == "common_name" {
            found.common_name = Some(if link.wildcard { wildcard(&address) } else { address });
        } else {
            found.alternative_names = alternative_names(address, link.wildcard, instances);
        }
    }
    complete.then_some(addresses)
}

/// The first label of an address replaced, as BOSH does.
fn wildcard(address: &str) -> String {
    address
        .split_once('.')
        .map_or_else(|| "*".into(), |(_, rest)| format!("*.{rest}"))
}

/// In BOSH a wildcard matches the instances of the group. Here it would match all Services of the namespace, so the
/// instances' names are listed.
fn alternative_names(address: String, wildcard: bool, instances: Vec<String>) -> Vec<String> {
    let instances = instances.into_iter().filter(|_| wildcard);
    std::iter::once(address).chain(instances).collect()
}
