//! Source directories and `jobs-src` trees on a real file system.

use super::make::{SPEC, read};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn source() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "config/final.yml", "name: app");
    write(root, "jobs/app/spec", SPEC);
    write(root, "jobs/app/monit", "");
    write(root, "jobs/app/templates/run.erb", "run");
    write(root, "jobs/app/templates/bpm.yml.erb", "bpm");
    write(root, "packages/ruby/spec", "name: ruby");
    write(root, "releases/app/index.yml", "builds: {a: {version: 7}}");
    write(root, "src/huge", "never read");
    directory
}

fn code(root: &Path) -> String {
    let errors = read(root, None).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].code.clone()
}

fn replace(root: &Path, path: &str, target: &str) {
    fs::remove_file(root.join(path)).unwrap();
    symlink(target, root.join(path)).unwrap();
}

#[test]
fn a_source_directory_is_read() {
    let directory = source();
    fs::set_permissions(
        directory.path().join("jobs/app/templates/run.erb"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let release = read(directory.path(), None).unwrap();
    assert_eq!((release.name.as_str(), release.version.as_deref()), ("app", Some("7")));
    assert_eq!(
        release.jobs[0]
            .templates
            .iter()
            .map(|template| template.executable)
            .collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(
        release.jobs[0].spec.name,
        format!("{}/jobs/app/spec", directory.path().display())
    );
    assert_eq!(read(directory.path(), Some("mine")).unwrap().name, "mine");
}

#[test]
fn another_name_than_its_own_is_a_warning() {
    let directory = source();
    let codes = |name: Option<&str>| {
        let warnings = read(directory.path(), name).unwrap().warnings;
        warnings.into_iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(Some("mine")), ["release-renamed"]);
    assert_eq!((codes(Some("app")), codes(None)), (vec![], vec![]));
}

#[test]
fn links_inside_the_release_are_followed() {
    let directory = source();
    let root = directory.path();
    write(root, "shared/deep/real.erb", "shared");
    write(root, "src/app/templates/x.erb", "of sources");
    symlink("deep", root.join("shared/link")).unwrap();
    symlink("link/real.erb", root.join("shared/again.erb")).unwrap();
    replace(root, "jobs/app/templates/run.erb", "../../../shared/again.erb");
    symlink("../../../src/app/templates", root.join("jobs/app/templates/dir")).unwrap();
    replace(root, "jobs/app/templates/bpm.yml.erb", "dir/x.erb");
    let release = read(root, None).unwrap();
    let texts: Vec<&str> = release.jobs[0]
        .templates
        .iter()
        .map(|template| template.text.as_str())
        .collect();
    assert_eq!(texts, ["shared", "of sources"]);
    assert!(
        release.jobs[0].templates[0]
            .document_name
            .ends_with("shared/deep/real.erb")
    );
}

#[test]
fn a_directory_is_read_whole_even_if_a_file_of_it_was_before() {
    let directory = source();
    let root = directory.path();
    write(root, "shared/a", "a");
    write(root, "shared/b", "b");
    symlink("../../../shared/a", root.join("jobs/app/templates/z")).unwrap();
    symlink("../../../shared", root.join("jobs/app/templates/dir")).unwrap();
    replace(root, "jobs/app/templates/run.erb", "z");
    replace(root, "jobs/app/templates/bpm.yml.erb", "dir/b");
    let texts: Vec<String> = read(root, None).unwrap().jobs[0]
        .templates
        .iter()
        .map(|template| template.text.clone())
        .collect();
    assert_eq!(texts, ["a", "b"]);
}

#[test]
fn a_job_may_be_a_link() {
    let directory = source();
    let root = directory.path();
    fs::rename(root.join("jobs/app"), root.join("elsewhere")).unwrap();
    symlink("../elsewhere", root.join("jobs/app")).unwrap();
    assert_eq!(read(root, None).unwrap().jobs.len(), 1);
}

#[test]
fn links_out_of_the_release_are_refused_where_they_matter() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret", "secret");
    let absolute = outside.path().join("secret");
    let climbing = format!("../../../..{}", absolute.display());
    for target in ["../../../../secret", absolute.to_str().unwrap(), climbing.as_str()] {
        let directory = source();
        symlink(target, directory.path().join("jobs/app/templates/unused")).unwrap();
        assert!(read(directory.path(), None).is_ok(), "it is not used");
        replace(directory.path(), "jobs/app/templates/run.erb", target);
        assert_eq!(code(directory.path()), "release-link-escapes", "{target}");
    }
    // By a link to a directory outside.
    let directory = source();
    symlink(outside.path(), directory.path().join("out")).unwrap();
    replace(directory.path(), "jobs/app/templates/run.erb", "../../../out/secret");
    assert_eq!(code(directory.path()), "release-link-escapes");
}

#[test]
fn links_that_go_round_end() {
    let directory = source();
    let root = directory.path();
    replace(root, "jobs/app/templates/run.erb", "run.erb");
    assert_eq!(code(root), "release-link-loop");
    replace(root, "jobs/app/templates/run.erb", "gone");
    assert_eq!(code(root), "release-template-missing");
    replace(root, "jobs/app/templates/run.erb", "../templates");
    assert_eq!(code(root), "release-file-kind");
    for (name, target) in [("all", "../../.."), ("here", "."), ("jobs", "../..")] {
        symlink(target, root.join("jobs/app/templates").join(name)).unwrap();
    }
    replace(root, "jobs/app/templates/run.erb", "here/here/here/bpm.yml.erb");
    assert_eq!(read(root, None).unwrap().jobs[0].templates[0].text, "bpm");
}

#[test]
fn a_pipe_does_not_block() {
    let directory = source();
    let path = directory.path().join("jobs/app/templates/run.erb");
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(code(directory.path()), "release-file-kind");
        assert_eq!(read(&path, None).unwrap_err()[0].code, "release-path");
    }
}

#[test]
fn files_over_the_limit_are_refused_unread() {
    let directory = source();
    let file = fs::File::create(directory.path().join("jobs/app/templates/run.erb")).unwrap();
    file.set_len(33 << 20).unwrap();
    assert_eq!(code(directory.path()), "release-file-too-large");
}

#[test]
fn paths_that_are_no_release_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    assert_eq!(code(root), "release-kind");
    let missing = root.join("missing");
    let errors = read(&missing, None).unwrap_err();
    assert_eq!(
        errors[0].message,
        format!(
            "There is no release at '{}': no such file or directory",
            missing.display()
        )
    );
    write(root, "file", "text");
    assert_eq!(code(&root.join("file")), "release-archive-format");
    assert_eq!(code(&root.join("file/below")), "release-path");
}

#[test]
fn versions_without_an_index_come_from_file_names() {
    let directory = source();
    fs::remove_file(directory.path().join("releases/app/index.yml")).unwrap();
    write(directory.path(), "releases/app/app-12.yml", "");
    write(directory.path(), "releases/app/app-9.yml", "");
    assert_eq!(read(directory.path(), None).unwrap().version.as_deref(), Some("12"));
}

#[test]
fn trees_of_images_are_read_from_wherever_the_user_points() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for release in ["one", "two"] {
        write(root, &format!("var/vcap/jobs-src/{release}/app/job.MF"), SPEC);
        write(
            root,
            &format!("var/vcap/jobs-src/{release}/app/templates/run.erb"),
            "run",
        );
        write(
            root,
            &format!("var/vcap/jobs-src/{release}/app/templates/bpm.yml.erb"),
            "bpm",
        );
    }
    let names = |path: &Path| -> Vec<String> {
        let releases = boson_releases::read_all(
            path,
            None,
            boson_releases::Limits::default(),
            &mut boson_pipeline::report::Sources::default(),
            &mut |_| {},
        )
        .unwrap();
        releases.into_iter().map(|release| release.name).collect()
    };
    for path in ["", "var/vcap", "var/vcap/jobs-src"] {
        assert_eq!(names(&root.join(path)), ["one", "two"], "{path}");
    }
    assert_eq!(read(root, Some("two")).unwrap().name, "two");
    let errors = read(root, None).unwrap_err();
    assert!(
        errors[0].message.ends_with("contains several releases: one, two"),
        "{errors:?}"
    );
    let one = root.join("var/vcap/jobs-src/one");
    assert_eq!(code(&one), "release-name");
    assert_eq!(read(&one, Some("one")).unwrap().jobs.len(), 1);
}

#[test]
fn a_job_that_leads_out_of_the_release_or_nowhere_is_an_error() {
    for (target, expected) in [
        ("../../elsewhere", "release-link-escapes"),
        ("/tmp", "release-link-escapes"),
        ("../gone", "release-file-missing"),
    ] {
        let directory = source();
        symlink(target, directory.path().join("jobs/other")).unwrap();
        let errors = read(directory.path(), None).unwrap_err();
        assert!(errors[0].message.contains("jobs/other"), "{errors:?}");
        assert_eq!(code(directory.path()), expected, "{target}");
    }
}

#[test]
fn a_package_is_called_what_its_spec_says() {
    for file in ["spec", "spec.lock"] {
        let directory = source();
        let root = directory.path();
        fs::remove_file(root.join("packages/ruby/spec")).unwrap();
        fs::rename(root.join("packages/ruby"), root.join("packages/ruby-3")).unwrap();
        write(root, &format!("packages/ruby-3/{file}"), "name: ruby");
        assert!(read(root, None).is_ok(), "{file}");
        write(root, &format!("packages/ruby-3/{file}"), "name: ruby-3");
        assert_eq!(code(root), "release-package-missing", "{file}");
        write(root, &format!("packages/ruby-3/{file}"), "{");
        assert!(code(root).starts_with("yaml-"), "{file}");
    }
}

#[test]
fn a_package_without_a_spec_at_hand_is_called_as_its_directory() {
    let directory = source();
    let root = directory.path();
    fs::remove_dir_all(root.join("packages/ruby")).unwrap();
    symlink("../src/not-checked-out", root.join("packages/ruby")).unwrap();
    assert!(read(root, None).is_ok());
}
