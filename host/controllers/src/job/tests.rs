//! Tests of runs from trigger to end, with a list as cluster: the steps of one operator, and that two operators,
//! stopped or delayed at any point, start each run once.

use super::act::is_current;
use super::observe::{Config, Observed};
use super::plan::{Step, plan};
use super::run::{CONFIG_DIGEST, STARTED, TRIGGER_RESET, job_name};
use super::status::{State, status};
use boson_api::job::Strategy;
use boson_api::{QuarksJob, QuarksJobSpec};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A cluster with one QuarksJob.
struct World {
    object: QuarksJob,
    jobs: Vec<(i64, Job)>,
    digest: String,
    /// Number of UIDs and versions so far.
    count: u64,
    /// Jobs that were started, by the number of their run.
    started: Vec<i64>,
}

/// A QuarksJob `a` with this spec.
pub(super) fn asked(spec: Value) -> QuarksJob {
    let spec: QuarksJobSpec = serde_json::from_value(spec).unwrap();
    let mut object = QuarksJob::new("a", spec);
    object.metadata.namespace = Some("n".into());
    object.metadata.uid = Some("uid-a".into());
    object.metadata.generation = Some(1);
    object
}

// === impl World ===

impl World {
    fn new(strategy: &str, renewed: bool) -> Self {
        let pod = json!({"metadata": {"labels": {"delete": "pod"}}, "spec": {"containers": [{"name": "c"}]}});
        let object = asked(json!({
            "trigger": {"strategy": strategy}, "updateOnConfigChange": renewed, "template": {"spec": {"template": pod}}
        }));
        Self {
            object,
            jobs: Vec::new(),
            digest: "one".into(),
            count: 0,
            started: Vec::new(),
        }
    }

    fn next(&mut self) -> String {
        self.count += 1;
        self.count.to_string()
    }

    fn touch(&mut self) {
        self.object.metadata.resource_version = Some(self.next());
    }

    fn observed(&self) -> Observed {
        Observed {
            jobs: self.jobs.clone(),
            config: Config {
                digest: Some(self.digest.clone()),
                ..Config::default()
            },
            ..Observed::default()
        }
    }

    /// A write of an operator that read `object`; returns whether it succeeded.
    fn write(&mut self, object: &QuarksJob, step: &Step) -> bool {
        let fresh = object.metadata.resource_version == self.object.metadata.resource_version;
        let (counted, state): (Option<i64>, &State) = match step {
            Step::Create(number) => {
                let is_new = self.jobs.iter().all(|(run, _)| run != number);
                if is_new {
                    let job = self.suspended(object, *number);
                    self.jobs.push((*number, job));
                }
                return is_new;
            }
            Step::ResetTrigger(strategy, number) if fresh => {
                self.object
                    .annotations_mut()
                    .insert(TRIGGER_RESET.into(), job_name(object, *number).unwrap());
                self.object.spec.trigger.strategy = *strategy;
                self.touch();
                return true;
            }
            Step::Start(job) => return is_current(object, &self.object) && self.start(job),
            Step::Delete(job) => {
                let before = self.jobs.len();
                self.jobs.retain(|(_, one)| !is_same(one, job));
                return self.jobs.len() < before;
            }
            Step::Begin(number, _) if fresh => (Some(*number), &State::Running(None)),
            Step::Skip(_) if fresh => (None, &State::Idle),
            Step::End(state) | Step::Rest(state) if fresh => (None, state),
            _ => return false,
        };
        let ends = matches!(step, Step::End(_));
        let digest = match step {
            Step::Begin(_, digest) => digest.clone(),
            _ => None,
        };
        let skipped = match step {
            Step::Skip(generation) => Some(*generation),
            _ => None,
        };
        let mut next = object.status.clone().unwrap_or_default();
        next.skipped_generation = skipped.or(next.skipped_generation);
        next.runs = counted.unwrap_or(next.runs);
        next.config_digest = digest.or(next.config_digest.take());
        if ends {
            next.ended_runs = next.runs;
        }
        let Some((status, _)) = status(object, state, next, &Time(Timestamp::UNIX_EPOCH)) else {
            return false;
        };
        self.object.status = Some(status);
        self.touch();
        true
    }

    fn suspended(&mut self, object: &QuarksJob, number: i64) -> Job {
        let value = json!({
            "metadata": {
                "name": job_name(object, number).unwrap(), "uid": self.next(), "resourceVersion": self.next(), "annotations": {CONFIG_DIGEST: self.digest}
            },
            "spec": {"suspend": true, "template": object.spec.template.members()["spec"]["template"]}
        });
        serde_json::from_value(value).unwrap()
    }

    fn start(&mut self, job: &Job) -> bool {
        let version = self.next();
        let Some((number, found)) = self.jobs.iter_mut().find(|(_, one)| is_same(one, job)) else {
            return false;
        };
        self.started.push(*number);
        found.metadata.resource_version = Some(version);
        found.annotations_mut().insert(STARTED.into(), "true".into());
        found.spec.as_mut().unwrap().suspend = Some(false);
        true
    }

    /// Ends the running Jobs.
    fn end(&mut self, kind: &str) {
        let version = self.next();
        for (_, job) in &mut self.jobs {
            if job.annotations().contains_key(STARTED) && job.status.is_none() {
                job.status = serde_json::from_value(json!({"conditions": [{"type": kind, "status": "True"}]})).unwrap();
                job.metadata.resource_version = Some(version.clone());
            }
        }
    }

    fn ask(&mut self, strategy: Strategy) {
        self.object.spec.trigger.strategy = strategy;
        *self.object.metadata.generation.get_or_insert_default() += 1;
        self.touch();
    }

    /// One operator works until there is nothing left to do; returns its steps.
    fn converge(&mut self) -> Vec<&'static str> {
        let mut did = Vec::new();
        for _ in 0..40 {
            let (object, observed) = (self.object.clone(), self.observed());
            let step = plan(&object, &observed).unwrap();
            let landed = self.write(&object, &step);
            did.push(word(&step));
            if matches!(step, Step::Rest(_)) {
                assert!(
                    !self.write(&self.object.clone(), &step),
                    "the same status is written again"
                );
                return did;
            }
            assert!(landed, "{step:?}");
        }
        panic!("it does not come to rest: {did:?}");
    }

    fn state(&self) -> (i64, bool, &str) {
        let status = self.object.status.as_ref().unwrap();
        (status.runs, status.completed, &status.conditions[0].reason)
    }
}

fn is_same(one: &Job, other: &Job) -> bool {
    one.metadata.uid == other.metadata.uid && one.metadata.resource_version == other.metadata.resource_version
}

fn word(step: &Step) -> &'static str {
    match step {
        Step::Create(_) => "create",
        Step::ResetTrigger(..) => "reset",
        Step::Begin(..) => "begin",
        Step::Start(_) => "start",
        Step::Skip(_) => "skip",
        Step::End(_) => "end",
        Step::Delete(_) => "delete",
        Step::Rest(_) => "rest",
    }
}

#[test]
fn what_cannot_be_read_is_refused_and_starts_nothing() {
    let world = World::new("now", false);
    let mut observed = world.observed();
    observed.config = Config {
        refused: Some("too many".into()),
        ..Config::default()
    };
    assert_eq!(
        plan(&world.object, &observed).unwrap(),
        Step::Rest(State::Refused("too many".into()))
    );
}

#[test]
fn an_errand_runs_on_request_and_its_job_is_deleted_after_a_success() {
    let mut world = World::new("manual", false);
    assert_eq!(world.converge(), ["rest"]);
    assert_eq!(world.state(), (0, false, "Idle"));
    world.ask(Strategy::Now);
    assert_eq!(world.converge(), ["create", "reset", "begin", "start", "rest"]);
    assert_eq!(world.object.spec.trigger.strategy, Strategy::Manual);
    assert_eq!(world.state(), (1, false, "Running"));
    world.end("Complete");
    assert_eq!(world.converge(), ["end", "delete", "rest"]);
    assert_eq!(world.state(), (1, true, "Succeeded"));
    world.ask(Strategy::Now);
    world.converge();
    assert_eq!(world.state(), (2, false, "Running"), "completed is reset");
}

#[test]
fn a_trigger_during_a_run_waits_for_its_end() {
    let mut world = World::new("now", false);
    world.converge();
    world.ask(Strategy::Now);
    assert_eq!(world.converge(), ["rest"]);
    assert_eq!(world.object.spec.trigger.strategy, Strategy::Now);
    world.end("Failed");
    world.converge();
    assert_eq!((world.started.clone(), world.state().0), (vec![1, 2], 2));
}

#[test]
fn a_failed_job_stays_until_the_next_run() {
    let mut world = World::new("once", false);
    world.converge();
    assert_eq!(world.object.spec.trigger.strategy, Strategy::Done);
    world.end("Failed");
    world.converge();
    assert_eq!((world.jobs.len(), world.state().1), (1, false));
    assert_eq!(world.converge(), ["rest"], "it is not retried automatically");
    world.ask(Strategy::Now);
    world.converge();
    assert_eq!(world.jobs.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_changed_configuration_reruns_a_finished_job_and_cancels_a_running_one() {
    let mut world = World::new("once", true);
    world.converge();
    world.digest = "two".into();
    assert_eq!(world.converge(), ["end", "delete", "create", "begin", "start", "rest"]);
    world.end("Complete");
    world.converge();
    assert_eq!(world.state(), (2, true, "Succeeded"));
    world.digest = "three".into();
    world.converge();
    assert_eq!(world.started, [1, 2, 3]);
    let mut indifferent = World::new("once", false);
    indifferent.converge();
    indifferent.end("Complete");
    indifferent.converge();
    indifferent.digest = "two".into();
    assert_eq!(indifferent.converge(), ["rest"]);
}

#[test]
fn a_deleted_job_is_reported_and_not_rerun() {
    let mut world = World::new("now", false);
    world.converge();
    world.jobs.clear();
    world.converge();
    assert_eq!(world.state(), (1, false, "JobGone"));
    assert_eq!(world.started, [1]);
}

#[test]
fn a_run_is_skipped_if_the_last_one_succeeded_with_the_same_configuration() {
    let mut world = World::new("changed", false);
    assert_eq!(world.converge(), ["create", "reset", "begin", "start", "rest"]);
    world.end("Failed");
    world.converge();
    world.ask(Strategy::Changed);
    world.converge();
    assert_eq!(world.state(), (2, false, "Running"), "the last run failed");
    world.end("Complete");
    world.converge();
    world.ask(Strategy::Changed);
    assert_eq!(world.converge(), ["skip", "reset", "rest"]);
    assert_eq!(world.state(), (2, true, "Succeeded"));
    assert_eq!(world.object.spec.trigger.strategy, Strategy::Manual);
    let status = world.object.status.as_ref().unwrap();
    assert_eq!(status.skipped_generation, world.object.metadata.generation);
    world.digest = "two".into();
    world.ask(Strategy::Changed);
    world.converge();
    assert_eq!(world.started, [1, 2, 3]);
}

/// The progress of one reconcile of an operator.
#[derive(Clone, Default)]
struct Operator {
    object: Option<QuarksJob>,
    step: Option<Step>,
}

// === impl Operator ===

impl Operator {
    /// One read, or one write.
    fn go_on(&mut self, world: &mut World) {
        match (self.object.take(), self.step.take()) {
            (None, _) => self.object = Some(world.object.clone()),
            (Some(object), None) => {
                self.step = Some(plan(&object, &world.observed()).unwrap());
                self.object = Some(object);
            }
            (Some(object), Some(step)) => {
                world.write(&object, &step);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn two_operators_that_are_delayed_or_crash_start_each_run_once(actions in proptest::collection::vec(0_u8..10, 0..120)) {
        let mut world = World::new("manual", false);
        let mut operators = [Operator::default(), Operator::default()];
        let mut asked = 0;
        for action in actions {
            match action {
                0..=3 => operators[0].go_on(&mut world),
                4..=6 => operators[1].go_on(&mut world),
                7 => operators[0] = Operator::default(),
                8 => world.end("Complete"),
                _ if world.object.spec.trigger.strategy == Strategy::Manual => {
                    asked += 1;
                    world.ask(Strategy::Now);
                }
                _ => {}
            }
        }
        // Pending writes arrive, and then one operator finishes.
        for operator in &mut operators {
            while operator.object.is_some() {
                operator.go_on(&mut world);
            }
        }
        for _ in 0..asked + 1 {
            world.converge();
            world.end("Complete");
        }
        world.converge();
        prop_assert_eq!(&world.started, &(1..=asked).collect::<Vec<i64>>());
        prop_assert!(world.jobs.is_empty());
    }
}
