//! A job's `dns/handlers.json`: servers for domains of DNS, which the DNS server of the pod reads. It does not start
//! with a faulty file, so the conversion reports it.

use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use crate::release::Job;
use crate::stage::Rendered;
use boson_manifest::dns::{HANDLER_FILE, Handler};

/// An error if the file is among the rendered ones and faulty.
pub(super) fn error(files: &[Rendered], job: &Job) -> Option<Diagnostic> {
    let name = job.template_at(HANDLER_FILE)?;
    let file = files.iter().find(|file| file.name == name)?;
    let why = Handler::file(&file.content).err()?;
    let message = format!("the file of handlers cannot be used: {why}");
    Some(Diagnostic::error(codes::CONVERT_DNS_HANDLERS, message).in_document(&file.name))
}
