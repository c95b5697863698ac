//! The step that checks the objects that plugins made, and lets the plugins of the stage `resources` change them.

use crate::bundle::Bundle;
use crate::bundle::privileges::GrantedPrivileges;
use crate::diagnostic::Diagnostic;
use crate::plain::active;
use crate::stage::{Deployment, Stage, StageError, Stages};
use boson_document::Tree;

/// Runs the plugins in order, each on the result of the one before. Warnings are added to `reported`, also if the step
/// fails.
///
/// # Errors
/// Objects that a plugin must not make; errors of the stage.
pub fn transform(
    stages: &dyn Stages,
    deployment: &Deployment,
    objects: Vec<Tree>,
    granted: GrantedPrivileges,
    reported: &mut Vec<Diagnostic>,
) -> Result<Vec<Tree>, Vec<Diagnostic>> {
    let mut bundle = Bundle::with_privileges(deployment, granted);
    bundle.add(objects, &stages.called(Stage::Bpm, 0))?;
    for nth in 0..stages.transforms() {
        let reply = stages.transform(nth, deployment, bundle.objects());
        let (edits, notes) = reply.map_err(StageError::into_diagnostics)?;
        reported.extend(notes);
        reported.extend(bundle.edit(edits, &stages.called(Stage::Resources, nth))?);
    }
    let mut objects = bundle.into_objects();
    reported.extend(active::lead_to_all(&mut objects));
    Ok(objects)
}
