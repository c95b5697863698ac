//! Releases of every layout, from trees in memory: the result of reading them, and the errors of bad ones.

use boson_pipeline::Diagnostic;
use boson_pipeline::release::archive::{self, Manifest};
use boson_pipeline::release::{Entry, File, Files, Job, Naming, Release, image, source};
use boson_pipeline::report::{Sources, text};
use std::collections::HashSet;

type Outcome = Result<Release, Vec<Diagnostic>>;

fn tree(naming: Naming, entries: &[(&str, &str)]) -> Files {
    let mut files = Files::new(naming);
    for (path, text) in entries {
        let entry = match text.strip_prefix("-> ") {
            Some(target) => Entry::Link(target.into()),
            None if path.ends_with('/') => Entry::Directory,
            None => Entry::File(File {
                bytes: (*text).into(),
                executable: path.contains("bin/"),
            }),
        };
        files.insert(path.trim_end_matches('/'), entry);
    }
    files
}

fn directory(entries: &[(&str, &str)]) -> Files {
    tree(Naming::Directory("r".into()), entries)
}

const GOOD: &[(&str, &str)] = &[
    ("config/final.yml", "final_name: nats\n"),
    ("jobs/README", "not a job"),
    (
        "jobs/nats/spec",
        "name: nats\ntemplates:\n  z.erb: config/z.yml\n  bin/run.erb: ./bin/run\n  shared.erb: config/bpm.yml\npackages: [gnatsd]\n",
    ),
    ("jobs/nats/monit", "check process nats\n"),
    ("jobs/nats/templates/z.erb", "<%= p('a') %>"),
    ("jobs/nats/templates/bin/run.erb", "#!/bin/sh"),
    ("jobs/nats/templates/shared.erb", "-> ../../../shared/s.erb"),
    ("jobs/nats/templates/unused.erb", "-> /etc/passwd"),
    ("shared/s.erb", "shared"),
    ("packages/gnatsd/", ""),
    (
        "releases/nats/index.yml",
        "builds:\n  a: {version: \"9\"}\n  b: {version: 56.2.0}\n",
    ),
];

fn with(changes: &[(&str, &str)]) -> Outcome {
    let mut entries: Vec<(&str, &str)> = GOOD.to_vec();
    for (path, text) in changes {
        entries.retain(|(other, _)| other != path);
        if *text != "GONE" {
            entries.push((path, text));
        }
    }
    source::read(&directory(&entries), None, &mut Sources::default())
}

fn errors_of(outcome: Outcome) -> Vec<String> {
    let Err(errors) = outcome else {
        panic!("read: {outcome:?}")
    };
    let place = |d: &Diagnostic| {
        let document = d.place.document.clone().unwrap_or_default();
        format!("{document}#{}", d.place.pointer.clone().unwrap_or_default())
    };
    errors
        .iter()
        .map(|error| format!("{}: {}", place(error), error.message))
        .collect()
}

#[test]
fn a_source_directory_is_read() {
    let release = with(&[]).unwrap();
    assert_eq!(
        (
            release.name.as_str(),
            release.version.as_deref(),
            release.source.as_str()
        ),
        ("nats", Some("56.2.0"), "r")
    );
    assert_eq!((release.jobs.len(), release.warnings.len()), (1, 0));
    let job = release.job("nats").unwrap();
    assert_eq!(
        job.destinations().collect::<Vec<_>>(),
        ["config/z.yml", "bin/run", "config/bpm.yml"]
    );
    assert!(job.is_monitored());
    let bpm = job.template_for(Job::BPM).unwrap();
    assert_eq!(
        (bpm.text.as_str(), bpm.document_name.as_str(), bpm.executable),
        ("shared", "r/shared/s.erb", false)
    );
    assert_eq!(job.template_name(bpm), "nats/shared.erb");
    assert!(job.template_for("bin/run").unwrap().executable);
    assert_eq!(
        (job.spec.name.as_str(), job.monit_document.as_str()),
        ("r/jobs/nats/spec", "r/jobs/nats/monit")
    );
}

#[test]
fn the_name_comes_from_the_user_or_the_configuration() {
    assert_eq!(with(&[("config/final.yml", "name: a")]).unwrap().name, "a");
    assert_eq!(
        source::read(&directory(GOOD), Some("mine"), &mut Sources::default())
            .unwrap()
            .name,
        "mine"
    );
    for (config, message) in [
        (
            "GONE",
            "r/config/final.yml#: Expected non-empty 'name' in config 'r/config/final.yml'",
        ),
        (
            "{}",
            "r/config/final.yml#: Expected non-empty 'name' in config 'r/config/final.yml'",
        ),
        (
            "{name: a, final_name: b}",
            "r/config/final.yml#/final_name: Expected 'name' or 'final_name' but not both in config 'r/config/final.yml'",
        ),
        ("name: a/b", "r/config/final.yml#: Invalid release name: \"a/b\""),
    ] {
        assert_eq!(errors_of(with(&[("config/final.yml", config)])), [message]);
    }
    assert_eq!(
        errors_of(source::read(&directory(GOOD), Some("a b"), &mut Sources::default())),
        ["#: Invalid release name: \"a b\""]
    );
}

#[test]
fn the_version_is_the_newest_final_one_or_unknown() {
    let version = |changes: &[(&str, &str)]| with(changes).unwrap().version;
    let no_index = ("releases/nats/index.yml", "GONE");
    assert_eq!(version(&[no_index]), None);
    assert_eq!(
        version(&[no_index, ("releases/nats-1.yml", ""), ("releases/other-7.yml", "")]).as_deref(),
        Some("1")
    );
    assert_eq!(
        version(&[
            no_index,
            ("releases/nats/nats-10.yml", ""),
            ("releases/nats/nats-9.yml", "")
        ])
        .as_deref(),
        Some("10")
    );
    let odd = with(&[("releases/nats/index.yml", "a: [")]).unwrap();
    assert_eq!((odd.version, odd.warnings[0].code.as_str()), (None, "release-index"));
}

#[test]
fn bad_jobs_are_reported_in_bosh_s_words() {
    let spec = "r/jobs/nats/spec";
    let table = [
        (
            ("jobs/nats/spec", "name: other"),
            "r/jobs/nats/spec#/name: Job directory 'nats' does not match job name 'other' in spec",
        ),
        (
            ("jobs/nats/spec", "GONE"),
            "r/jobs/nats/spec#: Reading job spec 'r/jobs/nats/spec': no such file",
        ),
        (
            ("jobs/nats/spec", "[]"),
            "r/jobs/nats/spec#: Job 'nats' has invalid spec format: expected a map",
        ),
        (
            ("packages/gnatsd/", "GONE"),
            "r/jobs/nats/spec#/packages/0: Expected to find package 'gnatsd' since it's a dependency of job 'nats'",
        ),
        (
            ("jobs/nats/templates/z.erb", "GONE"),
            "r/jobs/nats/spec#/templates/z.erb: Missing template file 'z.erb' for job 'nats'",
        ),
        (
            ("jobs/nats/templates/bin/run.erb", "-> missing"),
            "r/jobs/nats/spec#/templates/bin~1run.erb: Missing template file 'bin/run.erb' for job 'nats'",
        ),
        (
            ("jobs/nats/monit", "GONE"),
            "r/jobs/nats/monit#: Job 'nats' is missing monit file",
        ),
        (
            ("jobs/nats/templates/z.erb", "-> /etc/passwd"),
            "r/jobs/nats/templates/z.erb#: 'r/jobs/nats/templates/z.erb' leads out of the release",
        ),
        (
            ("jobs/nats/templates/z.erb", "-> z.erb"),
            "r/jobs/nats/templates/z.erb#: 'r/jobs/nats/templates/z.erb' is a link that leads nowhere: too many links",
        ),
        (
            ("jobs/nats/templates/z.erb", "-> bin"),
            "r/jobs/nats/templates/z.erb#: 'r/jobs/nats/templates/z.erb' is a directory, expected a file",
        ),
        (
            ("jobs/nats/properties_schema.json", "{,}"),
            "r/jobs/nats/properties_schema.json#: Job 'nats' has an invalid properties_schema.json: ",
        ),
    ];
    for (change, expected) in table {
        let errors = errors_of(with(&[change]));
        assert!(
            errors.len() == 1 && errors[0].starts_with(expected),
            "{change:?}: {errors:?}"
        );
    }
    for destination in [
        "../../etc/x",
        "/etc/x",
        "''",
        "~",
        "7",
        "[]",
        r#""a\0b""#,
        r#""a\nb""#,
        r#""c/\x7fb""#,
    ] {
        let text = format!("name: nats\ntemplates: {{z.erb: {destination}}}");
        let errors = errors_of(with(&[("jobs/nats/spec", &text)]));
        assert!(
            errors.len() == 1 && errors[0].starts_with(&format!("{spec}#/templates/z.erb: Template 'z.erb'")),
            "{errors:?}"
        );
    }
}

#[test]
fn a_template_that_is_not_text_is_refused_with_its_line() {
    let mut files = directory(GOOD);
    files.insert(
        "jobs/nats/templates/z.erb",
        Entry::File(File {
            bytes: b"a\nb\xff".to_vec(),
            executable: false,
        }),
    );
    files.insert("jobs/nats/monit", Entry::Unread(99));
    let errors = source::read(&files, None, &mut Sources::default()).unwrap_err();
    assert_eq!(
        (errors[0].code.as_str(), errors[0].place.line),
        ("release-file-encoding", Some(2))
    );
    assert_eq!(errors[1].message, "'r/jobs/nats/monit' is too large: 99 bytes");
}

#[test]
fn all_errors_of_all_jobs_are_reported_at_once() {
    let errors = errors_of(with(&[
        ("config/final.yml", "GONE"),
        ("jobs/nats/monit", "GONE"),
        ("jobs/nats/templates/z.erb", "GONE"),
        ("jobs/other/monit", ""),
        ("jobs/third/spec", "name: third\nlogs: 1\nprovides: 1\n"),
    ]));
    assert_eq!(errors.len(), 7, "{errors:?}");
}

#[test]
fn errors_are_shown_with_the_line_they_are_about() {
    let mut entries = GOOD.to_vec();
    entries.retain(|(path, _)| !path.ends_with("z.erb"));
    entries.push(("jobs/odd/spec", "name: odd\nlogs: [}]\n"));
    let mut sources = Sources::default();
    let errors = source::read(&directory(&entries), None, &mut sources).unwrap_err();
    let shown = text(&errors, &sources, false);
    assert!(
        shown.contains("--> r/jobs/nats/spec:3:10\n") && shown.contains("3 |   z.erb: config/z.yml"),
        "{shown}"
    );
    assert!(shown.contains("| logs: [}]"), "{shown}");
}

#[test]
fn two_templates_for_one_place_are_a_warning() {
    let release = with(&[("jobs/nats/spec", "name: nats\ntemplates: {z.erb: a, shared.erb: ./a}")]).unwrap();
    assert_eq!(
        release.warnings[0].message,
        "Job 'nats' writes 'a' twice: from 'z.erb' and from 'shared.erb'"
    );
}

const MANIFEST: &str = "name: nats\nversion: 56+dev.1\njobs:\n- name: nats\n  version: abc\n  fingerprint: abc\n  sha1: sha256:00\n\
                        packages:\n- {name: gnatsd, version: 1}\n";

fn tarball(manifest: &str, entries: &[(&str, &str)]) -> Outcome {
    let manifest = Manifest::read("n.tgz:release.MF", manifest.as_bytes(), &mut Sources::default())?;
    archive::read(
        &manifest,
        &tree(Naming::Archive("n.tgz".into()), entries),
        None,
        &HashSet::new(),
        &mut Sources::default(),
    )
}

const PACKED: &[(&str, &str)] = &[
    (
        "jobs/nats/job.MF",
        "name: nats\ntemplates: {a.erb: a}\npackages: [gnatsd]\n",
    ),
    ("jobs/nats/monit", ""),
    ("jobs/nats/templates/a.erb", "a"),
];

#[test]
fn a_tarball_is_read() {
    let release = tarball(MANIFEST, PACKED).unwrap();
    assert_eq!(
        (release.name.as_str(), release.version.as_deref()),
        ("nats", Some("56+dev.1"))
    );
    assert_eq!(
        release.jobs[0].templates[0].document_name,
        "n.tgz:jobs/nats.tgz:templates/a.erb"
    );
    assert!(!release.jobs[0].is_monitored());
}

#[test]
fn a_compiled_release_has_its_packages_elsewhere() {
    let compiled = MANIFEST.replace("packages:", "compiled_packages:");
    assert!(tarball(&compiled, PACKED).is_ok());
    let empty = format!("{MANIFEST}compiled_packages: []\n");
    assert_eq!(
        errors_of(tarball(&empty, PACKED)),
        [
            "n.tgz:jobs/nats.tgz:job.MF#/packages/0: Expected to find package 'gnatsd' since it's a dependency of job 'nats'"
        ]
    );
}

#[test]
fn binary_values_of_old_writers_are_text() {
    // "42" and a digest, as Psych wrote strings that it took for binary.
    let manifest = "name: nats\nversion: !binary |-\n  NDI=\njobs:\n- name: nats\n  version: !binary |-\n    MQ==\n  sha1: !binary |-\n    YWJj\n";
    let manifest = Manifest::read("m", manifest.as_bytes(), &mut Sources::default()).unwrap();
    assert_eq!(
        (manifest.version.as_str(), manifest.jobs[0].digest.as_deref()),
        ("42", Some("abc"))
    );
}

#[test]
fn bad_release_manifests_are_reported_in_bosh_s_words() {
    for (manifest, expected) in [
        ("[]", "m#: Invalid release manifest: expected a map"),
        (
            "name: a/b\nversion: 1",
            "m#/name: Invalid release name in release manifest: \"a/b\"",
        ),
        ("name: a", "m#: Invalid release version in release manifest: \"\""),
        (
            "name: a\nversion: 1\njobs: [{name: ../x, version: 1}]",
            "m#/jobs/0/name: Invalid job 1 name in release manifest: \"../x\"",
        ),
        (
            "name: a\nversion: 1\njobs: [x]",
            "m#/jobs/0: Invalid job 1 name in release manifest: \"\"",
        ),
        (
            "name: a\nversion: 1\npackages: [{name: p}]",
            "m#/packages/0: Invalid package 1 version in release manifest: \"\"",
        ),
        (
            "name: a\nversion: 1\njobs: {}",
            "m#/jobs: Invalid jobs in release manifest: expected a list",
        ),
        (
            "name: a\nversion: 1\njobs: [{name: j, version: 1}, {name: j, version: 1}]",
            "m#/jobs/1/name: Job 'j' is listed twice in release manifest",
        ),
    ] {
        let errors = Manifest::read("m", manifest.as_bytes(), &mut Sources::default()).unwrap_err();
        let place = errors[0].place.pointer.clone().unwrap_or_default();
        assert_eq!(format!("m#{place}: {}", errors[0].message), expected);
    }
}

#[test]
fn bad_jobs_of_tarballs_are_reported_in_the_director_s_words() {
    for (change, expected) in [
        (
            ("jobs/nats/job.MF", "GONE"),
            "n.tgz:jobs/nats.tgz:job.MF#: Missing job manifest for 'nats'",
        ),
        (
            ("jobs/nats/job.MF", "name: x"),
            "n.tgz:jobs/nats.tgz:job.MF#/name: Inconsistent name for job 'nats'(exptected: 'nats', got: 'x')",
        ),
        (
            ("jobs/nats/job.MF", "{}"),
            "n.tgz:jobs/nats.tgz:job.MF#: Inconsistent name for job 'nats'(exptected: 'nats', got: '')",
        ),
        (
            ("jobs/nats/monit", "GONE"),
            "n.tgz:jobs/nats.tgz:monit#: Job 'nats' is missing monit file",
        ),
        (
            ("jobs/nats/templates/a.erb", "GONE"),
            "n.tgz:jobs/nats.tgz:job.MF#/templates/a.erb: Missing template file 'a.erb' for job 'nats'",
        ),
    ] {
        let mut entries: Vec<(&str, &str)> = PACKED.iter().copied().filter(|(path, _)| *path != change.0).collect();
        if change.1 != "GONE" {
            entries.push(change);
        }
        assert_eq!(errors_of(tarball(MANIFEST, &entries)), [expected]);
    }
    let mut entries = PACKED.to_vec();
    entries[1].0 = "jobs/nats/aux.monit";
    assert!(tarball(MANIFEST, &entries).is_ok(), "a director takes *.monit");
}

#[test]
fn trees_of_images_are_read() {
    let job = [
        ("nats/job.MF", "name: nats\ntemplates: {a: b}"),
        ("nats/templates/a", "x"),
    ];
    let below = |root: &str| -> Files {
        let entries: Vec<(String, &str)> = job
            .iter()
            .map(|(path, text)| (format!("{root}{path}"), *text))
            .collect();
        let entries: Vec<(&str, &str)> = entries.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        directory(&entries)
    };
    let one = image::read(
        &below("jobs-src/"),
        "jobs-src",
        Some("nats"),
        None,
        &mut Sources::default(),
    )
    .unwrap();
    assert_eq!(
        (
            one[0].name.as_str(),
            one[0].version.as_deref(),
            one[0].jobs[0].monit.is_none()
        ),
        ("nats", None, true)
    );
    let known = image::read(&below(""), "", None, Some(("nats", "33")), &mut Sources::default()).unwrap();
    assert_eq!(
        (known[0].name.as_str(), known[0].version.as_deref()),
        ("nats", Some("33"))
    );
    let nested = image::read(&below("jobs-src/rel/"), "jobs-src", None, None, &mut Sources::default()).unwrap();
    assert_eq!(
        (nested[0].name.as_str(), nested[0].jobs[0].spec.name.as_str()),
        ("rel", "r/jobs-src/rel/nats/job.MF")
    );
    let mut stranger = below("jobs-src/");
    stranger.insert("jobs-src/lost/templates/a", Entry::Link("b".into()));
    stranger.insert("jobs-src/README", Entry::Unread(1));
    let read = image::read(&stranger, "jobs-src", Some("nats"), None, &mut Sources::default()).unwrap();
    assert_eq!(
        read[0]
            .warnings
            .iter()
            .map(|one| one.message.as_str())
            .collect::<Vec<_>>(),
        ["Missing job manifest for 'lost'"]
    );
    stranger.insert("jobs-src/lost/job.MF", Entry::Link("/etc/passwd".into()));
    let errors = image::read(&stranger, "jobs-src", Some("nats"), None, &mut Sources::default()).unwrap_err();
    assert_eq!(errors[0].code, "release-link-escapes");
    for (files, name, code) in [
        (below("jobs-src/"), None, "release-name"),
        (below("jobs-src/rel/"), Some("other"), "release-empty"),
        (directory(&[("jobs-src/a", "")]), None, "release-empty"),
        (
            directory(&[("jobs-src/a/job.MF", "name: b")]),
            Some("r"),
            "release-job-name",
        ),
    ] {
        assert_eq!(
            image::read(&files, "jobs-src", name, None, &mut Sources::default()).unwrap_err()[0].code,
            code
        );
    }
}
