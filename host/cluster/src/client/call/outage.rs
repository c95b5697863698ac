//! Whether the API server answers at all: one log line when it stops and one when it is back, instead of one for each
//! call.

use super::{Error, ErrorKind};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

/// This many calls in a row without an answer are an outage. Fewer are logged one by one.
const MIN_OUTAGE_CALLS: u64 = 3;

/// The availability of the API server. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outage {
    unanswered: Arc<Mutex<Option<Unanswered>>>,
}

/// Calls since the last answer.
#[derive(Clone, Copy, Debug)]
struct Unanswered {
    since: Instant,
    calls: u64,
}

// === impl Outage ===

impl Outage {
    pub fn note(&self, result: Result<(), &Error>) {
        match result {
            Err(error) if is_no_answer(&error.kind) => self.record_failure(error),
            _ => self.record_success(),
        }
    }

    /// Whether an outage lasts and this error belongs to it, so that it needs no log line of its own.
    pub fn covers(&self, error: &Error) -> bool {
        let unanswered = self.unanswered.lock();
        is_no_answer(&error.kind) && unanswered.is_some_and(|unanswered| unanswered.calls >= MIN_OUTAGE_CALLS)
    }

    fn record_failure(&self, error: &Error) {
        let mut unanswered = self.unanswered.lock();
        let known = unanswered.get_or_insert_with(|| Unanswered {
            since: Instant::now(),
            calls: 0,
        });
        known.calls += 1;
        if known.calls == MIN_OUTAGE_CALLS {
            tracing::warn!(%error, "the API server does not answer; all calls are retried until it does");
        }
    }

    fn record_success(&self) {
        let before = self.unanswered.lock().take();
        if let Some(Unanswered { since, calls }) = before.filter(|before| before.calls >= MIN_OUTAGE_CALLS) {
            let seconds = since.elapsed().as_secs();
            tracing::info!(seconds, calls, "the API server answers again");
        }
    }
}

/// An overloaded server answers.
fn is_no_answer(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Connection | ErrorKind::NoAnswer(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Verb;
    use k8s_openapi::api::core::v1::Secret;

    fn error(kind: ErrorKind) -> Error {
        Error {
            verb: Verb::Get.as_str(),
            kind,
            ..Error::missing::<Secret>("s")
        }
    }

    #[test]
    fn calls_in_a_row_without_an_answer_are_one_outage_until_the_first_answer() {
        let outage = Outage::default();
        let (away, refused) = (error(ErrorKind::Connection), error(ErrorKind::Forbidden));
        for _ in 1..MIN_OUTAGE_CALLS {
            outage.note(Err(&away));
        }
        assert!(!outage.covers(&away), "a short interruption is logged with its call");
        outage.note(Err(&away));
        assert!(outage.covers(&away) && !outage.covers(&refused));
        outage.note(Err(&refused));
        assert!(!outage.covers(&away), "a refusal is an answer");
        for _ in 0..MIN_OUTAGE_CALLS {
            outage.note(Err(&away));
        }
        outage.note(Ok(()));
        assert!(!outage.covers(&away));
    }
}
