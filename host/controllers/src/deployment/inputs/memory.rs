//! The memory that inputs may use, as a share of the budget of all namespaces.

use crate::deployment::error::DeployError;
use crate::deployment::manifest::blocking;
use crate::deployment::reconcile::Reconcile;
use boson_budget::{Class, Share};
use std::sync::Arc;

/// Waits for a share of the budget, outside the threads of the runtime.
pub async fn reserve_memory(run: &Reconcile<'_>, class: Class, bytes: u64) -> Result<Share, DeployError> {
    let (budget, holder): (_, Arc<str>) = (run.context.conversion.budget.clone(), run.namespace.into());
    let share = blocking(move || budget.hold(class, &holder, bytes)).await?;
    share.map_err(|error| DeployError::Waiting(format!("memory: {error}")))
}
