//! Answers as BOSH's server gives them.
//!
//! Two differences are intended: an address that several targets of an alias share is in the answer once, and addresses
//! of pods that are being deleted count as failing if the instance has another pod.

use crate::instances::{Endpoint, Snapshot};
use crate::query::{Below, Criteria, First, Health, Query, parse};
use crate::zone::{AGENT_ID_DOMAIN, Authority, Upstream, Zone, normal};
use boson_manifest::dns::fits;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Labels of a long name before its root.
const LONG_NAME_LABELS: usize = 4;
const MAX_REVERSE_NAMES: usize = 20;

/// What the question's type asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    V4,
    V6,
    Both,
    Names,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// These addresses, in no order; may be none, where the name exists.
    Addresses(Vec<IpAddr>),
    Names(Vec<String>),
    NoSuchName,
    Malformed,
    Refused,
    Ask(Upstream),
}

/// The numbers of the instances that a name stands for, and which of them by their health.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Instances(Vec<usize>, Health),
    Address(IpAddr),
    Nothing,
    Malformed,
}

/// Answers a question. The name may be of any case, with or without a dot at its end.
pub fn resolve(zone: &Zone, pods: &Snapshot, name: &str, wanted: Wanted) -> Answer {
    let name = normal(name);
    if wanted == Wanted::Names {
        return reverse_names(zone, pods, &name);
    }
    match zone.authority(&name) {
        Some(Authority::Upcheck) => of_family(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()], wanted),
        Some(Authority::Denied) => Answer::NoSuchName,
        Some(Authority::Refused) => Answer::Refused,
        Some(Authority::Others(upstream)) => Answer::Ask(upstream.clone()),
        Some(Authority::Root | Authority::Alias) => resolve_own(zone, pods, &name, wanted),
        None if zone.no_recursion => Answer::Refused,
        None => Answer::Ask(Upstream::Servers(Vec::new())),
    }
}

fn of_family(all: Vec<IpAddr>, wanted: Wanted) -> Answer {
    let fits = |ip: &IpAddr| match wanted {
        Wanted::V4 => ip.is_ipv4(),
        Wanted::V6 => ip.is_ipv6(),
        Wanted::Both => true,
        Wanted::Names | Wanted::Other => false,
    };
    Answer::Addresses(all.into_iter().filter(fits).collect())
}

fn resolve_own(zone: &Zone, pods: &Snapshot, name: &str, wanted: Wanted) -> Answer {
    let targets = expand_alias(zone, name);
    let alone = targets.is_none();
    let (mut all, mut seen, mut exists) = (Vec::new(), HashSet::new(), false);
    for target in targets.unwrap_or_else(|| vec![name.to_string()]) {
        match find(zone, &target) {
            Found::Malformed if alone => return Answer::Malformed,
            Found::Malformed | Found::Nothing => {}
            Found::Address(ip) => {
                exists = true;
                all.extend(seen.insert(ip).then_some(ip));
            }
            Found::Instances(instances, health) => {
                exists = true;
                let healthy = with_health(pods, &instances, health);
                all.extend(healthy.map(|endpoint| endpoint.ip).filter(|ip| seen.insert(*ip)));
            }
        }
    }
    if exists {
        of_family(all, wanted)
    } else {
        Answer::NoSuchName
    }
}

/// The targets of an alias; `None` if the name is not an alias. An exact alias takes precedence over `_`.
pub(crate) fn expand_alias(zone: &Zone, name: &str) -> Option<Vec<String>> {
    if let Some(targets) = zone.aliases.get(name) {
        return Some(targets.to_vec());
    }
    let (first, rest) = name.split_once('.')?;
    let targets = zone.aliases.get(&format!("_.{rest}"))?.iter();
    let put = |target: &String| match target.strip_prefix("_.") {
        Some(rest) => format!("{first}.{rest}"),
        None => target.clone(),
    };
    Some(targets.map(put).collect())
}

fn find(zone: &Zone, target: &str) -> Found {
    if let Ok(ip) = target.parse() {
        return Found::Address(ip);
    }
    let all_of = |rest: &str| format!("q-s0.{rest}");
    let target = target.strip_prefix("*.").map_or_else(|| target.to_string(), all_of);
    // Links contain names of Services; a Service of the deployment is the same set of instances.
    if let Some(instances) = zone.addresses.get(&target) {
        return Found::Instances(instances.clone(), Health::Smart);
    }
    let below = |domain: &str| {
        let rest = target.strip_suffix(domain)?;
        rest.strip_suffix('.').or_else(|| rest.is_empty().then_some(""))
    };
    let made = |before: &&str| before.split('.').count() == LONG_NAME_LABELS;
    if let Some(before) = below(&zone.root).or_else(|| below(&zone.domain).filter(made)) {
        return match parse(before) {
            Ok(query) => select(zone, &query),
            Err(_) => Found::Malformed,
        };
    }
    let first = target.split('.').next().unwrap_or_default();
    if below(AGENT_ID_DOMAIN).is_some_and(|before| before != first) {
        return Found::Nothing;
    }
    // Below an alias: the first label may be an instance.
    with_id(zone, first, |_| true)
}

fn with_id(zone: &Zone, id: &str, fits: impl Fn(usize) -> bool) -> Found {
    let found = zone.by_id.get(id).into_iter().flatten().copied();
    instances_or_nothing(found.filter(|instance| fits(*instance)), Health::Smart)
}

fn instances_or_nothing(instances: impl Iterator<Item = usize>, health: Health) -> Found {
    let instances: Vec<usize> = instances.collect();
    if instances.is_empty() {
        return Found::Nothing;
    }
    Found::Instances(instances, health)
}

fn select(zone: &Zone, query: &Query<'_>) -> Found {
    let any = |pattern: &str, labels: &[String]| labels.iter().any(|label| fits(pattern, label));
    let all = 0..zone.groups.len();
    let groups: Vec<usize> = match query.below {
        Below::Long(group, network, deployment) => {
            if !any(network, &zone.networks) || !any(deployment, &zone.deployments) {
                return Found::Nothing;
            }
            all.filter(|number| fits(group, &zone.groups[*number])).collect()
        }
        Below::Group(number) => index_of(number, all.len()).into_iter().collect(),
        Below::Anywhere => all.collect(),
    };
    match &query.first {
        First::Id(id) => with_id(zone, id, |instance| groups.contains(&zone.instances[instance].group)),
        First::Criteria(criteria) => {
            let all = groups.iter().flat_map(|group| zone.of_group[*group].iter().copied());
            instances_or_nothing(
                all.filter(|instance| meets_criteria(zone, *instance, criteria)),
                criteria.health,
            )
        }
    }
}

/// `1` is the first.
fn index_of(number: &str, count: usize) -> Option<usize> {
    let number: usize = number.parse().ok()?;
    number.checked_sub(1).filter(|place| *place < count)
}

fn meets_criteria(zone: &Zone, instance: usize, criteria: &Criteria<'_>) -> bool {
    let known = &zone.instances[instance];
    let one = |wanted: &[&str], is: usize| wanted.is_empty() || wanted.iter().any(|text| text.parse() == Ok(is));
    let networks = &criteria.networks;
    one(&criteria.azs, known.az)
        && one(&criteria.indexes, known.index as usize)
        && one(&criteria.numbers, instance + 1)
        && (networks.is_empty()
            || networks
                .iter()
                .any(|text| index_of(text, zone.networks.len()).is_some()))
}

fn with_health<'p>(pods: &'p Snapshot, instances: &[usize], health: Health) -> impl Iterator<Item = &'p Endpoint> {
    let all: Vec<&Endpoint> = instances
        .iter()
        .flat_map(|instance| pods.addresses(*instance))
        .collect();
    let some_run = all.iter().any(|endpoint| endpoint.is_healthy());
    all.into_iter().filter(move |endpoint| match health {
        Health::All => true,
        Health::Running => endpoint.is_healthy(),
        Health::Failing => !endpoint.is_healthy(),
        Health::Smart => !some_run || endpoint.is_healthy(),
    })
}

fn reverse_names(zone: &Zone, pods: &Snapshot, name: &str) -> Answer {
    let known = parse_reverse_name(name).and_then(|ip| Some((ip, pods.instance_at(ip)?)));
    let Some((ip, instance)) = known else {
        return match zone.authority(name) {
            // It exists or not: either way it has no such record.
            Some(Authority::Root | Authority::Alias | Authority::Upcheck) => resolve(zone, pods, name, Wanted::Other),
            _ if zone.no_recursion => Answer::Refused,
            _ => Answer::Ask(Upstream::Servers(Vec::new())),
        };
    };
    let full = zone.full_name(&zone.instances[instance]);
    let aliases = [full.clone(), ip.to_string()];
    let aliases = aliases.iter().filter_map(|target| zone.alias_of.get(target)).flatten();
    Answer::Names(
        [&full]
            .into_iter()
            .chain(aliases)
            .take(MAX_REVERSE_NAMES)
            .cloned()
            .collect(),
    )
}

/// The address of `10.0.1.10.in-addr.arpa`, or of 32 digits before `ip6.arpa`.
fn parse_reverse_name(name: &str) -> Option<IpAddr> {
    if let Some(digits) = name.strip_suffix(".in-addr.arpa") {
        let turned: Vec<&str> = digits.split('.').rev().collect();
        return turned.join(".").parse::<Ipv4Addr>().ok().map(IpAddr::V4);
    }
    let digits: Vec<&str> = name.strip_suffix(".ip6.arpa")?.split('.').rev().collect();
    if digits.len() != 32 || digits.iter().any(|digit| digit.len() != 1) {
        return None;
    }
    let groups: Vec<String> = digits.chunks(4).map(<[&str]>::concat).collect();
    groups.join(":").parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}
