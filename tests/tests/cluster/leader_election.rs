//! Several operators with one lease.

use crate::shared_cluster::SharedCluster;
use boson_cluster::client::Cluster;
use boson_cluster::lease::{Election, End, LEASE_DURATION};
use boson_cluster::serving::Health;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[tokio::test(flavor = "multi_thread")]
async fn one_operator_works_at_a_time_and_a_released_lease_is_acquired_soon() {
    let client = SharedCluster::find().await.client;
    let name = format!("test-{}", std::process::id());
    let (working, turns) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut candidates = Vec::new();
    for number in 0..3 {
        let election = Election {
            namespace: "default".into(),
            name: name.clone(),
            me: format!("candidate-{number}"),
        };
        let cluster = Cluster::new(client.clone(), Arc::default());
        let (working, turns) = (working.clone(), turns.clone());
        let work = async move || {
            assert_eq!(working.fetch_add(1, Ordering::SeqCst), 0, "two work at once");
            tokio::time::sleep(Duration::from_millis(500)).await;
            turns.fetch_add(1, Ordering::SeqCst);
            working.fetch_sub(1, Ordering::SeqCst);
        };
        candidates.push(tokio::spawn(async move {
            election
                .lead(&cluster, &Health::default(), std::future::pending(), work)
                .await
        }));
    }
    let began = Instant::now();
    for candidate in candidates {
        assert_eq!(candidate.await.unwrap(), End::Done);
    }
    assert_eq!(turns.load(Ordering::SeqCst), 3);
    // A lease that is not released is acquired when it ends, and not before.
    assert!(began.elapsed() < LEASE_DURATION, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_asked_to_stop_drops_its_work() {
    let client = SharedCluster::find().await.client;
    let election = Election {
        namespace: "default".into(),
        name: format!("stop-{}", std::process::id()),
        me: "one".into(),
    };
    let cluster = Cluster::new(client, Arc::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let (begun, began) = oneshot::channel::<()>();
    let leader = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        let work = async || {
            begun.send(()).unwrap();
            std::future::pending::<()>().await;
        };
        election.lead(&cluster, &Health::default(), stopped, work).await
    });
    began.await.unwrap();
    stop.send(()).unwrap();
    assert_eq!(leader.await.unwrap(), End::Done);
}
