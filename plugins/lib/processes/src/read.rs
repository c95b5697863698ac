//! The processes of one rendering of a job.

use crate::{Findings, Kind, Process, capabilities, decode, merge, monit, rules};
use boson_document::{Place, Tree};
use std::collections::{HashMap, HashSet};

/// The job property `quarks.bpm`.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    tree: &'a Tree,
    processes: Vec<(Process, Place)>,
}

// === impl Given ===

impl<'a> Given<'a> {
    /// Reads it, and reports its errors once for all renderings.
    pub fn read(tree: &'a Tree, place: &Place, findings: &mut Findings) -> Self {
        Self {
            tree,
            processes: decode::document(tree, place, findings),
        }
    }
}

/// The processes of a job, each with the place that describes it: where its rendered form is, else that of the
/// property.
///
/// `rendered`: the content of bpm.yml, or [`of_monit`], or null where the job has neither; `document`: its name.
pub fn read(
    job: &str,
    rendered: &Tree,
    document: &str,
    given: Option<&Given<'_>>,
    findings: &mut Findings,
) -> Vec<Process> {
    let expanded = rendered
        .str(monit::MARK)
        .map(|text| monit::document(text, document, findings));
    let rendered = expanded.as_ref().unwrap_or(rendered);
    let own = decode::document(rendered, &Place::new(document, ""), findings);
    let merged = merge::over(rendered, given.map(|given| given.tree));
    // Both parts were checked above, with their places.
    let both = decode::document(&merged, &Place::default(), &mut Findings::default());
    let by_name: HashMap<&str, &Place> = given
        .iter()
        .flat_map(|given| &given.processes)
        .map(|(process, place)| (process.name.as_str(), place))
        .collect();
    let of = |index: usize, process: &Process| match own.get(index) {
        Some((_, place)) => place.clone(),
        None => by_name
            .get(process.name.as_str())
            .map_or_else(Place::default, |place| (*place).clone()),
    };
    let numbered = both.into_iter().enumerate();
    let placed = numbered.map(|(index, (process, _))| Process {
        place: of(index, &process),
        ..process
    });
    let known = placed.map(|process| {
        rules::check(&process, job, &process.place, findings);
        capabilities::known(process, findings)
    });
    known.collect()
}

/// The document for a job that runs by its rendered monit file, in place of bpm.yml.
pub fn of_monit(text: &str) -> Tree {
    Tree::object().with(monit::MARK, text)
}

/// BPM takes the first process of a name.
pub fn unique(processes: &[Process], findings: &mut Findings) -> Vec<Process> {
    let mut names = HashSet::new();
    let mut out = Vec::new();
    for process in processes {
        if names.insert(process.name.as_str()) {
            out.push(process.clone());
        } else {
            let text = format!("Process '{}' is given twice: the second has no effect", process.name);
            findings.add(Kind::Ignored, &process.place, text);
        }
    }
    out
}
