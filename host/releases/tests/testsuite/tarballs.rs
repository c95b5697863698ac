//! Release tarballs, good and hostile.

use super::make;
use super::make::{Tar, error, gzip, job, manifest, read, read_bytes, release};
use boson_pipeline::release::Job;
use boson_pipeline::report::Sources;
use tar::EntryType;

#[test]
fn good_tarballs_are_read() {
    let packed = job().gz();
    let plain_job = job().plain();
    for (what, bytes) in [
        ("as bosh makes it", release(&packed).gz()),
        ("not compressed", release(&packed).plain()),
        ("with an uncompressed job", release(&plain_job).gz()),
        ("in two gzip members", {
            let plain = release(&packed).plain();
            let (a, b) = plain.split_at(1000);
            [gzip(a), gzip(b)].concat()
        }),
    ] {
        let release = read_bytes(&bytes).unwrap_or_else(|errors| panic!("{what}: {errors:?}"));
        assert_eq!(
            (release.name.as_str(), release.version.as_deref()),
            ("app", Some("1.2.3")),
            "{what}"
        );
        let job = release.job("app").unwrap();
        assert!(
            job.is_monitored() && job.template_for(Job::BPM).is_some() && job.templates[0].executable,
            "{what}"
        );
        assert!(
            job.spec.name.ends_with("r.tgz:jobs/app.tgz:job.MF"),
            "{}",
            job.spec.name
        );
    }
}

#[test]
fn long_names_and_links_inside_are_read() {
    let long = format!("{}/t.erb", "d".repeat(150));
    let spec = format!("name: app\ntemplates: {{{long}: a, l.erb: b, h.erb: c, pax.erb: d}}");
    let packed = Tar::new()
        .file("job.MF", spec)
        .file("monit", "")
        .raw(
            "././@LongLink",
            EntryType::GNULongName,
            169,
            format!("./templates/{long}\0").as_bytes(),
        )
        .file("short", "long")
        .other("templates/l.erb", EntryType::Symlink, "../real")
        .other("templates/h.erb", EntryType::Link, "./real")
        .file("real", "linked")
        .raw("g", EntryType::XGlobalHeader, 17, b"17 comment=notes\n")
        .raw("x", EntryType::XHeader, 26, b"26 path=templates/pax.erb\n")
        .file("y", "pax");
    let packed = packed.gz();
    let release = read_bytes(&release(&packed).gz()).unwrap();
    let texts: Vec<&str> = release.jobs[0]
        .templates
        .iter()
        .map(|template| template.text.as_str())
        .collect();
    assert_eq!(texts, ["long", "linked", "linked", "pax"]);
}

#[test]
fn hostile_entries_are_refused_by_name() {
    let good = job().gz();
    let outer = |tar: Tar| error(&tar.gz());
    let inner = |tar: Tar| error(&release(&tar.gz()).gz());
    let table = [
        (
            outer(release(&good).file("../evil", "x")),
            "release-archive-path",
            "Entry '../evil' of 'r.tgz' leads out of the archive",
        ),
        (
            outer(release(&good).file("a/../../evil", "x")),
            "release-archive-path",
            "Entry 'a/../../evil' of 'r.tgz' leads out of the archive",
        ),
        (
            outer(release(&good).file("/etc/evil", "x")),
            "release-archive-path",
            "Entry '/etc/evil' of 'r.tgz' leads out of the archive",
        ),
        (
            outer(release(&good).other("l", EntryType::Symlink, "/etc/passwd")),
            "release-archive-link",
            "Entry 'l' of 'r.tgz' is a link that leads out of the archive",
        ),
        (
            outer(release(&good).other("a/l", EntryType::Symlink, "../../x")),
            "release-archive-link",
            "Entry 'a/l' of 'r.tgz' is a link that leads out of the archive",
        ),
        (
            outer(release(&good).other("l", EntryType::Link, "../x")),
            "release-archive-link",
            "Entry 'l' of 'r.tgz' is a link that leads out of the archive",
        ),
        (
            outer(release(&good).other("dev", EntryType::Char, "")),
            "release-archive-entry",
            "Entry 'dev' of 'r.tgz' is a device",
        ),
        (
            outer(release(&good).other("dev", EntryType::Block, "")),
            "release-archive-entry",
            "Entry 'dev' of 'r.tgz' is a device",
        ),
        (
            outer(release(&good).other("pipe", EntryType::Fifo, "")),
            "release-archive-entry",
            "Entry 'pipe' of 'r.tgz' is a named pipe",
        ),
        (
            outer(release(&good).raw("s", EntryType::GNUSparse, 0, b"")),
            "release-archive-entry",
            "Entry 's' of 'r.tgz' is a sparse file",
        ),
        (
            inner(job().file("../x", "")),
            "release-archive-path",
            "Entry '../x' of 'r.tgz:jobs/app.tgz' leads out of the archive",
        ),
        (
            inner(job().other("templates/l", EntryType::Symlink, "../../other")),
            "release-archive-link",
            "Entry 'templates/l' of 'r.tgz:jobs/app.tgz' is a link that leads out of the archive",
        ),
        (
            inner(job().other("null", EntryType::Char, "")),
            "release-archive-entry",
            "Entry 'null' of 'r.tgz:jobs/app.tgz' is a device",
        ),
        (
            outer(release(&good).raw("x", EntryType::GNULongName, 300_000, &[b'a'; 300_000])),
            "release-archive-entry",
            "Entry '?' of 'r.tgz' has a header that is too long",
        ),
        (
            outer(
                release(&good)
                    .raw("x", EntryType::XHeader, 10, b"10 size=7\n")
                    .file("y", ""),
            ),
            "release-archive-entry",
            "Entry 'y' of 'r.tgz' has two different sizes",
        ),
        // How GNU tar writes sparse files with --format=pax: regular ones, with a map of pieces in records or in the
        // content.
        (
            outer(
                release(&good)
                    .raw("x", EntryType::XHeader, 22, b"22 GNU.sparse.major=1\n")
                    .file("y", "1\n0\n512\n"),
            ),
            "release-archive-entry",
            "Entry 'y' of 'r.tgz' is a sparse file",
        ),
        (
            inner(
                job()
                    .raw("x", EntryType::XHeader, 28, b"28 GNU.sparse.map=0,10,20,5\n")
                    .file("templates/y", ""),
            ),
            "release-archive-entry",
            "Entry 'templates/y' of 'r.tgz:jobs/app.tgz' is a sparse file",
        ),
        (
            outer(
                release(&good)
                    .raw("x", EntryType::XGlobalHeader, 10, b"10 path=x\n")
                    .file("y", ""),
            ),
            "release-archive-entry",
            "Entry '?' of 'r.tgz' is a header that gives all files one name or size",
        ),
    ];
    for ((code, message), expected, text) in table {
        assert_eq!((code.as_str(), message.as_str()), (expected, text));
    }
}

#[test]
fn damage_is_reported_wherever_it_is() {
    let whole = release(&job().gz()).gz();
    for cut in [11, whole.len() / 3, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let (code, message) = error(&whole[..cut]);
        assert_eq!(
            (code.as_str(), message.as_str()),
            ("release-archive-damaged", "'r.tgz' is truncated"),
            "{cut}"
        );
    }
    let mut flipped = whole.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    assert_eq!(error(&flipped).0, "release-archive-damaged");
    let plain = release(&job().gz()).plain();
    let (code, _) = error(&plain[..1700]);
    assert_eq!(code, "release-archive-damaged");
    let cut_job = job().gz();
    let cut_job = &cut_job[..cut_job.len() / 2];
    assert_eq!(
        error(&release(cut_job).gz()),
        (
            "release-archive-damaged".into(),
            "'r.tgz:jobs/app.tgz' is truncated".into()
        )
    );
}

#[test]
fn what_is_no_archive_is_reported() {
    for bytes in [
        b"<html>not found</html>".to_vec(),
        vec![b'x'; 5000],
        b"PK\x03\x04".repeat(200),
    ] {
        assert_eq!(
            error(&bytes),
            (
                "release-archive-format".into(),
                "'r.tgz' is neither a gzip nor a tar archive".into()
            )
        );
    }
    for bytes in [
        Vec::new(),
        vec![0; 2048],
        Tar::new().gz(),
        Tar::new().file("a/config/final.yml", "").gz(),
    ] {
        assert_eq!(
            error(&bytes),
            ("release-manifest".into(), "Release manifest not found".into())
        );
    }
}

#[test]
fn bombs_are_stopped_early() {
    let zeros = vec![0; 12 << 20];
    let packed = job().gz();
    assert_eq!(
        error(&release(&packed).file("packages/big.tgz", &zeros).gz()),
        (
            "release-archive-bomb".into(),
            "'r.tgz' unpacks to more than 100 times its size".into()
        )
    );
    let zeros = vec![0; 20 << 20];
    assert_eq!(
        error(&release(&packed).file("packages/big.tgz", &zeros).plain()).0,
        "release-archive-size"
    );
    assert_eq!(
        error(&release(&job().file("big", &zeros).gz()).gz()).0,
        "release-archive-bomb"
    );
    let many = (0..1200).fold(Tar::new(), |tar, n| tar.file(&format!("f{n}"), ""));
    assert_eq!(error(&many.gz()).0, "release-archive-entries");
    // A wrong size: the archive ends long before.
    assert_eq!(
        error(&release(&packed).raw("x", EntryType::Regular, u64::MAX >> 2, b"").gz()).0,
        "release-archive-damaged"
    );
}

#[test]
fn too_much_to_keep_is_refused_where_it_is_needed() {
    let mut state = 1_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let noise: Vec<u8> = (0..2 << 20).map(|_| random() as u8).collect();
    let letters: Vec<u8> = (0..2 << 20).map(|_| b'a' + (random() & 1) as u8).collect();
    let big = job().file("unused", &noise).gz();
    assert_eq!(
        error(&release(&big).gz()).0,
        "release-file-too-large",
        "the job's tarball is over the limit"
    );
    let large = Tar::new()
        .file("job.MF", "name: app\ntemplates: {big: a}")
        .file("monit", "")
        .file("templates/big", &letters);
    let packed = large.gz();
    assert_eq!(error(&release(&packed).gz()).0, "release-file-too-large");
    let unused = job().file("templates/unused", &letters).gz();
    assert!(read_bytes(&release(&unused).gz()).is_ok(), "the file is not used");
}

#[test]
fn members_of_gzip_are_counted() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("r.tgz");
    let empty = Tar::new().gz();
    let mut bytes = release(&job().gz()).gz();
    // Each unpacks to zeros, which are allowed at the end of a tar.
    (0..20).for_each(|_| bytes.extend(&empty));
    std::fs::write(&file, bytes).unwrap();
    for (members, code) in [(21, None), (20, Some("release-archive-bomb"))] {
        let limits = boson_releases::Limits {
            members,
            ..boson_releases::Limits::default()
        };
        let read = boson_releases::read_all(&file, None, limits, &mut Sources::default(), &mut |_| {});
        let found = read.err().map(|errors| errors[0].code.clone());
        assert_eq!(found.as_deref(), code, "{members}");
    }
}

#[test]
fn names_count_as_much_as_content() {
    let path = "d/".repeat(40);
    let many = |count: usize| {
        (0..count)
            .fold(job(), |tar, n| tar.file(&format!("{path}{n}"), ""))
            .gz()
    };
    let limits = boson_releases::Limits {
        kept: 64 << 10,
        ..boson_releases::Limits::default()
    };
    for (count, good) in [(100, true), (400, false)] {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("r.tgz");
        std::fs::write(&file, release(&many(count)).gz()).unwrap();
        let read = boson_releases::read_all(&file, None, limits, &mut Sources::default(), &mut |_| {});
        assert_eq!(
            read.map(drop).map_err(|errors| errors[0].code.clone()),
            if good {
                Ok(())
            } else {
                Err("release-archive-size".into())
            }
        );
    }
}

#[test]
fn errors_are_shown_with_the_line_they_are_about() {
    let packed = Tar::new()
        .file("job.MF", "name: app\ntemplates:\n  gone.erb: a\n")
        .file("monit", "")
        .gz();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("r.tgz");
    for (job, line) in [
        (packed.as_slice(), "jobs/app.tgz:job.MF:3:13"),
        (b"changed", "release.MF:4:3"),
    ] {
        std::fs::write(
            &file,
            Tar::new()
                .file("release.MF", manifest(&packed))
                .file("jobs/app.tgz", job)
                .gz(),
        )
        .unwrap();
        let mut sources = Sources::default();
        let errors = boson_releases::read_noting(&file, None, &mut sources, &mut |_| {}).unwrap_err();
        let shown = boson_pipeline::report::text(&errors, &sources, false);
        assert!(shown.contains(line) && shown.contains("| "), "{shown}");
    }
}

#[test]
fn parts_must_be_there_and_what_their_digests_say() {
    let packed = job().gz();
    let no_job = Tar::new().file("release.MF", manifest(&packed));
    assert_eq!(
        error(&no_job.gz()),
        (
            "release-job-archive".into(),
            "Reading job 'app' from archive: there is no 'jobs/app.tgz'".into()
        )
    );
    let other = Tar::new().file("job.MF", "").gz();
    let changed = Tar::new()
        .file("release.MF", manifest(&packed))
        .file("jobs/app.tgz", &other);
    let (code, message) = error(&changed.gz());
    assert_eq!(code, "release-digest");
    let text = format!(
        "Reading job 'app' from archive: Expected stream to have digest 'sha256:{}' but was 'sha256:{}'",
        make::sha256(&packed),
        make::sha256(&other)
    );
    assert_eq!(message, text);
    let sha1 = manifest(&packed).replace("sha256:", "sha512:");
    assert_eq!(
        error(&Tar::new().file("release.MF", sha1).file("jobs/app.tgz", &packed).gz()).0,
        "release-digest"
    );
    let undigested = "name: app\nversion: 1\njobs: [{name: app, version: 1}]\npackages: [{name: ruby, version: 1}]";
    assert!(
        read_bytes(
            &Tar::new()
                .file("release.MF", undigested)
                .file("jobs/app.tgz", &packed)
                .gz()
        )
        .is_ok()
    );
}

#[test]
fn errors_of_all_jobs_come_at_once() {
    let bad = Tar::new().file("job.MF", "name: b\ntemplates: {x: bin/x}").gz();
    let manifest = "name: app\nversion: 1\njobs: [{name: a, version: 1}, {name: b, version: 1}, {name: c, version: 1}]";
    let tar = Tar::new()
        .file("release.MF", manifest)
        .file("jobs/b.tgz", &bad)
        .file("jobs/c.tgz", "junk");
    let errors = read_bytes(&tar.gz()).unwrap_err();
    let codes: Vec<&str> = errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(
        codes,
        [
            "release-job-archive",
            "release-archive-format",
            "release-template-missing",
            "release-monit-missing"
        ]
    );
}

#[test]
fn an_unpacked_tarball_is_read_like_the_packed_one() {
    let directory = tempfile::tempdir().unwrap();
    let packed = job().gz();
    std::fs::write(directory.path().join("release.MF"), manifest(&packed)).unwrap();
    std::fs::create_dir(directory.path().join("jobs")).unwrap();
    std::fs::write(directory.path().join("jobs/app.tgz"), &packed).unwrap();
    let release = read(directory.path(), Some("mine")).unwrap();
    assert_eq!((release.name.as_str(), release.jobs.len()), ("mine", 1));
}
