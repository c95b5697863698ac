//! What is wrong with a description of processes, as data: conversion and pod have different codes and diagnostics.

use boson_document::{Place, closest};

/// What kind of finding it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// BPM would refuse the file.
    Schema,
    /// A name or path holds the pod's address, which is not known when the pod is made.
    PodIp,
    /// A key, or a process, without effect. Not an error.
    Ignored,
    /// A monit file does not say how to run a process.
    Monit,
    /// A statement of a monit file without effect. Not an error.
    MonitIgnored,
}

/// One message to the user. Never contains a value of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: Kind,
    pub place: Place,
    /// One sentence.
    pub message: String,
    /// The known name that is closest to an unknown one.
    pub near: Option<&'static str>,
}

/// Collects findings, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(pub Vec<Finding>);

// === impl Kind ===

impl Kind {
    /// Whether the processes cannot run because of it.
    pub fn is_error(self) -> bool {
        !matches!(self, Self::Ignored | Self::MonitIgnored)
    }
}

// === impl Findings ===

impl Findings {
    pub fn add(&mut self, kind: Kind, place: &Place, message: impl Into<String>) {
        self.0.push(Finding {
            kind,
            place: place.clone(),
            message: message.into(),
            near: None,
        });
    }

    /// Adds one about a name that is not among the known `names`.
    pub fn unknown(&mut self, kind: Kind, place: &Place, message: String, name: &str, names: &[&'static str]) {
        self.0.push(Finding {
            kind,
            place: place.clone(),
            message,
            near: closest(name, names.iter().copied()),
        });
    }
}
