//! `host events`: what the operator and commands have recorded of deployments.

use crate::access::{Access, PlaceArguments};
use crate::instances;
use crate::table::{Cell, Table, TableArguments};
use crate::time;
use boson_api::BoshDeployment;
use boson_cluster::client::recorded::{Page, RecordedEvent};
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_manifest::instances::Spread;
use boson_manifest::labels::EVENTS_PAGE;
use clap::Args;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
The operator records each change of a deployment, each rollout that begins, stops or ends, each instance whose update begins, with what has changed, \
and each event that it emits, except for warnings about a manifest and about unknown deployments. Commands record disks that they attach, orphan or delete, and problems that they \
resolve. The last 10,000 events of a namespace are kept, also those of deleted deployments. Events appear after some seconds.

User is who changed the BOSHDeployment: the user of a command of `host`, or the field manager of another program, such as `kubectl-edit`. It is empty \
if something else caused the change, such as an edited ConfigMap; Context names that.

At most 200 events are shown, the newest first: --before-id shows earlier ones. TIME is such as '2026-11-28 10:00:00' (UTC), 2026-11-28T10:00:00Z, or \
a time as this command prints it. The command needs the permissions to list ConfigMaps and BOSHDeployments.

Examples:
  host events -d nats -n messaging
  host events --instance nats/0 --after '2026-11-28 10:00:00'
  host events --action update --object-type deployment --json";
const HEADER: [&str; 10] = [
    "ID",
    "Time",
    "User",
    "Action",
    "Object Type",
    "Object Name",
    "Deployment",
    "Instance",
    "Context",
    "Error",
];
/// As a BOSH director answers.
const MAX_SHOWN_EVENTS: usize = 200;

/// Options of `host events`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct EventsArguments {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    table: TableArguments,
}

/// Which events are shown.
#[derive(Args, Debug, Default)]
struct Filter {
    /// Show events of this deployment [default: all]
    #[arg(short, long, value_name = "NAME")]
    deployment: Option<String>,
    /// Show events with IDs less than this
    #[arg(long, value_name = "ID")]
    before_id: Option<u64>,
    /// Show events before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    before: Option<Timestamp>,
    /// Show events after this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    after: Option<Timestamp>,
    /// Show events of this instance
    #[arg(long, value_name = "GROUP/INDEX")]
    instance: Option<String>,
    /// Show events that this user has caused
    #[arg(long, value_name = "USER")]
    event_user: Option<String>,
    /// Show events with this action
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Show events about objects of this type
    #[arg(long, value_name = "TYPE")]
    object_type: Option<String>,
    /// Show events about objects of this name
    #[arg(long, value_name = "NAME")]
    object_name: Option<String>,
}

/// An event with what depends on the deployments that exist.
struct Shown {
    id: u64,
    event: RecordedEvent,
    /// `GROUP/INDEX`, or nothing.
    instance: String,
}

// === impl Filter ===

impl Filter {
    fn shows(&self, one: &Shown) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let Shown { id, event, instance } = one;
        is(&self.deployment, &event.deployment)
            && self.before_id.is_none_or(|before| *id < before)
            && self.before.is_none_or(|before| event.time.0 < before)
            && self.after.is_none_or(|after| event.time.0 > after)
            && is(&self.instance, instance)
            && is(&self.event_user, &event.user)
            && is(&self.action, &event.action)
            && is(&self.object_type, &event.object_type)
            && is(&self.object_name, one.object_name())
    }
}

// === impl Shown ===

impl Shown {
    fn of(id: u64, event: RecordedEvent, spreads: &BTreeMap<String, Spread>) -> Self {
        let spread = spreads.get(&event.deployment).copied().unwrap_or_default();
        let instance = event.instance.as_ref().map(|place| {
            let index = match (spread, place.index_per_zone) {
                (Spread::PerZone, Some(index)) => index,
                _ => place.index,
            };
            format!("{}/{index}", place.group)
        });
        Self {
            id,
            instance: instance.unwrap_or_default(),
            event,
        }
    }

    fn object_name(&self) -> &str {
        match self.event.object_name.as_str() {
            "" => &self.instance,
            name => name,
        }
    }

    fn row(&self) -> Vec<Cell> {
        let Self { id, event, instance } = self;
        vec![
            id.to_string().into(),
            time::format(event.time.0).into(),
            event.user.as_str().into(),
            event.action.as_str().into(),
            event.object_type.as_str().into(),
            self.object_name().into(),
            event.deployment.as_str().into(),
            instance.as_str().into(),
            event.context.as_str().into(),
            event.error.as_str().into(),
        ]
    }
}

/// `spreads`: how the deployments that exist count their instances.
fn table(pages: &[ConfigMap], spreads: &BTreeMap<String, Spread>, filter: &Filter) -> Table {
    let all = Page::events(pages).into_iter();
    let all = all.map(|(id, event)| Shown::of(id, event, spreads));
    let mut shown: Vec<Shown> = all.filter(|one| filter.shows(one)).take(MAX_SHOWN_EVENTS + 1).collect();
    let has_more = shown.len() > MAX_SHOWN_EVENTS;
    shown.truncate(MAX_SHOWN_EVENTS);
    let last = shown.last().filter(|_| has_more);
    let note = last.map(|last| format!("There are earlier events: add --before-id {}.", last.id));
    Table {
        notes: note.into_iter().collect(),
        ..Table::new("events", &HEADER, shown.iter().map(Shown::row).collect())
    }
}

pub fn run(arguments: &EventsArguments, color: Color) -> Result<(), ExitError> {
    let table = arguments
        .place
        .run(async |access| read(&access, &arguments.filter).await)?;
    Ok(arguments.table.print(vec![table], color)?)
}

async fn read(access: &Access, filter: &Filter) -> anyhow::Result<Table> {
    let deployments: Vec<BoshDeployment> = access.list("").await?;
    let pages: Vec<ConfigMap> = access.list(EVENTS_PAGE).await?;
    let spread = |one: &BoshDeployment| (one.name_any(), instances::spread(one));
    Ok(table(&pages, &deployments.iter().map(spread).collect(), filter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::forms::{in_json, on_terminal};
    use serde_json::{Value, from_value, json};

    fn page(events: &[Value]) -> ConfigMap {
        let data = (1..)
            .zip(events)
            .map(|(id, event): (u64, &Value)| (id.to_string(), event.to_string()));
        ConfigMap {
            data: Some(data.collect()),
            ..ConfigMap::default()
        }
    }

    fn samples() -> ConfigMap {
        page(&[
            json!({"time": "2026-11-28T10:00:00Z", "user": "ann", "action": "update", "objectType": "deployment",
                "objectName": "nats", "deployment": "nats", "context": "revision 3: changed instance groups: broker"}),
            json!({"time": "2026-11-28T10:00:05Z", "action": "update", "objectType": "instance", "deployment": "nats",
                "instance": {"group": "broker", "index": 2, "indexPerZone": 1}, "context": "version: 3, changes: configuration"}),
            json!({"time": "2026-11-28T10:01:00Z", "action": "canary_failed", "objectType": "instance_group",
                "objectName": "broker", "deployment": "nats", "error": "pod 'p': OOMKilled"}),
            json!({"unknown": "form"}),
        ])
    }

    #[test]
    fn events_are_rows_the_newest_first() {
        let found = table(&[samples()], &BTreeMap::new(), &Filter::default());
        let wanted = [
            "ID  Time                          User  Action         Object Type     Object Name  Deployment  Instance  Context                                      Error",
            "3   Sat Nov 28 10:01:00 UTC 2026  -     canary_failed  instance_group  broker       nats        -         -                                            pod 'p': OOMKilled",
            "2   Sat Nov 28 10:00:05 UTC 2026  -     update         instance        broker/2     nats        broker/2  version: 3, changes: configuration           -",
            "1   Sat Nov 28 10:00:00 UTC 2026  ann   update         deployment      nats         nats        -         revision 3: changed instance groups: broker  -",
            "",
            "3 events",
        ];
        assert_eq!(on_terminal(&found), wanted);
        let spreads = [("nats".to_string(), Spread::PerZone)].into();
        let found = in_json(&table(&[samples()], &spreads, &Filter::default()));
        assert_eq!(
            found[0],
            "id|time|user|action|object_type|object_name|deployment|instance|context|error"
        );
        let row = "2|Sat Nov 28 10:00:05 UTC 2026||update|instance|broker/1|nats|broker/1|version: 3, changes: configuration|";
        assert_eq!(found[2], row);
    }

    #[test]
    fn filters_select_as_in_bosh() {
        let ids = |filter: Filter| -> Vec<String> {
            let found = in_json(&table(&[samples()], &BTreeMap::new(), &filter));
            found[1..]
                .iter()
                .map(|row| row.split('|').next().unwrap().to_string())
                .collect()
        };
        let text = |text: &str| Some(text.to_string());
        let with = |change: fn(&mut Filter)| {
            let mut filter = Filter::default();
            change(&mut filter);
            ids(filter)
        };
        assert_eq!(with(|one| one.before_id = Some(3)), ["2", "1"]);
        assert_eq!(with(|one| one.before = time::parse("2026-11-28 10:00:05").ok()), ["1"]);
        assert_eq!(with(|one| one.after = time::parse("2026-11-28T10:00:05Z").ok()), ["3"]);
        assert_eq!(
            ids(Filter {
                instance: text("broker/2"),
                ..Filter::default()
            }),
            ["2"]
        );
        assert_eq!(
            ids(Filter {
                event_user: text("ann"),
                ..Filter::default()
            }),
            ["1"]
        );
        assert_eq!(
            ids(Filter {
                action: text("update"),
                ..Filter::default()
            }),
            ["2", "1"]
        );
        assert_eq!(
            ids(Filter {
                object_type: text("instance_group"),
                ..Filter::default()
            }),
            ["3"]
        );
        assert_eq!(
            ids(Filter {
                object_name: text("broker/2"),
                ..Filter::default()
            }),
            ["2"]
        );
        assert_eq!(
            ids(Filter {
                deployment: text("other"),
                ..Filter::default()
            }),
            [""; 0]
        );
    }

    #[test]
    fn more_events_than_bosh_shows_are_announced() {
        let one: Value = json!({"time": "2026-11-28T10:00:00Z", "action": "update"});
        let _: RecordedEvent = from_value(one.clone()).unwrap();
        let found = table(&[page(&vec![one; 201])], &BTreeMap::new(), &Filter::default());
        assert_eq!(
            (found.count, found.notes.as_slice()),
            (200, &["There are earlier events: add --before-id 2.".to_string()][..])
        );
    }
}
