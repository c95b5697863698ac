//! Counts the writes of a run, then dies at each of them.

use super::users::{ask, has_succeeded, jobs, run, template};
use crate::connection::{Connection, Death};
use crate::operator_tasks::OperatorTasks;
use boson_api::QuarksJob;
use boson_tests::wait_until;
use futures::StreamExt;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use serde_json::json;
use std::sync::atomic::Ordering;

/// Number of pods that Kubernetes created for Jobs, from its events; the pods may be deleted by now.
async fn pods_made(env: &OperatorTasks) -> usize {
    let events = env.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let made = |event: &&Event| {
        let about_job = event.regarding.as_ref().and_then(|about| about.kind.as_deref()) == Some("Job");
        about_job && event.reason.as_deref() == Some("SuccessfulCreate")
    };
    events.iter().filter(made).count()
}

/// One run that ends as given, and one after it. Returns the number of writes in the first.
async fn two_lives(name: String, death: Death) -> usize {
    let env = OperatorTasks::set(&name).await;
    let (first, second) = (Connection::default(), Connection::default());
    let operator = env.operator_through(first.client(env.client.clone(), death), "first");
    let mut spec = json!({"trigger": {"strategy": "now"}, "template": template(&json!({}))});
    spec["output"] = json!({"outputMap": {"work": {"output.json": {"name": "result"}}}});
    ask(&env, "errand", &spec).await;
    let node = async {
        loop {
            run(&env, "errand", 0, "").await;
        }
    };
    let lives = async {
        // The last write comes after the success: the Job is deleted.
        let done = async || {
            env.wait_for_object("errand", "success", has_succeeded).await;
            wait_until("the end of the Job", async || jobs(&env).await.is_empty()).await;
        };
        first.ended_or(done()).await;
        operator.kill().await;
        let operator = env.operator_through(second.client(env.client.clone(), Death::Never), "second");
        done().await;
        operator.stop().await;
    };
    tokio::select! { () = node => {}, () = lives => {} }
    let landed = [first.landed(), second.landed()].concat();
    let count = |method: &str, part: &str| {
        landed
            .iter()
            .filter(|what| what.starts_with(method) && what.contains(part))
            .count()
    };
    // The operator may die before it learns that its write succeeded, so at most one of each is recorded.
    for (method, part) in [("POST", "/jobs"), ("PATCH", "/jobs/"), ("DELETE", "/jobs/")] {
        assert!(count(method, part) <= 1, "{death:?}: {landed:#?}");
    }
    // Kubernetes writes its events in the background.
    wait_until("the event of the pod", async || pods_made(&env).await > 0).await;
    assert_eq!(pods_made(&env).await, 1, "{death:?}: {landed:#?}");
    let status = env.api::<QuarksJob>().get("errand").await.unwrap().status.unwrap();
    assert_eq!(
        (status.runs, status.ended_runs, status.completed),
        (1, 1, true),
        "{death:?}"
    );
    first.writes.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_dies_at_any_write_runs_an_errand_once() {
    let writes = two_lives("job-death-never".into(), Death::Never).await;
    assert!(writes >= 9, "three for the account, six for the run: {writes}");
    let before = (0..writes).map(|at| (format!("job-death-before-{at}"), Death::Before(at)));
    let after = (0..writes).map(|at| (format!("job-death-after-{at}"), Death::After(at)));
    let lives = futures::stream::iter(before.chain(after)).map(|(name, death)| two_lives(name, death));
    lives.buffer_unordered(6).collect::<Vec<_>>().await;
}
