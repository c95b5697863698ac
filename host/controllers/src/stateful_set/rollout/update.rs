//! The update block of an instance group, which the conversion writes as annotations.

use super::Rule;
use boson_cluster::client::AnyObject;
use boson_manifest::labels;
use k8s_openapi::jiff::SignedDuration;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Count {
    Number(usize),
    /// Of the instances of the zone, rounded down.
    Percent(usize),
}

/// How long an instance may take to become ready, from the start of its containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct WatchTime {
    /// Before this time, no answer of a readiness probe counts.
    pub min: SignedDuration,
    /// After this time, the update of the instance has failed.
    pub max: SignedDuration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Update {
    pub canaries: Count,
    pub max_in_flight: Count,
    pub canary_watch_time: WatchTime,
    pub update_watch_time: WatchTime,
    /// A rule that does not apply.
    pub waived: Option<Rule>,
    /// The position of an instance whose failed update counts as done.
    pub accepted: Option<usize>,
}

/// Time within which the containers of a pod must start, if the watch time is shorter: it counts from their start, and
/// images are pulled before.
const START_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// What applies without a watch time: the deadline of a Deployment's progress.
const DEFAULT_WATCH_TIME: WatchTime = WatchTime {
    min: SignedDuration::ZERO,
    max: SignedDuration::from_mins(10),
};

// === impl Count ===

impl Count {
    fn of(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(Self::Percent),
            None => text.parse().ok().map(Self::Number),
        }
    }

    /// The number among so many instances.
    pub fn among(self, instances: usize) -> usize {
        match self {
            Self::Number(number) => number.min(instances),
            Self::Percent(percent) => (percent.saturating_mul(instances) / 100).min(instances),
        }
    }
}

// === impl WatchTime ===

impl WatchTime {
    /// `N` or `N-M` milliseconds. A single number is the end.
    fn of(text: &str) -> Option<Self> {
        let (min, max) = text.split_once('-').unwrap_or(("0", text));
        let time = |text: &str| Some(SignedDuration::from_millis(text.parse().ok()?));
        Some(Self {
            min: time(min)?,
            max: time(max)?,
        })
    }

    /// After this time from its creation, an instance whose containers have not started has failed.
    pub fn start_limit(self) -> SignedDuration {
        self.max.max(START_TIMEOUT)
    }
}

// === impl Update ===

impl Update {
    /// Reads the annotations of these StatefulSets, which all have the same. `max_in_flight`: what applies if there is
    /// no limit.
    pub fn of(wanted: &[Value], max_in_flight: Count) -> Self {
        let annotation = |key| wanted.first().and_then(|one| one.annotation(key));
        let count = |key| annotation(key).and_then(Count::of);
        let watch_time = |key| annotation(key).and_then(WatchTime::of);
        Self {
            canaries: count(labels::CANARIES).unwrap_or(Count::Number(0)),
            max_in_flight: count(labels::MAX_IN_FLIGHT).unwrap_or(max_in_flight),
            canary_watch_time: watch_time(labels::CANARY_WATCH_TIME).unwrap_or(DEFAULT_WATCH_TIME),
            update_watch_time: watch_time(labels::UPDATE_WATCH_TIME).unwrap_or(DEFAULT_WATCH_TIME),
            waived: None,
            accepted: None,
        }
    }

    #[must_use]
    pub fn without(mut self, rule: Option<Rule>) -> Self {
        if rule == Some(Rule::MaxInFlight) {
            self.max_in_flight = Count::Percent(100);
        }
        self.waived = rule;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn annotations_are_read_as_the_conversion_writes_them() {
        let annotations = json!({
            labels::CANARIES: "50%",
            labels::MAX_IN_FLIGHT: "3",
            labels::CANARY_WATCH_TIME: "30000-1200000",
            labels::UPDATE_WATCH_TIME: "5000",
        });
        let update = Update::of(&[json!({"metadata": {"annotations": annotations}})], Count::Number(1));
        let time = |min, max| WatchTime {
            min: SignedDuration::from_secs(min),
            max: SignedDuration::from_secs(max),
        };
        let expected = Update {
            canaries: Count::Percent(50),
            max_in_flight: Count::Number(3),
            canary_watch_time: time(30, 1200),
            update_watch_time: time(0, 5),
            waived: None,
            accepted: None,
        };
        assert_eq!(update, expected);
        let none = Update::of(&[], Count::Percent(100));
        assert_eq!(
            (none.canaries, none.max_in_flight),
            (Count::Number(0), Count::Percent(100))
        );
    }

    #[test]
    fn a_percentage_is_rounded_down_and_a_number_is_limited_by_the_instances() {
        let among = [
            (Count::Percent(50), 5, 2),
            (Count::Percent(10), 5, 0),
            (Count::Percent(300), 5, 5),
            (Count::Number(7), 5, 5),
        ];
        for (count, instances, expected) in among {
            assert_eq!(count.among(instances), expected, "{count:?}");
        }
    }
}
