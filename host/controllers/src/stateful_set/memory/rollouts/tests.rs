use super::*;
use serde_json::json;

const OF_PODS: Watch = Watch {
    kind: Kind::Pods,
    namespace: None,
};

const UPDATES: RolloutStep = RolloutStep {
    updates: true,
    goes_on: true,
};

const WAITS: RolloutStep = RolloutStep {
    updates: false,
    goes_on: true,
};

const ENDS: RolloutStep = RolloutStep {
    updates: false,
    goes_on: false,
};

fn group() -> Key {
    Key::new("n", "d-g")
}

fn pod(name: &str, uid: &str, version: &str) -> Pod {
    let metadata = json!({"name": name, "namespace": "n", "uid": uid, "resourceVersion": version});
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

/// UID of the group.
const UID: &str = "g";

fn set(version: &str) -> Value {
    json!({"metadata": {"name": "s", "namespace": "n", "uid": "s", "resourceVersion": version,
        "ownerReferences": [{"apiVersion": "v", "kind": "k", "name": "d-g", "uid": UID}]}})
}

fn wrote(kind: &str, name: &str, version: Option<&str>) -> Written {
    let now = version.map(|version| ObjectMeta {
        resource_version: Some(version.into()),
        ..ObjectMeta::default()
    });
    Written {
        kind: kind.into(),
        name: name.into(),
        now,
    }
}

fn see(followed: &Followed, event: Option<Event<Pod>>) {
    followed.apply_pod_event(&OF_PODS, event.as_ref(), |_| vec![group()]);
}

fn of_sets(namespace: &str) -> Watch {
    Watch {
        kind: Kind::Sets,
        namespace: Some(namespace.into()),
    }
}

fn watching() -> Followed {
    let followed = Followed::default();
    see(&followed, Some(Event::InitDone));
    followed.apply_set_event(&of_sets("n"), Some(&Event::InitDone), |_| Vec::new());
    followed
}

/// After a reconcile that updated an instance, and one that listed these pods, and wrote.
fn begun(followed: &Followed, pods: Vec<Pod>, writes: &[Written]) {
    followed.record_reconcile(&group(), &[], UPDATES);
    followed.begin(&group(), UID);
    followed.add_listed_sets(&group(), vec![set("5")]);
    followed.add_listed_pods(&group(), pods);
    let writes: Vec<Written> = [wrote("StatefulSet", "s", Some("5"))]
        .into_iter()
        .chain(writes.iter().cloned())
        .collect();
    followed.record_reconcile(&group(), &writes, WAITS);
}

fn pods(followed: &Followed) -> Option<Vec<String>> {
    let state = followed.state(&group(), UID)?;
    let text = |pod: &Pod| format!("{} {}", pod.name_any(), pod.resource_version().unwrap());
    Some(state.pods.iter().map(text).collect())
}

#[test]
fn after_its_first_list_a_group_is_as_the_watches_show_it() {
    let followed = watching();
    begun(&followed, vec![pod("s-0", "a", "1"), pod("s-1", "b", "2")], &[]);
    assert_eq!(pods(&followed).unwrap(), ["s-0 1", "s-1 2"]);
    see(&followed, Some(Event::Apply(pod("s-0", "a", "9"))));
    see(&followed, Some(Event::Apply(pod("s-1", "b", "1"))));
    assert_eq!(
        pods(&followed).unwrap(),
        ["s-0 9", "s-1 2"],
        "an older state is not put back"
    );
    see(&followed, Some(Event::Delete(pod("s-1", "b", "10"))));
    see(&followed, Some(Event::Apply(pod("s-2", "c", "11"))));
    assert_eq!(pods(&followed).unwrap(), ["s-0 9", "s-2 11"]);
}

#[test]
fn what_watches_show_while_objects_are_listed_is_not_lost() {
    let followed = watching();
    followed.record_reconcile(&group(), &[], UPDATES);
    followed.begin(&group(), UID);
    followed.add_listed_sets(&group(), vec![set("5")]);
    see(&followed, Some(Event::Apply(pod("s-0", "a", "7"))));
    see(&followed, Some(Event::Delete(pod("s-1", "b", "8"))));
    see(&followed, Some(Event::Apply(pod("s-2", "c", "9"))));
    let listed = vec![pod("s-0", "a", "1"), pod("s-1", "b", "2")];
    let listed = followed.add_listed_pods(&group(), listed);
    let versions: Vec<_> = listed.iter().map(|pod| pod.resource_version().unwrap()).collect();
    assert_eq!(versions, ["7", "9"]);
}

#[test]
fn there_is_no_state_before_the_watches_show_what_was_written() {
    let followed = watching();
    let before = vec![pod("s-0", "a", "1"), pod("s-1", "b", "2")];
    let writes = [
        wrote("Pod", "s-0", Some("6")),
        wrote("Pod", "s-1", None),
        wrote("Secret", "s", Some("99")),
    ];
    begun(&followed, before, &writes);
    assert_eq!(pods(&followed), None);
    see(&followed, Some(Event::Apply(pod("s-0", "a", "6"))));
    assert_eq!(pods(&followed), None, "one is to be deleted still");
    let mut going = pod("s-1", "b", "7");
    going.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
    ));
    see(&followed, Some(Event::Apply(going)));
    assert_eq!(pods(&followed).unwrap(), ["s-0 6", "s-1 7"]);
    followed.record_reconcile(&group(), &[wrote("StatefulSet", "new", Some("12"))], WAITS);
    assert_eq!(pods(&followed), None, "a new object is not shown yet");
}

#[test]
fn a_deleted_pod_may_be_followed_by_another_one_of_its_name() {
    let followed = watching();
    begun(&followed, vec![pod("s-0", "a", "1")], &[wrote("Pod", "s-0", None)]);
    see(&followed, Some(Event::Apply(pod("s-0", "b", "6"))));
    assert_eq!(pods(&followed).unwrap(), ["s-0 6"]);
    see(&followed, Some(Event::Delete(pod("s-0", "a", "7"))));
    assert_eq!(pods(&followed).unwrap(), ["s-0 6"], "that was the first one");
}

#[test]
fn after_an_interruption_of_a_watch_objects_are_listed_again() {
    let followed = watching();
    for interrupt in [None, Some(Event::Init), Some(Event::InitDone)] {
        begun(&followed, vec![pod("s-0", "a", "1")], &[]);
        assert!(pods(&followed).is_some());
        see(&followed, interrupt);
        assert_eq!(pods(&followed), None);
        see(&followed, Some(Event::InitDone));
    }
    see(&followed, None);
    begun(&followed, vec![pod("s-0", "a", "1")], &[]);
    assert_eq!(pods(&followed), None, "the watch shows nothing");
    see(&followed, Some(Event::Apply(pod("s-0", "a", "2"))));
    assert_eq!(pods(&followed).unwrap(), ["s-0 2"], "it continues where it was");
    followed.apply_set_event(&of_sets("another"), None, |_| Vec::new());
    assert!(pods(&followed).is_some(), "that watch shows nothing of it");
}

#[test]
fn another_object_of_the_same_name_has_none_of_these_sets() {
    let followed = watching();
    begun(&followed, vec![pod("s-0", "a", "1")], &[]);
    assert!(followed.state(&group(), "new").is_none());
    followed.begin(&group(), "new");
    let left_behind = serde_json::from_value(set("6")).unwrap();
    followed.apply_set_event(&of_sets("n"), Some(&Event::Apply(left_behind)), |_| vec![group()]);
    assert!(followed.add_listed_sets(&group(), Vec::new()).is_empty());
}

#[test]
fn what_a_group_has_is_followed_when_it_concerns_no_group_any_more() {
    let followed = watching();
    begun(&followed, vec![pod("s-0", "a", "1")], &[]);
    let of_none = |event: &Event<Pod>| followed.apply_pod_event(&OF_PODS, Some(event), |_| Vec::new());
    of_none(&Event::Delete(pod("s-0", "a", "2")));
    assert!(pods(&followed).unwrap().is_empty());
    let mut orphan = set("6");
    orphan["metadata"]["ownerReferences"] = json!([]);
    let orphan = serde_json::from_value(orphan).unwrap();
    followed.apply_set_event(&of_sets("n"), Some(&Event::Apply(orphan)), |_| Vec::new());
    assert!(followed.state(&group(), UID).unwrap().sets.is_empty());
}

#[test]
fn only_groups_that_are_being_changed_are_followed() {
    let followed = watching();
    followed.begin(&group(), UID);
    followed.add_listed_sets(&group(), vec![set("5")]);
    followed.add_listed_pods(&group(), Vec::new());
    followed.record_reconcile(&group(), &[wrote("StatefulSet", "s", Some("5"))], WAITS);
    assert!(followed.state(&group(), UID).is_none(), "no instance was updated");
    begun(&followed, Vec::new(), &[]);
    followed.record_reconcile(&group(), &[], ENDS);
    assert!(followed.state(&group(), UID).is_none(), "its rollout is complete");
}

#[test]
fn the_number_of_groups_that_are_followed_is_bounded() {
    let followed = watching();
    let nth = |nth: usize| Key::new("n", &nth.to_string());
    for group in (0..=MAX_FOLLOWED_GROUPS).map(nth) {
        followed.record_reconcile(&group, &[], UPDATES);
        followed.begin(&group, UID);
        followed.add_listed_sets(&group, Vec::new());
        followed.add_listed_pods(&group, Vec::new());
    }
    assert!(followed.state(&nth(0), UID).is_some());
    assert!(followed.state(&nth(MAX_FOLLOWED_GROUPS), UID).is_none());
}

#[test]
fn a_group_that_stands_still_is_released() {
    let followed = watching();
    begun(&followed, Vec::new(), &[]);
    let before = Instant::now().checked_sub(FOLLOW_DURATION);
    followed.0.lock().groups.get_mut(&group()).unwrap().last_update = before;
    followed.record_reconcile(&Key::new("n", "other"), &[], WAITS);
    assert!(followed.0.lock().groups.is_empty());
}
