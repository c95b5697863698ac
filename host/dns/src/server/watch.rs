//! Follows the EndpointSlices of a deployment.
//!
//! kube's back-off restarts after each event, and a watch yields one before each list. So it would retry a forbidden
//! watch each second, in every pod of a deployment. Here only a complete list, or a change, restarts the pauses.

use super::State;
use crate::instances::{Endpoint, Slice};
use boson_manifest::labels;
use futures::TryStreamExt;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// The Service that a slice is for.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";
/// Most slices: one for each instance, and some while pods change.
const MAX_SLICES: usize = 50_000;
const MAX_SLICE_ADDRESSES: usize = 1_000;
/// Pause after the first error; it doubles with each further one.
const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Longest pause: addresses are current this long after an outage of the API server at the latest.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(16);

/// Runs forever: a broken watch is restarted after a pause.
pub(super) async fn follow(client: kube::Client, namespace: String, deployment: String, state: Arc<State>) {
    let api: Api<EndpointSlice> = Api::namespaced(client, &namespace);
    let selector = format!("{}={deployment}", labels::DEPLOYMENT_NAME);
    let config = watcher::Config::default().labels(&selector);
    let mut listed = HashMap::new();
    let mut errors = 0;
    let mut events = std::pin::pin!(watcher::watcher(api, config));
    loop {
        match events.try_next().await {
            Ok(Some(event)) => {
                if errors > 0 && is_success(&event) {
                    errors = 0;
                    tracing::info!("the API server answers again");
                }
                take(event, &mut listed, &state);
            }
            Ok(None) => return,
            Err(error) => {
                // The last snapshot is served: pods run without the API server.
                if errors == 0 {
                    tracing::warn!(%error, "cannot watch EndpointSlices: the last known addresses are served");
                }
                tokio::time::sleep(pause(errors)).await;
                errors = errors.saturating_add(1);
            }
        }
    }
}

/// Any other event may be the beginning of a list that fails.
fn is_success(event: &Event<EndpointSlice>) -> bool {
    matches!(event, Event::InitDone | Event::Apply(_) | Event::Delete(_))
}

/// The pause after this many earlier errors: at least half of the longest possible one, so that the pods of a
/// deployment, which lose the API server together, do not return together.
fn pause(errors: u32) -> Duration {
    let longest = INITIAL_RETRY_DELAY
        .saturating_mul(1_u32.checked_shl(errors).unwrap_or(u32::MAX))
        .min(MAX_RETRY_DELAY);
    let part = (RandomState::new().hash_one(errors) % 512) as f64 / 512.0;
    longest.mul_f64(0.5 + part / 2.0)
}

fn take(event: Event<EndpointSlice>, listed: &mut HashMap<String, Slice>, state: &State) {
    match event {
        Event::Init => listed.clear(),
        Event::InitApply(slice) => {
            if listed.len() < MAX_SLICES {
                listed.extend(read(&slice).map(|read| (slice.name_any(), read)));
            }
        }
        Event::InitDone => state.put_all(std::mem::take(listed)),
        Event::Apply(slice) => state.put(&slice.name_any(), read(&slice)),
        Event::Delete(slice) => state.put(&slice.name_any(), None),
    }
}

/// What is needed of a slice. The Services of groups publish addresses that are not ready, so `serving` is the
/// condition for a ready pod.
fn read(slice: &EndpointSlice) -> Option<Slice> {
    let service = slice.labels().get(SERVICE_LABEL)?.clone();
    let mut endpoints = Vec::new();
    for endpoint in &slice.endpoints {
        let conditions = endpoint.conditions.clone().unwrap_or_default();
        let is_running = conditions.serving.or(conditions.ready).unwrap_or(true);
        let is_ending = conditions.terminating.unwrap_or(false);
        for address in endpoint.addresses.iter().filter_map(|address| address.parse().ok()) {
            endpoints.push(Endpoint {
                ip: address,
                is_running,
                is_ending,
            });
        }
    }
    endpoints.truncate(MAX_SLICE_ADDRESSES);
    Some(Slice { service, endpoints })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Outcome, Way};
    use crate::zone::{AliasFiles, Zone};
    use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
    use hickory_proto::rr::{Name, RecordType};
    use hickory_proto::serialize::binary::{BinDecodable, BinEncodable};

    fn slice(name: &str, service: &str, ip: &str, serving: bool) -> EndpointSlice {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": name, "labels": {SERVICE_LABEL: service}}, "addressType": "IPv4",
            "endpoints": [{"addresses": [ip], "conditions": {"ready": true, "serving": serving}}],
        }))
        .unwrap()
    }

    fn asked(state: &State) -> (ResponseCode, Vec<String>) {
        let mut message = Message::new(1, MessageType::Query, OpCode::Query);
        message.add_query(Query::query(
            Name::from_ascii("q-s0.g.default.d.bosh.").unwrap(),
            RecordType::A,
        ));
        let Outcome::Reply(bytes) = state.answer(&message.to_bytes().unwrap(), Way::Udp) else {
            panic!("no reply")
        };
        let reply = Message::from_bytes(&bytes).unwrap();
        let mut all: Vec<String> = reply.answers.iter().map(|one| one.data.to_string()).collect();
        all.sort();
        (reply.metadata.response_code, all)
    }

    #[test]
    fn pauses_double_and_a_list_that_only_begins_is_no_success() {
        for (errors, seconds) in [(0, 1), (1, 2), (3, 8), (4, 16), (5, 16), (32, 16), (u32::MAX, 16)] {
            let (pause, longest) = (pause(errors), Duration::from_secs(seconds));
            assert!((longest / 2..=longest).contains(&pause), "{errors}: {pause:?}");
        }
        assert!(!is_success(&Event::Init) && !is_success(&Event::InitApply(slice("a", "d-g-0", "10.0.0.1", true))));
        assert!(is_success(&Event::InitDone));
    }

    #[test]
    fn events_become_answers_and_a_new_list_replaces_all() {
        let document = r#"{"version": 1, "deployment": "d", "namespace": "n", "clusterDomain": "c", "root": "bosh", "deployments": ["d"],
            "networks": ["default"], "groups": [{"name": "g", "instances": 2}]}"#;
        let state = State::new(Zone::read(document, &AliasFiles::new()).unwrap());
        let mut listed = HashMap::new();
        assert_eq!(asked(&state).0, ResponseCode::ServFail);
        take(Event::Init, &mut listed, &state);
        take(
            Event::InitApply(slice("a", "d-g-0", "10.0.0.1", true)),
            &mut listed,
            &state,
        );
        take(
            Event::InitApply(slice("b", "d-g-1", "10.0.0.2", false)),
            &mut listed,
            &state,
        );
        assert_eq!(asked(&state).0, ResponseCode::ServFail);
        take(Event::InitDone, &mut listed, &state);
        // If a Service publishes all its addresses, all of them are `ready`: only `serving` is reliable.
        assert_eq!(asked(&state), (ResponseCode::NoError, vec!["10.0.0.1".into()]));
        take(Event::Apply(slice("b", "d-g-1", "10.0.0.2", true)), &mut listed, &state);
        assert_eq!(asked(&state).1, ["10.0.0.1", "10.0.0.2"]);
        take(
            Event::Delete(slice("a", "d-g-0", "10.0.0.1", true)),
            &mut listed,
            &state,
        );
        assert_eq!(asked(&state).1, ["10.0.0.2"]);
        // While a list is being read, the last one holds.
        take(Event::Init, &mut listed, &state);
        assert_eq!(asked(&state).1, ["10.0.0.2"]);
        take(Event::InitDone, &mut listed, &state);
        assert_eq!(asked(&state), (ResponseCode::NoError, vec![]));
    }
}
