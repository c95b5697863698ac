//! Resource usage of the process, with the metric names of Prometheus' own clients. Read at each scrape; on systems
//! without `/proc` all stay 0.

use super::Described;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks per second in `/proc/<pid>/stat`: a constant of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug, Default)]
pub(super) struct Process {
    cpu: Counter<f64, AtomicU64>,
    resident: Gauge,
    virtual_memory: Gauge,
    files: Gauge,
    most_files: Gauge,
    start: Gauge<f64, AtomicU64>,
}

/// Times from `/proc/self/stat`, in seconds.
#[derive(Debug, PartialEq)]
struct Times {
    cpu: f64,
    /// Start time since boot.
    start: f64,
}

// === impl Process ===

impl Process {
    pub(super) fn register(&self, registry: &mut Described) {
        let cpu = "Processor time of the operator, in seconds";
        registry.register_plain("process_cpu_seconds", cpu, self.cpu.clone());
        let resident = "Memory of the operator, in bytes";
        registry.register_plain("process_resident_memory_bytes", resident, self.resident.clone());
        let size = "Address space of the operator, in bytes; a large part is only reserved for plugins";
        registry.register_plain("process_virtual_memory_bytes", size, self.virtual_memory.clone());
        let files = "Open files and connections";
        registry.register_plain("process_open_fds", files, self.files.clone());
        let most = "Maximum number of open files and connections";
        registry.register_plain("process_max_fds", most, self.most_files.clone());
        let start = "Start time of the operator, in seconds since 1970";
        registry.register_plain("process_start_time_seconds", start, self.start.clone());
    }

    pub(super) fn update(&self) {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        if let Some(times) = times(&read("/proc/self/stat")) {
            self.cpu.inner().store(times.cpu.to_bits(), Ordering::Relaxed);
            let boot = number(&read("/proc/stat"), "btime").unwrap_or(0);
            self.start.set(boot as f64 + times.start);
        }
        let status = read("/proc/self/status");
        let kibibytes = |name| number(&status, name).unwrap_or(0).saturating_mul(1024);
        self.resident.set(kibibytes("VmRSS:"));
        self.virtual_memory.set(kibibytes("VmSize:"));
        let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        // Without the directory handle of this read.
        self.files
            .set(i64::try_from(open.saturating_sub(1)).unwrap_or(i64::MAX));
        self.most_files
            .set(number(&read("/proc/self/limits"), "Max open files").unwrap_or(0));
    }
}

/// The number after this word at the beginning of a line.
fn number(text: &str, word: &str) -> Option<i64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn times(stat: &str) -> Option<Times> {
    // The name of the program may hold anything, but ends with the last parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // The first of these is the third of proc(5): utime is 14, stime 15, starttime 22.
    let ticks = |number: usize| fields.get(number.checked_sub(3)?)?.parse::<u64>().ok();
    Some(Times {
        cpu: ticks(14)?.saturating_add(ticks(15)?) as f64 / TICKS_PER_SECOND,
        start: ticks(22)? as f64 / TICKS_PER_SECOND,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read_as_proc_5_has_them() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0 1000 1 1";
        assert_eq!(times(stat), Some(Times { cpu: 2.0, start: 10.0 }));
        assert_eq!(times("x"), None);
        assert_eq!(number("Name:\tx\nVmRSS:\t   12 kB\n", "VmRSS:"), Some(12));
        assert_eq!(
            number("Max open files            1024   4096   files", "Max open files"),
            Some(1024)
        );
    }
}
