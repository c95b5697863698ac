//! How close calls come to their limits.

use boson_pipeline::report::clean;
use boson_sandbox::{Limits, Measures};
use std::fmt;

/// The call that used most of each limit.
#[derive(Debug, Default)]
pub struct Headroom {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    limit: &'static str,
    /// 1: all of it.
    share: f64,
    call: String,
}

// === impl Headroom ===

impl Headroom {
    /// Adds a call. `size`: bytes of its reply.
    pub fn add(&mut self, call: &str, measures: &Measures, size: usize, limits: &Limits) {
        let shares = [
            ("fuel", measures.fuel as f64 / limits.fuel as f64),
            ("memory", measures.memory as f64 / limits.memory as f64),
            ("time", measures.elapsed.as_secs_f64() / limits.deadline.as_secs_f64()),
            ("output", size as f64 / limits.output as f64),
        ];
        for (limit, share) in shares {
            let call = call.to_string();
            match self.rows.iter_mut().find(|row| row.limit == limit) {
                Some(row) if row.share >= share => {}
                Some(row) => *row = Row { limit, share, call },
                None => self.rows.push(Row { limit, share, call }),
            }
        }
    }
}

impl fmt::Display for Headroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "highest use of each limit of a call:")?;
        for Row { limit, share, call } in &self.rows {
            writeln!(f, "  {limit:<8} {:7.3} %  {}", 100.0 * share, clean::line(call))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_highest_share_of_each_limit_counts() {
        let limits = Limits::default();
        let call = |fuel: u64, memory: usize| Measures {
            fuel,
            memory,
            elapsed: Duration::from_secs(3),
        };
        let mut headroom = Headroom::default();
        headroom.add("a", &call(limits.fuel / 4, limits.memory / 100), 0, &limits);
        headroom.add("b", &call(limits.fuel / 8, limits.memory / 10), 0, &limits);
        let text = headroom.to_string();
        assert!(
            text.contains("  fuel      25.000 %  a\n  memory    10.000 %  b\n  time       5.000 %  a\n"),
            "{text}"
        );
    }
}
