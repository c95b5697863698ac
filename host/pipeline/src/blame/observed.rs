//! Stages that remember what the plugins of `bpm` and `resources` got and returned.

use crate::author::Author;
use crate::schema::SettingsError;
use crate::stage::{Answer, Call, GroupRequest, GroupSummary, PluginInfo, PluginRef, Reply, Stage, Stages};
use boson_document::Tree;
use parking_lot::Mutex;

/// Stages that remember calls. An additional check, which reports nothing, sees the final objects.
pub struct Observed<'s> {
    stages: &'s dyn Stages,
    calls: Mutex<Calls>,
}

/// What was called.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// One for each instance group.
    pub groups: Vec<GroupCall>,
    /// The objects of the deployment itself.
    pub of_deployment: Vec<Tree>,
    /// The plugins of `resources`, each with the objects before it.
    pub transforms: Vec<(Author, Vec<Tree>)>,
    /// The groups that they see.
    pub summaries: Vec<GroupSummary>,
    /// The objects after all of them.
    pub last: Vec<Tree>,
}

/// A call of bpm.convert-group.
#[derive(Clone, Debug)]
pub struct GroupCall {
    pub request: GroupRequest,
    pub objects: Vec<Tree>,
}

// === impl Observed ===

impl<'s> Observed<'s> {
    pub fn new(stages: &'s dyn Stages) -> Self {
        Self {
            stages,
            calls: Mutex::default(),
        }
    }

    pub fn into_calls(self) -> Calls {
        self.calls.into_inner()
    }
}

impl Stages for Observed<'_> {
    fn call(&self, call: Call<'_>) -> Reply<Answer> {
        match call {
            Call::Transform(hook) => {
                let author = self.stages.author(call.plugin());
                let mut calls = self.calls.lock();
                calls.transforms.push((author, hook.view.objects.to_vec()));
                calls.summaries = hook.view.groups.to_vec();
            }
            Call::Check(hook) if self.stages.info(call.plugin()).is_none() => {
                self.calls.lock().last = hook.view.objects.to_vec();
                return Ok((Answer::Checked(()), Vec::new()));
            }
            _ => {}
        }
        let reply = self.stages.call(call);
        if let Ok((Answer::Objects(objects), _)) = &reply {
            match call {
                Call::ConvertGroup(request) => self.calls.lock().groups.push(GroupCall {
                    request: request.clone(),
                    objects: objects.clone(),
                }),
                _ => self.calls.lock().of_deployment.clone_from(objects),
            }
        }
        reply
    }

    fn info(&self, plugin: PluginRef<'_>) -> Option<PluginInfo> {
        let is_additional = || plugin == self.stages.end(Stage::Checks);
        let info = self.stages.info(plugin);
        info.or_else(|| is_additional().then(|| PluginInfo::built_in(Stage::Checks)))
    }

    fn spent_here(&self) -> u64 {
        self.stages.spent_here()
    }

    fn check_properties(&self, schema: &Tree, properties: &Tree) -> Result<Vec<SettingsError>, String> {
        self.stages.check_properties(schema, properties)
    }
}
