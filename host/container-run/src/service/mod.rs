//! What a container runs, behind one interface: a process as BPM starts and stops it, or one that has a monit file
//! only.

pub mod bpm;
pub mod monit;

use std::time::Instant;

use rustix::process::{Pid, Signal};

use crate::children::Ended;
use crate::error::Result;
use crate::events::Events;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Starting,
    /// It runs, with this process ID.
    Running(Pid),
    /// It has ended, with this status.
    Ended(u8),
}

/// Something that starts, runs and stops.
pub trait Service {
    /// Begins to start it.
    fn start(&mut self, events: &mut Events) -> Result<()>;
    /// Begins to stop it.
    fn stop(&mut self, events: &mut Events) -> Result<()>;
    /// A child has ended: perhaps its own.
    fn ended(&mut self, ended: Ended, events: &mut Events) -> Result<()>;
    /// Does what has become due.
    fn tick(&mut self);
    fn deadline(&self) -> Option<Instant>;
    fn signal(&self, signal: Signal);
    fn phase(&self) -> Phase;
    /// Removes what it left, after its end.
    fn clean(&self);
}
