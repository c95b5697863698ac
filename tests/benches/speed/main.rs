//! `make bench`: what the product promises about speed and size, measured, as one table. Prints and never fails on a slow machine: a time
//! depends on what else runs, so a limit in a test would only teach people to ignore it. Where two things are compared they run in turns.
//!
//! With `BEFORE=path/to/another/host` it is measured against that one, too.
//!
//! A word after `--` (`cargo bench --workspace --bench speed -- convert`) leaves out the rows whose group does not have that word.

mod first_run;
mod in_process;
mod measure;
mod names;
mod operator;
mod paired;
mod release_image;
mod site;
mod table;
mod whole_process;
mod wrapper;

use anyhow::Result;
use table::Row;

/// Groups of rows, in the order of the promises. Each makes its own inputs.
type Group = (&'static str, fn() -> Result<Vec<Row>>);

fn groups() -> Vec<Group> {
    vec![
        ("start", whole_process::start),
        ("instance", in_process::instance),
        ("overhead", in_process::overhead),
        ("render", in_process::render),
        ("batch", in_process::batch),
        ("batch-kernel", paired::kernel),
        ("interpolate", whole_process::interpolate),
        ("convert", whole_process::convert),
        ("image", release_image::time),
        ("image-memory", release_image::memory),
        ("first-run-keys", first_run::keys),
        ("first-run-mistake", first_run::mistake),
        ("paired", paired::paired),
        ("names", names::names),
        ("operator-apply", operator::apply),
        ("operator-idle", operator::idle),
        ("wrapper", wrapper::wrapper),
    ]
}

fn main() -> Result<()> {
    let word = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let chosen = groups()
        .into_iter()
        .filter(|(name, _)| word.as_ref().is_none_or(|word| name.contains(word.as_str())));
    // Processes first: the memory of a child counts from the size that this process has when it starts it.
    let mut measured: Vec<(usize, Vec<Row>)> = Vec::new();
    let (mut first, then): (Vec<_>, Vec<_>) = chosen.enumerate().partition(|(_, (name, _))| *name == "convert");
    first.extend(then);
    for (place, (_, measure)) in first {
        measured.push((place, measure()?));
    }
    measured.sort_by_key(|(place, _)| *place);
    let rows: Vec<Row> = measured.into_iter().flat_map(|(_, rows)| rows).collect();
    table::print(&rows);
    Ok(())
}
