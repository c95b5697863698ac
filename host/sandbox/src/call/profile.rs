//! Which functions of a plugin use its fuel: stacks of calls that are interrupted thousands of times in a second.

use crate::call::json_call::JsonCallError;
use crate::engine::Sandbox;
use crate::plugin::Plugin;
use crate::telemetry::profiler::{Profile, Profiler};
use boson_document::Tree;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between interruptions.
const SAMPLE_INTERVAL: Duration = Duration::from_micros(100);

// === impl Sandbox ===

impl Sandbox {
    /// Repeats a call for this time.
    ///
    /// # Errors
    /// As [`Sandbox::call_json`], for any of the calls.
    pub fn profile(
        &self,
        plugin: &Plugin,
        function: &str,
        arguments: &Tree,
        time: Duration,
    ) -> Result<Profile, JsonCallError> {
        let profiler = Arc::new(Profiler::default());
        let sandbox = Self {
            profiler: Some(profiler.clone()),
            // It prints the same in each call.
            console: None,
            ..self.clone()
        };
        let ends = Instant::now() + time;
        let mut calls = 0;
        let (running, ended) = mpsc::channel::<()>();
        let result = thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(SAMPLE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    self.engine.increment_epoch();
                }
            });
            // Dropped also if a call panics: the scope waits for the thread.
            let _running = running;
            let mut result = Ok(());
            while result.is_ok() && (calls == 0 || Instant::now() < ends) {
                result = sandbox.call_json(plugin, function, arguments).map(drop);
                calls += 1;
            }
            result
        });
        result.map(|()| profiler.profile(calls))
    }
}
