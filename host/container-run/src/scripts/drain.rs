//! The protocol of drain scripts: a script prints the number of seconds to wait. After a negative number, the script is
//! called again.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done after this time.
    Done(Duration),
    /// The script is called again after this time.
    Again(Duration),
}

/// How a drain script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Shutdown,
    /// After the script asked to be called again.
    CheckStatus,
}

// === impl Call ===

impl Call {
    pub fn arguments(self) -> [&'static str; 2] {
        match self {
            Self::Shutdown => ["job_shutdown", "hash_unchanged"],
            Self::CheckStatus => ["job_check_status", "hash_unchanged"],
        }
    }

    /// Its variables: a status check gets no next state.
    pub fn variables(self, persistent_disk: u64) -> Vec<(&'static str, String)> {
        let state = format!("{{\"persistent_disk\":{persistent_disk}}}");
        match self {
            Self::Shutdown => vec![("BOSH_JOB_STATE", state.clone()), ("BOSH_JOB_NEXT_STATE", state)],
            Self::CheckStatus => vec![("BOSH_JOB_STATE", state)],
        }
    }
}

/// Reads what a script printed; its exit status means nothing.
pub fn answer(output: &[u8]) -> Option<Answer> {
    let seconds: i64 = std::str::from_utf8(output).ok()?.trim().parse().ok()?;
    let wait = Duration::from_secs(seconds.unsigned_abs());
    Some(if seconds < 0 {
        Answer::Again(wait)
    } else {
        Answer::Done(wait)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_signed_integer_is_an_answer() {
        for (output, expected) in [
            ("0\n", Some(Answer::Done(Duration::ZERO))),
            (" 5 ", Some(Answer::Done(Duration::from_secs(5)))),
            ("+5", Some(Answer::Done(Duration::from_secs(5)))),
            ("-5\n", Some(Answer::Again(Duration::from_secs(5)))),
            ("", None),
            ("1 2", None),
            ("done", None),
            ("1.5", None),
        ] {
            assert_eq!(answer(output.as_bytes()), expected, "{output:?}");
        }
    }

    #[test]
    fn a_check_knows_no_next_state() {
        let names = |call: Call| call.variables(0).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(Call::Shutdown), ["BOSH_JOB_STATE", "BOSH_JOB_NEXT_STATE"]);
        assert_eq!(names(Call::CheckStatus), ["BOSH_JOB_STATE"]);
        assert_eq!(Call::Shutdown.variables(1024)[0].1, r#"{"persistent_disk":1024}"#);
    }
}
