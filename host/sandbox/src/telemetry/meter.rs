//! What gets the use of each call, for metrics.

use crate::limits::measures::Measures;
use crate::plugin::Plugin;
use boson_document::Code;

/// Gets what calls have used, on the thread that made them.
pub trait Meter: Send + Sync {
    /// A call has ended, with or without a reply. The measures of a wrapper include the rules that it called.
    fn called(&self, plugin: &Plugin, measures: &Measures);
    /// A call gave no reply that can be used. `code`: one of [`crate::CODES`].
    fn failed(&self, plugin: &Plugin, code: &'static Code);
}
