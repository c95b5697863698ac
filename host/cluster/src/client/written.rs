//! Records the writes of a piece of work: the snapshot after a conversion must include its own writes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use std::future::Future;
use std::sync::Arc;

/// A write that succeeded.
#[derive(Clone, Debug)]
pub struct Written {
    pub kind: String,
    pub name: String,
    /// Its metadata since then; none: it was deleted.
    pub now: Option<ObjectMeta>,
}

type Book = Arc<Mutex<Vec<Written>>>;

tokio::task_local! {
    static BOOK: Book;
}

/// Runs the work; also returns its writes, in order.
pub async fn during<F: Future>(work: F) -> (F::Output, Vec<Written>) {
    let book = Book::default();
    let result = BOOK.scope(book.clone(), work).await;
    let written = std::mem::take(&mut *book.lock());
    (result, written)
}

/// Whether the work has written anything so far, apart from events.
pub fn any() -> bool {
    let any = BOOK.try_with(|book| book.lock().iter().any(|one| one.kind != "Event"));
    any.unwrap_or(false)
}

/// Records a write, if the caller runs in [`during`].
pub(super) fn note(kind: &str, name: &str, now: Option<ObjectMeta>) {
    // An error means that no caller records writes.
    let _ = BOOK.try_with(|book| {
        let mut book = book.lock();
        book.push(Written {
            kind: kind.into(),
            name: name.into(),
            now,
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_writes_of_the_work_are_returned() {
        note("Secret", "before", None);
        let work = async {
            note("Event", "e", Some(ObjectMeta::default()));
            assert!(!any(), "an event tells of a write");
            note("Secret", "a", Some(ObjectMeta::default()));
            assert!(any());
        };
        let ((), written) = during(work).await;
        note("Secret", "after", None);
        assert!(!any());
        let names: Vec<_> = written.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["e", "a"]);
        assert!(written[1].now.is_some());
    }
}
