//! The order in which containers stop. Kubernetes signals all containers at once; BOSH runs every pre-stop script, then
//! every drain script, and only then stops processes.

use std::path::Path;
use std::time::Duration;

use super::{Owner, Record, State, live_record};
use crate::arguments::{Flags, Member};

/// How long a container waits for the other containers to receive their stop signals. If they receive none, only this
/// container stops, without drain scripts.
pub const STOP_SIGNAL_TIMEOUT: Duration = Duration::from_secs(3);
/// The part of the grace period that is reserved for BPM's way of stopping a process (17 s), and for post-stop.
const RESERVED_GRACE_PERIOD: Duration = Duration::from_secs(20);

/// The states of the other containers.
#[derive(Debug)]
pub struct Pod<'a> {
    directory: &'a Path,
    flags: &'a Flags,
}

// === impl Pod ===

impl<'a> Pod<'a> {
    /// The pod with these flags, whose files are in this directory.
    pub fn new(directory: &'a Path, flags: &'a Flags) -> Self {
        Self { directory, flags }
    }

    fn processes(&self) -> impl Iterator<Item = Option<Record>> + '_ {
        let of = |member: &'a Member| Owner::Process(&member.job, &member.process);
        let members = self.flags.members.iter();
        members.map(move |member| live_record(self.directory, of(member)))
    }

    /// Whether every process of the pod runs.
    pub fn all_run(&self) -> bool {
        let mut processes = self.processes();
        processes.all(|record| record.is_some_and(|record| record.state == State::Running))
    }

    /// Whether a container of a process lives.
    pub fn any_lives(&self) -> bool {
        self.processes().any(|record| record.is_some())
    }

    /// The time since which all running containers are stopping; none if no container runs, or one is not stopping.
    pub fn all_stop(&self) -> Option<u64> {
        let mut last = None;
        for record in self.processes().flatten() {
            if record.state != State::Stopping {
                return None;
            }
            last = last.max(Some(record.since));
        }
        last
    }

    /// Whether every running sidecar has finished its pre-stop script, for a stop that began at this time.
    pub fn all_pre_stopped(&self, since: u64) -> bool {
        self.sidecars(since, |state| matches!(state, State::PreStopped | State::Drained))
    }

    /// Whether every running sidecar has finished its drain script.
    pub fn all_drained(&self, since: u64) -> bool {
        self.sidecars(since, |state| state == State::Drained)
    }

    /// A sidecar that does not run delays nothing. One that finished before this stop began has not started its scripts
    /// yet.
    fn sidecars(&self, since: u64, done: impl Fn(State) -> bool) -> bool {
        let scripts = self.flags.scripts.iter();
        let mut all = scripts.filter_map(|job| live_record(self.directory, Owner::Scripts(job)));
        all.all(|record| done(record.state) && record.since >= since)
    }
}

/// How much of the grace period pre-stop and drain scripts may use.
pub fn time_for_scripts(grace: Duration) -> Duration {
    grace.saturating_sub(RESERVED_GRACE_PERIOD).max(grace / 3)
}

#[cfg(test)]
mod tests {
    use super::super::StateFile;
    use super::*;

    fn flags() -> Flags {
        let arguments = ["--members", "a/a,b/b", "--scripts", "a,b"].map(String::from);
        Flags::read(&arguments, &[]).unwrap()
    }

    #[test]
    fn all_run_means_all_and_all_stop_means_those_that_live() {
        let directory = tempfile::tempdir().unwrap();
        let flags = flags();
        let pod = Pod::new(directory.path(), &flags);
        assert!(!pod.all_run() && !pod.any_lives());
        assert_eq!(pod.all_stop(), None);
        let a = StateFile::lock(directory.path(), Owner::Process("a", "a")).unwrap();
        a.set(State::Running, 1);
        assert!(!pod.all_run());
        let b = StateFile::lock(directory.path(), Owner::Process("b", "b")).unwrap();
        b.set(State::Running, 1);
        assert!(pod.all_run());
        a.set(State::Stopping, 1);
        assert_eq!(pod.all_stop(), None);
        let since = b.set(State::Stopping, 1);
        assert_eq!(pod.all_stop(), Some(since));
        drop(b);
        assert!(pod.all_stop().is_some());
    }

    #[test]
    fn a_dead_sidecar_and_an_earlier_stop_do_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let flags = flags();
        let pod = Pod::new(directory.path(), &flags);
        assert!(pod.all_drained(1));
        let a = StateFile::lock(directory.path(), Owner::Scripts("a")).unwrap();
        let earlier = a.set(State::Drained, 0);
        assert!(pod.all_drained(earlier));
        assert!(!pod.all_drained(earlier + 1));
        let since = a.set(State::PreStopped, 0);
        assert!(pod.all_pre_stopped(since) && !pod.all_drained(since));
    }

    #[test]
    fn a_short_grace_period_leaves_a_third_to_scripts() {
        for (grace, scripts) in [(30, 10), (60, 40), (15, 5), (0, 0)] {
            assert_eq!(
                time_for_scripts(Duration::from_secs(grace)),
                Duration::from_secs(scripts)
            );
        }
    }
}
