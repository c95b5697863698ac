//! The step that renders: what it hands to the bpm stage.

use boson_document::{Tree, json};
use boson_pipeline::convert::{Origin, render};
use boson_pipeline::release::{Job, Release, TemplateFile};
use boson_pipeline::report::Sources;
use boson_pipeline::schema::SettingsError;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::*;
use boson_pipeline::yaml;

/// Stages that must not be called: files without tags are not rendered.
struct NoStages;

impl Stages for NoStages {
    fn call(&self, call: Call<'_>) -> Reply<Answer> {
        panic!("{} is not called", call.function())
    }

    fn info(&self, _: PluginRef<'_>) -> Option<PluginInfo> {
        None
    }

    fn spent_here(&self) -> u64 {
        0
    }

    fn check_properties(&self, _: &Tree, _: &Tree) -> Result<Vec<SettingsError>, String> {
        Ok(Vec::new())
    }
}

/// The release `r`, with a job whose script names its package `a`.
fn release() -> Release {
    let script = TemplateFile {
        source: "run".into(),
        destination: "bin/run".into(),
        text: "/var/vcap/packages/a/bin/app".into(),
        document_name: "jobs/app/templates/run".into(),
        executable: false,
    };
    let app = Job {
        name: "app".into(),
        spec: yaml::read("jobs/app/spec", "packages: [a]").unwrap(),
        templates: vec![script],
        monit: None,
        monit_document: "jobs/app/monit".into(),
        properties_schema: None,
    };
    Release {
        name: "r".into(),
        version: None,
        jobs: vec![app],
        source: "r".into(),
        warnings: Vec::new(),
    }
}

/// Operations on a resolved document may add a job that no release has.
#[test]
fn jobs_after_one_that_no_release_has_keep_their_packages() {
    let quarks = r#"{"quarks": {"instances": [{"index": 0}]}}"#;
    let jobs = ["added", "app"].map(|name| format!(r#"{{"name": "{name}", "release": "r", "properties": {quarks}}}"#));
    let document = format!(
        r#"{{"instance_groups": [{{"name": "g", "jobs": [{}]}}]}}"#,
        jobs.join(",")
    );
    let groups = [ResolvedGroup {
        name: "g".into(),
        document: json::parse(&document).unwrap(),
    }];
    let filter = Filter {
        secrets: &Secrets::default(),
        sources: &Sources::default(),
    };
    let rendering = render(
        &NoStages,
        Origin::Name("m.yml"),
        &groups,
        &[release()],
        filter,
        1,
        &mut Vec::new(),
    );
    let group = rendering.unwrap().groups.remove(0).unwrap();
    let packages = |job: &JobFiles| job.packages.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let found: Vec<_> = group.jobs.iter().map(|job| (job.job.as_str(), packages(job))).collect();
    assert_eq!(found, [("added", vec![]), ("app", vec!["a".to_string()])]);
}
