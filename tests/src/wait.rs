//! Waits for what has to happen, and says what is there instead if it does not.

use anyhow::{Context, Result, bail, ensure};
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// How long a test waits for what has to happen, on a machine that is busy with other tests. Only a failure takes that
/// long.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(300);
/// How long an operator may take to react to a change: it collects changes for a second, those of links for another
/// one, and lets three pass between two conversions. What it has not written by then, it does not write. Two more for a
/// busy machine.
pub const QUIET_DURATION: Duration = Duration::from_secs(7);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// [`wait_until`] in a test without a runtime. An error counts as no: an object may not exist yet.
///
/// # Panics
/// It does not in time.
pub fn wait_until_ok(what: &str, mut holds: impl FnMut() -> Result<bool>) {
    let look = || {
        ensure!(holds()?, "it does not hold");
        Ok(())
    };
    let waited = try_wait_for_value(what, WAIT_TIMEOUT, look);
    assert!(waited.is_ok(), "{waited:?}");
}

/// Waits until the condition holds, or until the time is over.
///
/// # Errors
/// It does not in time: the text has the result of `otherwise`. Or it could not be checked.
pub fn try_wait_until(
    what: &str,
    timeout: Duration,
    mut holds: impl FnMut() -> Result<bool>,
    otherwise: impl FnOnce() -> String,
) -> Result<()> {
    let began = Instant::now();
    while !holds()? {
        if began.elapsed() > timeout {
            bail!("{what} did not come in {timeout:?}\n{}", otherwise());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// [`wait_for_value`] in a test without a runtime.
///
/// # Errors
/// It finds none in time.
pub fn try_wait_for_value<T>(what: &str, timeout: Duration, mut look: impl FnMut() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        match look() {
            Err(instead) if began.elapsed() > timeout => bail!("{what} did not come in {timeout:?}\n{instead:#}"),
            Err(_) => std::thread::sleep(POLL_INTERVAL),
            found => return found,
        }
    }
}

/// Waits until the condition holds.
///
/// # Panics
/// It does not in time.
pub async fn wait_until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let look = || {
        let holds = holds();
        async {
            ensure!(holds.await, "");
            Ok(())
        }
    };
    wait_for_value(what, look).await;
}

/// Looks until it finds a value, and returns it. The error of a look is what there is instead.
///
/// # Panics
/// It finds none in time.
pub async fn wait_for_value<T, F: Future<Output = Result<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let began = Instant::now();
    loop {
        // No answer of the API server may keep a test for ever.
        let looked = tokio::time::timeout(WAIT_TIMEOUT, look()).await;
        match looked.context("a look that does not end").flatten() {
            Ok(found) => return found,
            Err(instead) => assert!(
                began.elapsed() < WAIT_TIMEOUT,
                "{what} did not come in {WAIT_TIMEOUT:?} {instead:#}"
            ),
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Asserts that a look finds the same as before, once an operator has had the time to change it. `what`: must change
/// nothing.
///
/// # Panics
/// It has changed.
pub fn quiet<T: PartialEq + Debug>(what: &str, before: &T, look: impl FnOnce() -> T) {
    std::thread::sleep(QUIET_DURATION);
    assert_eq!(look(), *before, "{what} changes something");
}

/// [`quiet`] in a test with a runtime.
///
/// # Panics
/// It has changed.
pub async fn is_quiet<T: PartialEq + Debug>(what: &str, before: &T, look: impl Future<Output = T>) {
    tokio::time::sleep(QUIET_DURATION).await;
    assert_eq!(look.await, *before, "{what} changes something");
}
