//! Archives with random damage: they are read or refused, but nothing panics or hangs.

use super::make::{SPEC, Tar, job, read_bytes, release, sha256};
use boson_pipeline::report::Sources;
use boson_releases::Limits;
use std::fs;
use tar::EntryType;

/// A small generator of numbers, so that a failure can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = self.below(256).to_le_bytes()[0],
                2 => bytes[at] = b"/.0x7KLgS52"[self.below(11)],
                _ => {
                    let from = self.below(bytes.len());
                    let length = self.below(512).min(bytes.len() - at).min(bytes.len() - from);
                    bytes.copy_within(from..from + length, at);
                }
            }
        }
        bytes
    }
}

/// Corrects every header's checksum, so that readers get past it to the damage.
fn fix_checksums(tar: &mut [u8]) {
    for block in tar.chunks_exact_mut(512) {
        if &block[257..262] == b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
}

#[test]
fn damaged_tarballs_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let undigested = |job: &[u8]| {
        let manifest = "name: app\nversion: 1\njobs: [{name: app, version: 1}]\npackages: [{name: ruby, version: 1}]";
        Tar::new().file("release.MF", manifest).file("jobs/app.tgz", job)
    };
    let inner = job().other("templates/l", EntryType::Symlink, "run.erb").plain();
    let outer = release(&job().gz()).plain();
    let mut read = 0;
    for round in 0..1500 {
        let (whole, is_inner) = if round % 2 == 0 {
            (&inner, true)
        } else {
            (&outer, false)
        };
        let mut bytes = random.damage(whole);
        if round % 3 != 0 {
            fix_checksums(&mut bytes);
        }
        let bytes = if is_inner { undigested(&bytes).plain() } else { bytes };
        match read_bytes(&bytes) {
            Ok(_) => read += 1,
            Err(errors) => assert!(!errors.is_empty()),
        }
    }
    assert!(read > 0, "some damage does not matter");
    let compressed = release(&job().gz()).gz();
    for _ in 0..500 {
        let _ = read_bytes(&random.damage(&compressed));
    }
}

/// The members of a descriptor.
fn descriptor(content: &[u8]) -> String {
    let (digest, size) = (sha256(content), content.len());
    format!(r#""mediaType":"x","digest":"sha256:{digest}","size":{size}"#)
}

#[test]
fn damaged_images_never_panic() {
    let layer = Tar::new()
        .file("var/vcap/jobs-src/app/job.MF", SPEC)
        .file("var/vcap/jobs-src/app/templates/run.erb", "")
        .other(
            "var/vcap/jobs-src/app/templates/bpm.yml.erb",
            EntryType::Link,
            "var/vcap/jobs-src/app/job.MF",
        )
        .file("var/vcap/jobs-src/x/.wh..wh..opq", "")
        .plain();
    let mut random = Random(42);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("image.tar");
    for round in 0..500 {
        let mut layer = random.damage(&layer);
        fix_checksums(&mut layer);
        let manifest = format!(
            r#"{{"schemaVersion":2,"config":{{{0}}},"layers":[{{{0}}}]}}"#,
            descriptor(&layer)
        );
        let manifest = if round % 5 == 0 {
            random.damage(manifest.as_bytes())
        } else {
            manifest.into_bytes()
        };
        let index = format!(r#"{{"schemaVersion":2,"manifests":[{{{}}}]}}"#, descriptor(&manifest));
        let mut tar = Tar::new()
            .file("oci-layout", "{}")
            .file("index.json", index)
            .file(&format!("blobs/sha256/{}", sha256(&manifest)), &manifest)
            .file(&format!("blobs/sha256/{}", sha256(&layer)), &layer)
            .plain();
        if round % 7 == 0 {
            tar = random.damage(&tar);
            fix_checksums(&mut tar);
        }
        fs::write(&path, tar).unwrap();
        let limits = Limits {
            scanned: 1 << 20,
            ..Limits::default()
        };
        let _ = boson_releases::read_all(&path, Some("app"), limits, &mut Sources::default(), &mut |_| {});
    }
}
