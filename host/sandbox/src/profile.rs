//! Which functions of a plugin use its fuel: stacks of calls that are interrupted thousands of times in a second.

use crate::engine::Sandbox;
use crate::json_call::JsonCallError;
use crate::plugin::Plugin;
use crate::profiler::{Profile, Profiler};
use boson_document::Tree;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
        let (done, ends) = (AtomicBool::new(false), Instant::now() + time);
        let mut calls = 0;
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    thread::sleep(SAMPLE_INTERVAL);
                    self.engine.increment_epoch();
                }
            });
            // Also if a call panics: the scope waits for the thread.
            let _end = End(&done);
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

/// Ends the thread that interrupts calls.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
