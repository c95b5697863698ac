//! OCI image layouts, as directories and as tars.

use super::make::{SPEC, Tar, gzip, read, sha256};
use boson_releases::{Budget, Limits};
use std::fs;
use tar::EntryType;
use tempfile::TempDir;

const JOBS: &str = "var/vcap/jobs-src";

/// Path and content of a file.
type Named = (String, Vec<u8>);

/// Files of a layout of an image with these layers: path and content.
fn layout(layers: &[Vec<u8>], reference: &str) -> Vec<Named> {
    let mut files = vec![("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec())];
    let mut blob = |content: Vec<u8>| {
        let (digest, size) = (sha256(&content), content.len());
        files.push((format!("blobs/sha256/{digest}"), content));
        format!(r#""digest":"sha256:{digest}","size":{size}"#)
    };
    let layers: Vec<String> = layers
        .iter()
        .map(|layer| {
            format!(
                r#"{{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip",{}}}"#,
                blob(layer.clone())
            )
        })
        .collect();
    let config = r#"{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}"#;
    let manifest = format!(
        r#"{{"schemaVersion":2,"config":{config},"layers":[{}]}}"#,
        layers.join(",")
    );
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = format!(r#""mediaType":"{media_type}",{}"#, blob(manifest.into_bytes()));
    let inner = format!(
        r#"{{"schemaVersion":2,"manifests":[{{{manifest},"platform":{{"os":"linux","architecture":"amd64"}}}},
            {{{manifest},"platform":{{"os":"unknown","architecture":"unknown"}}}}]}}"#
    );
    let inner = blob(inner.into_bytes());
    let media_type = "application/vnd.oci.image.index.v1+json";
    let index = format!(
        r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"{media_type}",{inner},"annotations":{{"org.opencontainers.image.ref.name":"{reference}"}}}}]}}"#
    );
    files.push(("index.json".to_owned(), index.into_bytes()));
    files
}

fn directory(files: &[Named]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

fn base() -> Tar {
    Tar::new()
        .other("dev/null", EntryType::Char, "")
        .other("bin", EntryType::Symlink, "/usr/bin")
        .other("etc/passwd", EntryType::Link, "../../x")
        .file(&format!("{JOBS}/app/job.MF"), SPEC)
        .file(&format!("{JOBS}/app/templates/run.erb"), "old")
        .file(&format!("{JOBS}/app/templates/bpm.yml.erb"), "bpm")
        .file(&format!("{JOBS}/gone/job.MF"), "name: gone")
        .file(&format!("{JOBS}/replaced/job.MF"), "[")
}

fn changes() -> Tar {
    Tar::new()
        .file(&format!("{JOBS}/shared"), "new")
        .other(
            &format!("{JOBS}/app/templates/run.erb"),
            EntryType::Symlink,
            "/var/vcap/jobs-src/shared",
        )
        .file(&format!("{JOBS}/.wh.gone"), "")
        .file(&format!("{JOBS}/replaced/job.MF"), "name: replaced")
        .file(&format!("{JOBS}/replaced/.wh..wh..opq"), "")
}

#[test]
fn a_title_stands_in_for_the_path_in_documents_and_errors() {
    let read = |layers: &[Vec<u8>]| {
        let place = directory(&layout(layers, "r/app:1-2-3"));
        let read = boson_releases::read_titled(place.path(), "r/app:1-2-3", "app");
        format!("{read:?}")
    };
    for layers in [vec![base().gz(), changes().gz()], vec![base().gz()]] {
        let text = read(&layers);
        // Names of temporary directories differ each time, but messages must be the same.
        assert_eq!(text, read(&layers));
        assert!(text.contains("r/app:1-2-3:"), "{text}");
    }
}

#[test]
fn layers_are_laid_over_each_other() {
    let files = layout(
        &[base().gz(), changes().gz(), Tar::new().plain()],
        "ghcr.io/cf/app:ubuntu-jammy-1.2-5",
    );
    let layout = directory(&files);
    let tar = files
        .iter()
        .fold(Tar::new(), |tar, (path, content)| tar.file(path, content))
        .plain();
    let packed = layout.path().join("image.tar");
    fs::write(&packed, tar).unwrap();
    for path in [layout.path(), &packed] {
        let release = read(path, None).unwrap();
        assert_eq!((release.name.as_str(), release.version.as_deref()), ("app", Some("5")));
        assert_eq!(
            release.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
            ["app", "replaced"]
        );
        assert_eq!(release.jobs[0].templates[0].text, "new");
        assert!(
            release.jobs[0].templates[1]
                .document_name
                .ends_with(":/var/vcap/jobs-src/app/templates/bpm.yml.erb")
        );
        assert_eq!(read(path, Some("mine")).unwrap().name, "mine");
    }
}

#[test]
fn whole_trees_can_be_hidden() {
    for hide in [
        "var/.wh.vcap",
        "var/vcap/.wh..wh..opq",
        ".wh.var",
        ".wh..wh..opq",
        "var/vcap/jobs-src/.wh..wh..opq",
    ] {
        let layout = directory(&layout(&[base().gz(), Tar::new().file(hide, "").gz()], "x"));
        assert_eq!(
            read(layout.path(), Some("app")).unwrap_err()[0].code,
            "release-empty",
            "{hide}"
        );
    }
    let layout = directory(&layout(&[base().gz(), Tar::new().file("usr/.wh.vcap", "").gz()], "x"));
    assert_eq!(read(layout.path(), None).unwrap_err()[0].code, "release-name");
}

#[test]
fn bad_images_are_reported() {
    let good = layout(&[base().gz()], "x");
    let changed = |change: &dyn Fn(&mut Named)| {
        let mut files = good.clone();
        files.iter_mut().for_each(change);
        let layout = directory(&files);
        let errors = read(layout.path(), Some("app")).unwrap_err();
        (errors[0].code.clone(), errors[0].message.clone())
    };
    let index = |text: &'static str| {
        changed(&move |(path, content)| {
            if path == "index.json" {
                *content = text.into();
            }
        })
    };
    let (code, message) = changed(&|(path, content)| {
        if path.starts_with("blobs") && content.starts_with(&[0x1f, 0x8b]) {
            content[5] ^= 1;
        }
    });
    assert!(
        code == "release-digest" && message.starts_with("Expected stream to have digest 'sha256:"),
        "{code} {message}"
    );
    for (text, code, end) in [
        (
            "",
            "release-image",
            "has the unsupported document 'index.json': EOF while parsing a value at line 1 column 0",
        ),
        ("{}", "release-image", "neither a manifest nor an index"),
        (
            r#"{"schemaVersion":2,"manifests":[]}"#,
            "release-image",
            "holds no image",
        ),
        (
            r#"{"schemaVersion":2,"manifests":[{"mediaType":"x","digest":"sha256:../../../etc/passwd","size":1}]}"#,
            "release-image",
            "Invalid encoded value ../../../etc/passwd at line 1 column 86",
        ),
    ] {
        let (got, message) = index(text);
        assert!(got == code && message.ends_with(end), "{got} {message}");
    }
    let (code, message) = changed(&|(path, content)| {
        if path == "index.json" {
            let text = String::from_utf8_lossy(content).into_owned();
            let (begin, entry) = text.split_once('[').unwrap();
            let entry = entry.trim_end_matches("]}");
            *content = format!("{begin}[{entry},{entry}]}}").into_bytes();
        }
    });
    assert!(
        code == "release-image" && message.ends_with("holds 2 images: x, x"),
        "{code} {message}"
    );
    let missing = changed(&|(path, _)| {
        if path.starts_with("blobs") {
            path.push('x');
        }
    });
    assert_eq!(missing.0, "release-path");
    for (bad, code) in [
        (base().file("../x", ""), "release-archive-path"),
        (
            base().other(&format!("{JOBS}/dev"), EntryType::Char, ""),
            "release-archive-entry",
        ),
    ] {
        let layout = directory(&layout(&[bad.gz()], "x"));
        assert_eq!(read(layout.path(), Some("app")).unwrap_err()[0].code, code);
    }
}

#[test]
fn a_compressed_layout_is_refused_with_a_hint() {
    let files = layout(&[base().gz()], "x");
    let tar = files
        .iter()
        .fold(Tar::new(), |tar, (path, content)| tar.file(path, content))
        .plain();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("image.tar.gz");
    fs::write(&path, gzip(&tar)).unwrap();
    let errors = read(&path, None).unwrap_err();
    assert_eq!(errors[0].message, "Release manifest not found");
    assert!(errors[0].help.as_deref().unwrap().contains("OCI image"), "{errors:?}");
}

#[test]
fn a_reduced_layer_does_the_same_to_the_jobs() {
    let reduced = |layer: &[u8]| {
        let mut out = Vec::new();
        boson_releases::reduce("layer", layer, &Budget::new(Limits::default()), &mut out).unwrap();
        out
    };
    let layers = [
        base().file("usr/lib/big", vec![7; 1 << 20]).gz(),
        changes().gz(),
        Tar::new().plain(),
    ];
    let small: Vec<Vec<u8>> = layers.iter().map(|layer| reduced(layer)).collect();
    assert!(small[0].len() < 1 << 14, "{} bytes are kept", small[0].len());
    let of = |layers: &[Vec<u8>]| read(directory(&layout(layers, "x")).path(), Some("app")).unwrap();
    let (whole, less) = (of(&layers), of(&small));
    let jobs = |release: &boson_pipeline::release::Release| {
        let all = release.jobs.iter().map(|job| {
            let texts = job
                .templates
                .iter()
                .map(|file| (file.destination.clone(), file.text.clone(), file.executable));
            (job.name.clone(), job.spec.tree.clone(), texts.collect::<Vec<_>>())
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(jobs(&whole), jobs(&less));
    for hide in ["var/.wh.vcap", ".wh..wh..opq"] {
        let hidden = [base().gz(), reduced(&Tar::new().file(hide, "").gz())];
        let layout = directory(&layout(&hidden, "x"));
        assert_eq!(
            read(layout.path(), Some("app")).unwrap_err()[0].code,
            "release-empty",
            "{hide}"
        );
    }
}

#[test]
fn a_layer_that_is_torn_or_holds_a_device_among_the_jobs_is_refused() {
    let code = |layer: &[u8]| {
        let budget = Budget::new(Limits::default());
        boson_releases::reduce("layer", layer, &budget, std::io::sink())
            .unwrap_err()
            .code
    };
    let whole = base().gz();
    assert_eq!(code(&whole[..whole.len() / 2]), "release-archive-damaged");
    let device = Tar::new().other(&format!("{JOBS}/dev"), EntryType::Char, "");
    assert_eq!(code(&device.gz()), "release-archive-entry");
    assert_eq!(code(&Tar::new().file("../x", "").gz()), "release-archive-path");
}
