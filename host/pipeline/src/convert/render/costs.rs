//! The fuel that rendering uses, by job, added up over the instances. Fuel does not depend on time, so the messages are
//! the same on every machine.

use crate::convert::codes;
use crate::diagnostic::Diagnostic;

/// Fuel above which a job counts as slow, all its instances together: a tenth of the fuel of a conversion.
const SLOW_JOB_FUEL: u64 = 100_000_000_000;
/// Number of jobs that are named if a conversion runs out of fuel.
const MAX_NAMED_JOBS: usize = 3;
/// Code of a call that was not made or not completed because the conversion ran out of fuel.
const OUT_OF_FUEL_CODE: &str = "conversion-out-of-fuel";

/// The fuel that a job of an instance group used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost<'a> {
    pub group: &'a str,
    pub job: &'a str,
    pub instances: u32,
    /// Of all instances.
    pub fuel: u64,
}

/// The cost of each job, the most expensive first. `each`: of parts of its instances, in any order.
pub(super) fn by_job<'a>(each: impl Iterator<Item = Cost<'a>>) -> Vec<Cost<'a>> {
    let mut costs: Vec<Cost<'a>> = Vec::new();
    for one in each {
        match costs
            .iter_mut()
            .find(|cost| (cost.group, cost.job) == (one.group, one.job))
        {
            Some(cost) => {
                cost.instances += one.instances;
                cost.fuel = cost.fuel.saturating_add(one.fuel);
            }
            None => costs.push(one),
        }
    }
    costs.sort_by(|a, b| b.fuel.cmp(&a.fuel).then((a.group, a.job).cmp(&(b.group, b.job))));
    costs
}

/// Warnings about jobs whose templates take long.
pub(super) fn warnings(costs: &[Cost<'_>]) -> Vec<Diagnostic> {
    let slow = costs.iter().filter(|cost| cost.fuel >= SLOW_JOB_FUEL);
    let warning = |cost: &Cost<'_>| {
        Diagnostic::warning(codes::RENDER_SLOW, format!("Rendering {}", cost.described()))
            .help("every conversion takes as long; check what the job's templates compute")
    };
    slow.map(warning).collect()
}

/// The one error of a conversion that ran out of fuel, in place of one for each template that could not be rendered.
pub(super) fn out_of_fuel_error<'d>(
    mut reported: impl Iterator<Item = &'d Diagnostic>,
    costs: &[Cost<'_>],
) -> Option<Diagnostic> {
    let mut error = reported.find(|one| one.code == OUT_OF_FUEL_CODE)?.clone();
    let most_expensive: Vec<String> = costs.iter().take(MAX_NAMED_JOBS).map(Cost::described).collect();
    error.message = format!(
        "{}; most of it went into {}",
        error.message,
        most_expensive.join(", and into ")
    );
    error.place = crate::diagnostic::Place::default();
    Some(error)
}

// === impl Cost ===

impl Cost<'_> {
    fn described(&self) -> String {
        format!(
            "job '{}' of instance group '{}' ({} instance{} rendered, {} million units of fuel)",
            self.job,
            self.group,
            self.instances,
            if self.instances == 1 { "" } else { "s" },
            self.fuel / 1_000_000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost<'a>(group: &'a str, job: &'a str, fuel: u64) -> Cost<'a> {
        Cost {
            group,
            job,
            instances: 1,
            fuel,
        }
    }

    #[test]
    fn instances_of_a_job_are_added_up_and_the_most_expensive_job_comes_first() {
        let all = [
            cost("web", "a", 60_000_000_000),
            cost("db", "b", 1),
            cost("web", "a", 60_000_000_000),
        ];
        let costs = by_job(all.into_iter());
        assert_eq!(
            (costs[0].job, costs[0].instances, costs[0].fuel),
            ("a", 2, 120_000_000_000)
        );
        let warnings = warnings(&costs);
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0]
                .message
                .contains("job 'a' of instance group 'web' (2 instances"),
            "{}",
            warnings[0].message
        );
    }

    #[test]
    fn a_conversion_without_fuel_names_what_used_it() {
        let reported = [
            Diagnostic::reported_error("render-failed", "x"),
            Diagnostic::reported_error(OUT_OF_FUEL_CODE, "no fuel").in_document("t"),
        ];
        let error = out_of_fuel_error(reported.iter(), &[cost("web", "a", 7_000_000)]).unwrap();
        assert_eq!(
            error.message,
            "no fuel; most of it went into job 'a' of instance group 'web' (1 instance rendered, 7 million units of fuel)"
        );
        assert_eq!(error.place.document, None);
        assert_eq!(out_of_fuel_error(reported[..1].iter(), &[]), None);
    }
}
