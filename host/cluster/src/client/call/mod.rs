//! One call with its retries. Only reading its answer is generic: with kube's future of each kind and verb, there were
//! 182 copies of the rest.

mod error;
mod outage;
mod retry;

pub(super) use error::Subject;
pub use error::{Error, ErrorKind};
pub(crate) use outage::Outage;

use super::{Cluster, Verb, written};
use crate::metrics::ApiCall;
use futures::future::BoxFuture;
use hyper::Request;
use kube::core::request::Error as RequestError;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::time::{Duration, Instant};

/// A request, if its parameters are valid.
pub(super) type Built = Result<Request<Vec<u8>>, RequestError>;

/// An answer that is no error.
struct Answer {
    text: String,
    took: Duration,
}

// === impl Cluster ===

impl Cluster {
    /// Like [`Cluster::call`]. A missing object is no error.
    pub(super) async fn find<T: DeserializeOwned>(
        &self,
        subject: &Subject,
        name: &str,
        request: Built,
    ) -> Result<Option<T>, Error> {
        match self.call(subject, Verb::Get, name, request).await {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// Deletes. A missing object is no error.
    pub(super) async fn deleted(&self, subject: &Subject, name: &str, request: Built) -> Result<(), Error> {
        match self.call(subject, Verb::Delete, name, request).await {
            Ok(IgnoredAny) => {
                written::note(&subject.kind, name, None);
                Ok(())
            }
            Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// One call with its retries.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        subject: &Subject,
        verb: Verb,
        name: &str,
        request: Built,
    ) -> Result<T, Error> {
        let answer = self.answer(subject, verb, name, request).await?;
        let read =
            serde_json::from_str(&answer.text).map_err(|_| Error::of(subject, verb, name, ErrorKind::Unreadable));
        self.count(subject, verb, read.as_ref().err(), answer.took);
        read
    }

    /// Counts the tries that failed, and leaves the answer to the caller. Boxed, so that it is compiled only here.
    fn answer<'c>(
        &'c self,
        subject: &'c Subject,
        verb: Verb,
        name: &'c str,
        request: Built,
    ) -> BoxFuture<'c, Result<Answer, Error>> {
        Box::pin(async move {
            let of_kube = |error| Error::from_kube(subject, verb, name, &error);
            let request = request.map_err(|error| of_kube(kube::Error::BuildRequest(error)))?;
            let mut tries = 0;
            loop {
                let began = Instant::now();
                let answer = self.client.request_text(request.clone());
                let result = match tokio::time::timeout(self.answer, answer).await {
                    Ok(answer) => answer.map_err(of_kube),
                    Err(_) => Err(Error::of(subject, verb, name, ErrorKind::NoAnswer(self.answer))),
                };
                let took = began.elapsed();
                self.outage.note(result.as_ref().map(drop));
                let error = match result {
                    Ok(text) => return Ok(Answer { text, took }),
                    Err(error) => error,
                };
                self.count(subject, verb, Some(&error), took);
                let Some(pause) = retry::pause(&error.kind, tries) else {
                    return Err(error);
                };
                tracing::debug!(
                    verb = verb.as_str(),
                    kind = error.object_kind,
                    fault = error.kind.word(),
                    "tried again"
                );
                tokio::time::sleep(pause).await;
                tries += 1;
            }
        })
    }

    fn count(&self, subject: &Subject, verb: Verb, error: Option<&Error>, took: Duration) {
        let outcome = match error.map(|error| &error.kind) {
            None => "ok",
            // That the object is missing is what was asked.
            Some(ErrorKind::NotFound) if verb == Verb::Get => "ok",
            Some(kind) => kind.word(),
        };
        let call = ApiCall {
            verb: verb.as_str(),
            kind: subject.kind.clone(),
            outcome,
        };
        self.metrics.api_calls.get_or_create(&call).inc();
        self.metrics.api_seconds.observe(took.as_secs_f64());
    }
}

pub(super) fn body(object: &impl Serialize) -> Result<Vec<u8>, RequestError> {
    serde_json::to_vec(object).map_err(RequestError::SerializeBody)
}
