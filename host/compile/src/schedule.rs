//! Runs work on packages at the same time, each after its dependencies.

use boson_releases::Package;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeSet;

struct State<'p, E> {
    waiting: Vec<&'p Package>,
    unfinished: BTreeSet<&'p str>,
    running: usize,
    errors: Vec<E>,
}

/// Runs `work` for each package on this many threads, and returns all errors. After an error no further package is
/// begun; those in progress are finished, so that their results are not lost.
pub fn run<E: Send>(packages: &[&Package], threads: usize, work: impl Fn(&Package) -> Result<(), E> + Sync) -> Vec<E> {
    let state = Mutex::new(State {
        waiting: packages.to_vec(),
        unfinished: packages.iter().map(|package| package.name.as_str()).collect(),
        running: 0,
        errors: Vec::new(),
    });
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, packages.len().max(1)) {
            scope.spawn(|| {
                while let Some(package) = next(&state, &changed) {
                    let done = work(package);
                    let mut state = state.lock();
                    state.running -= 1;
                    match done {
                        Ok(()) => drop(state.unfinished.remove(package.name.as_str())),
                        Err(error) => state.errors.push(error),
                    }
                    changed.notify_all();
                }
            });
        }
    });
    state.into_inner().errors
}

/// Waits for the next package; `None` at the end.
fn next<'p, E>(state: &Mutex<State<'p, E>>, changed: &Condvar) -> Option<&'p Package> {
    let mut state = state.lock();
    loop {
        if !state.errors.is_empty() {
            return None;
        }
        let unfinished = &state.unfinished;
        let is_ready = |package: &&Package| {
            !package
                .dependencies
                .iter()
                .any(|name| unfinished.contains(name.as_str()))
        };
        if let Some(found) = state.waiting.iter().position(is_ready) {
            state.running += 1;
            return Some(state.waiting.remove(found));
        }
        if state.running == 0 {
            return None;
        }
        changed.wait(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.into(),
            fingerprint: "f".into(),
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
            other_content: None,
        }
    }

    #[test]
    fn packages_follow_their_dependencies() {
        // `c` is in the cache, so it is not among them.
        let all = [package("d", &["a", "b"]), package("a", &["c"]), package("b", &["a"])];
        let all: Vec<&Package> = all.iter().collect();
        for threads in [1, 3] {
            let seen = Mutex::new(Vec::new());
            let errors = run(&all, threads, |package| {
                seen.lock().push(package.name.clone());
                Ok::<(), ()>(())
            });
            assert_eq!((errors.len(), seen.into_inner().join(" ")), (0, "a b d".to_owned()));
        }
    }

    #[test]
    fn independent_packages_run_at_the_same_time() {
        let all = [package("a", &[]), package("b", &[])];
        let both = std::sync::Barrier::new(2);
        let errors = run(&all.iter().collect::<Vec<_>>(), 2, |_| {
            both.wait();
            Ok::<(), ()>(())
        });
        assert!(errors.is_empty());
    }

    #[test]
    fn nothing_is_begun_after_an_error() {
        let all = [package("a", &[]), package("b", &["a"]), package("c", &[])];
        let seen = Mutex::new(0);
        let errors = run(&all.iter().collect::<Vec<_>>(), 1, |package| {
            *seen.lock() += 1;
            Err(package.name.clone())
        });
        assert_eq!((errors, seen.into_inner()), (vec!["a".to_owned()], 1));
    }
}
