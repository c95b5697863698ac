//! The budgets of a conversion: the fuel of all its calls together, and the memory that the calls of several
//! conversions share.

use boson_budget::Budget;
use boson_document::json;
use boson_pipeline::convert::{self, Origin};
use boson_pipeline::release::{Job, Release, TemplateFile};
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::{CheckPolicy, ResolvedGroup, Template};
use boson_pipeline::{Diagnostic, Stage, Stages, yaml};
use boson_sandbox::{Account, Cache, Limits, Plugin, Plugins, Sandbox};
use boson_tests::binary;
use std::thread;

fn render_plugin(sandbox: &Sandbox) -> Plugin {
    let plugins = binary().unwrap().ancestors().nth(2).unwrap().join("plugins");
    sandbox
        .load_built_in(Stage::Render, &plugins.join("render.wasm"))
        .unwrap()
}

fn with(sandbox: &Sandbox, account: Account) -> Plugins {
    let mut plugins = Plugins::new(sandbox.clone()).with_account(account);
    plugins
        .add(render_plugin(sandbox), true, CheckPolicy::default())
        .unwrap();
    plugins
}

/// A group with this number of instances, whose job has this template.
fn group(name: &str, instances: usize) -> ResolvedGroup {
    let instances: Vec<String> = (0..instances).map(|index| format!(r#"{{"index":{index}}}"#)).collect();
    let text = format!(
        r#"{{"instance_groups":[{{"name":"{name}","jobs":[{{"name":"job","release":"r","properties":{{"quarks":{{"instances":[{}]}}}}}}]}}]}}"#,
        instances.join(",")
    );
    ResolvedGroup {
        name: name.into(),
        document: json::parse(&text).unwrap(),
    }
}

fn release(text: &str) -> Release {
    let template = TemplateFile {
        source: "work.erb".into(),
        destination: "work".into(),
        text: text.into(),
        document_name: "r/jobs/job/templates/work.erb".into(),
        executable: false,
    };
    Release {
        name: "r".into(),
        version: None,
        jobs: vec![Job {
            name: "job".into(),
            spec: yaml::read("r/jobs/job/spec", "name: job\n").unwrap(),
            templates: vec![template],
            monit: None,
            monit_document: "monit".into(),
            properties_schema: None,
        }],
        source: "r".into(),
        warnings: Vec::new(),
    }
}

#[test]
fn a_conversion_has_fuel_for_all_of_its_calls_together() {
    let sandbox = Sandbox::new(Limits::default(), Cache::none()).unwrap();
    let releases = [release("<% 20_000.times { |n| n * n } %><%= spec.index %>")];
    let groups = [group("cheap", 1), group("dear", 20)];
    let render = |fuel: u64, threads: usize| {
        let plugins = with(&sandbox, Account::new("n", fuel));
        let (secrets, sources) = (Secrets::default(), Sources::default());
        let filter = Filter {
            secrets: &secrets,
            sources: &sources,
        };
        let rendered = convert::render(
            &plugins,
            Origin::Name("m"),
            &groups,
            &releases,
            filter,
            threads,
            &mut Vec::new(),
        );
        rendered.map(|_| plugins.usage()[&Stage::Render].1.fuel)
    };
    let all = render(u64::MAX, 1).unwrap_or_else(|errors| panic!("{errors:?}"));
    for threads in [1, 2] {
        // Exact: the order of the calls does not matter.
        assert_eq!(render(all, threads).ok(), Some(all), "{threads} threads");
        let errors: Vec<Diagnostic> = render(all - 1, threads).err().unwrap();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].code, "conversion-out-of-fuel");
        let message = &errors[0].message;
        assert!(
            message.contains("most of it went into job 'job' of instance group 'dear'"),
            "{message}"
        );
    }
}

#[test]
fn calls_that_outgrow_the_memory_take_turns_and_all_reply() {
    // Memory for one large call and some small ones: each of eight needs 200 MB, all at once.
    let budget = Budget::of_many(3 << 29, 8);
    let sandbox = Sandbox::new(Limits::default(), Cache::none())
        .unwrap()
        .with_budget(budget.clone());
    let context = json::parse(r#"{"properties":{},"links":{},"release":{},"index":0}"#).unwrap();
    let text = "<% kept = 'x' * 200_000_000 %><%= kept.size %>";
    thread::scope(|scope| {
        for nth in 0..8 {
            let (sandbox, context) = (&sandbox, &context);
            scope.spawn(move || {
                let plugins = with(sandbox, Account::new(&format!("n{}", nth % 3), u64::MAX));
                let template = Template {
                    name: "job/t.erb".into(),
                    text: text.into(),
                };
                let (files, _) = plugins.render(None, &[template], context).unwrap();
                assert_eq!(files[0].content, "200000000");
            });
        }
    });
    assert_eq!(budget.held(), 0, "everything was given back");
}
