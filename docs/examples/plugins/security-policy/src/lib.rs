//! A plugin of the stage `checks`: it reports pods with root or privileged containers, and Services that are reachable
//! from outside the cluster.

mod policy;

use boson_plugin::checks::{Checks, View};
use boson_plugin::types::{Context, Diagnostic, Place};
use boson_plugin::{Code, Plugin};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

struct SecurityPolicy;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Settings {
    /// Check init containers, too. As in BOSH, pre-start scripts run in them as root.
    init_containers: bool,
}

impl Plugin for SecurityPolicy {
    const NAME: &str = "security-policy";
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    const CODES: &[Code] = policy::CODES;
    type Settings = Settings;
}

impl Checks for SecurityPolicy {
    fn check(view: View, settings: Settings, _: Context) -> Vec<Diagnostic> {
        let objects = view.objects();
        objects
            .flat_map(|object| check_object(&object, settings.init_containers))
            .collect()
    }
}

boson_plugin::export!(checks: SecurityPolicy);

fn check_object(object: &Value, init_containers: bool) -> Vec<Diagnostic> {
    let diagnostic = |finding: policy::Finding| {
        Diagnostic::error(finding.code, finding.message)
            .at(Place::in_object(object, &finding.pointer))
            .help(finding.help)
    };
    policy::findings(object, init_containers)
        .into_iter()
        .map(diagnostic)
        .collect()
}
