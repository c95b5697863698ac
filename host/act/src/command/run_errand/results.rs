//! The results of an errand, as BOSH prints them. Pure.

use boson_look::table::{Cell, Table};

const HEADER: [&str; 4] = ["Instance", "Exit Code", "Stdout", "Stderr"];
/// BOSH reports a greater exit code as that of an errand that was canceled: a signal has ended it.
const MAX_OWN_EXIT_CODE: i32 = 128;
/// In place of a log that was shown.
const SEE_ABOVE: &str = "see above";
/// In the note of a table without a run, as in BOSH.
pub const SKIPPED_NOTE: &str = "skipped - no changes detected";

/// What an errand did on an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceResult {
    /// `GROUP/INDEX`.
    pub instance: String,
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The table of results. `was_read`: the logs are on the same terminal already.
pub fn table(ran: &[InstanceResult], was_read: bool) -> Table {
    let log = |text: &str| -> Cell {
        let is_repeated = was_read && !text.is_empty();
        if is_repeated { SEE_ABOVE } else { text }.into()
    };
    let row = |one: &InstanceResult| -> Vec<Cell> {
        vec![
            one.instance.as_str().into(),
            Cell::state(one.exit_code.to_string(), one.exit_code == 0),
            log(&one.stdout),
            log(&one.stderr),
        ]
    };
    Table::new("errand(s)", &HEADER, ran.iter().map(row).collect())
}

/// Why an errand was no success, in BOSH's words. `why`: in the operator's words.
pub fn failure(errand: &str, ran: &[InstanceResult], why: Option<String>) -> Option<String> {
    let code = ran.iter().map(|one| one.exit_code).filter(|code| *code != 0).max();
    let (what, why) = match code {
        // Such as the lack of memory.
        Some(code) if code > MAX_OWN_EXIT_CODE => (format!("was canceled (exit code {code})"), why),
        Some(code) => (format!("completed with error (exit code {code})"), None),
        None => ("failed".to_string(), Some(why?)),
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!("Errand '{errand}' {what}{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_exit_code_decides() {
        let failed = |codes: &[i32], why: Option<&str>| -> Option<String> {
            let ran = |code: &i32| InstanceResult {
                exit_code: *code,
                ..InstanceResult::default()
            };
            let ran: Vec<InstanceResult> = codes.iter().map(ran).collect();
            failure("smoke", &ran, why.map(str::to_string))
        };
        assert_eq!(failed(&[], None), None);
        assert_eq!(failed(&[0, 0], None), None);
        let wanted = "Errand 'smoke' completed with error (exit code 3)";
        assert_eq!(failed(&[0, 3, 1], Some("code 3")).unwrap(), wanted);
        let wanted = "Errand 'smoke' was canceled (exit code 137): out of memory";
        assert_eq!(failed(&[3, 137], Some("out of memory")).unwrap(), wanted);
        assert_eq!(failed(&[], Some("no pod")).unwrap(), "Errand 'smoke' failed: no pod");
    }

    #[test]
    fn a_log_is_not_shown_twice() {
        let ran = InstanceResult {
            instance: "smoke/0".into(),
            stdout: "ok\n".into(),
            ..InstanceResult::default()
        };
        let cells = |was_read: bool| table(std::slice::from_ref(&ran), was_read).rows;
        let row = |stdout: &str| vec!["smoke/0".into(), Cell::state("0", true), stdout.into(), "".into()];
        assert_eq!(cells(false), [row("ok\n")]);
        assert_eq!(cells(true), [row("see above")]);
    }
}
