//! The release of `tests/fixtures/releases/lifecycle`, and the lines that its processes and scripts write.

use anyhow::{Context, Result, ensure};

/// The claims of its deployment, without the pod's number.
pub const CLAIMS: &str = "server-pvc-lifecycle-server-v1";

/// Every line once, and those that wait for others after them.
pub fn check_start(notes: &[String], index: usize) -> Result<()> {
    let at = |start: &str| {
        let found = notes.iter().position(|line| line.starts_with(start));
        found.with_context(|| format!("no '{start}' in {notes:#?}"))
    };
    ensure!(notes[0] == "first pre-start 0 server", "{notes:#?}");
    let starts = at("first starts 1000 --word ")?;
    let expected = format!(" --index {index} hello /var/vcap/data/first /var/vcap/data/first/tmp");
    ensure!(notes[starts].ends_with(&expected), "{notes:#?}");
    // CAP_NET_BIND_SERVICE is number 10.
    let second = at("second starts 1000 CapAmb: 0000000000000400")?;
    ensure!(at("second hook 0")? < second, "{notes:#?}");
    let post_start = at("first post-start 0 /usr/sbin:/usr/bin:/sbin:/bin")?;
    for start in [starts, second, at("by-monit starts 0")?] {
        ensure!(start < post_start, "{notes:#?}");
    }
    Ok(())
}

/// A graceful stop of a pod, from its first to its last line.
pub fn check_stop(stop: &[String]) -> Result<()> {
    let mut stopped = check_drain(stop)?;
    ensure!(stop[2].ends_with(" pid there"), "{stop:#?}");
    stopped.sort_unstable();
    ensure!(
        stopped == ["by-monit stops 0", "first stops 1000", "second stops 1000"],
        "{stop:#?}"
    );
    Ok(())
}

/// The scripts of a graceful stop, of which some processes may not be left to see the end. Returns the lines between
/// drain and post-stop.
pub fn check_drain(stop: &[String]) -> Result<Vec<&str>> {
    let expected = [
        "first pre-stop 0 /",
        "first drain 0 job_shutdown hash_unchanged pid there",
        "first drain 0 job_check_status hash_unchanged pid",
    ];
    let (drain, rest) = stop.split_at_checked(expected.len()).context("too few lines")?;
    let as_expected = drain
        .iter()
        .zip(expected)
        .all(|(line, expected)| line.starts_with(expected));
    ensure!(as_expected, "{stop:#?}");
    let (last, stopped) = rest.split_last().with_context(|| format!("no end in {stop:#?}"))?;
    ensure!(last.starts_with("first post-stop 0 /"), "{stop:#?}");
    Ok(stopped.iter().map(String::as_str).collect())
}
