//! Plugins for pods: each pod renders its templates again, with the same plugin as the conversion. The plugin comes
//! from mounted ConfigMaps, whichever plugin created the pod.

use crate::stage::Stage;
use boson_document::Tree;

/// The init container that renders templates.
const RENDERER_CONTAINER: &str = "template-render";
/// Mount point of the plugins, with a folder for each stage.
const PLUGINS_FOLDER: &str = "/var/run/boson/plugins";
pub const SETTINGS_FILE: &str = "settings.json";
/// A directory of the pod that the renderer may write to: the sandbox compiles there.
const SCRATCH_FOLDER: &str = "/var/vcap/all-releases";

/// A plugin for pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodPlugin {
    pub stage: Stage,
    pub name: String,
    /// Its number among the plugins of its stage, from 0: a rule may have wrappers.
    pub nth: usize,
    /// ConfigMaps that hold the files of [`crate::packed`] and [`SETTINGS_FILE`].
    pub config_maps: Vec<String>,
    /// Whether they hold a component. If not, they hold only settings for the built-in plugin.
    pub component: bool,
    /// The instance groups that a wrapper is for; none: all.
    pub groups: Option<Vec<String>>,
}

// === impl PodPlugin ===

impl PodPlugin {
    /// Arguments for a command in the pod.
    pub fn arguments(&self) -> Vec<String> {
        let (stage, folder) = (self.stage, self.folder());
        let settings = "--plugin-settings".to_string();
        if !self.component {
            return vec![settings, format!("{stage}={folder}/{SETTINGS_FILE}")];
        }
        let name = &self.name;
        let mut arguments = vec![
            "--plugin".into(),
            format!("{stage}:{name}={folder}"),
            settings,
            format!("{stage}:{name}={folder}/{SETTINGS_FILE}"),
        ];
        if let Some(groups) = &self.groups {
            arguments.push("--plugin-instance-groups".into());
            arguments.push(format!("{stage}:{name}={}", groups.join(",")));
        }
        arguments
    }

    /// The plugin for pods of this instance group only; none if it is for others. Groups that it is for do not appear
    /// in the pods, so that a change of the list restarts only pods of groups that it adds or removes.
    fn for_group(&self, group: Option<&str>) -> Option<Self> {
        let serves = |groups: &Vec<String>| group.is_some_and(|group| groups.iter().any(|one| one == group));
        self.groups.as_ref().is_none_or(serves).then(|| Self {
            groups: None,
            ..self.clone()
        })
    }

    pub fn volume(&self) -> Tree {
        let source = |name: &String| {
            let map = Tree::object().with("name", name.as_str());
            Tree::object().with("configMap", map)
        };
        let sources: Vec<Tree> = self.config_maps.iter().map(source).collect();
        Tree::object()
            .with("name", self.volume_name())
            .with("projected", Tree::object().with("sources", Tree::Array(sources)))
    }

    /// The container's mount of it.
    pub fn mount(&self) -> Tree {
        Tree::object()
            .with("name", self.volume_name())
            .with("mountPath", self.folder())
            .with("readOnly", Tree::Bool(true))
    }

    fn volume_name(&self) -> String {
        format!("plugin-{}", self.numbered())
    }

    fn folder(&self) -> String {
        format!("{PLUGINS_FOLDER}/{}", self.numbered())
    }

    fn numbered(&self) -> String {
        match self.nth {
            0 => self.stage.to_string(),
            nth => format!("{}-{}", self.stage, nth + 1),
        }
    }
}

/// Mounts the plugins in every pod of these objects that renders templates. `group`: the instance group of the objects.
pub fn mount_in_pods(objects: &mut [Tree], group: Option<&str>, plugins: &[PodPlugin]) {
    let rendering = plugins.iter().filter(|plugin| plugin.stage == Stage::Render);
    let plugins: Vec<PodPlugin> = rendering.filter_map(|plugin| plugin.for_group(group)).collect();
    if !plugins.is_empty() {
        objects.iter_mut().for_each(|object| pods(object, &plugins));
    }
}

/// Finds pods by their shape, so that every kind with a pod template is covered.
fn pods(tree: &mut Tree, plugins: &[PodPlugin]) {
    pod(tree, plugins);
    match tree {
        Tree::Object(map) => map.values_mut().for_each(|value| pods(value, plugins)),
        Tree::Array(items) => items.iter_mut().for_each(|item| pods(item, plugins)),
        _ => {}
    }
}

fn pod(pod: &mut Tree, plugins: &[PodPlugin]) {
    let mut containers = pod.items_mut("initContainers").iter_mut();
    let Some(renderer) = containers.find(|one| one.str("name") == Some(RENDERER_CONTAINER)) else {
        return;
    };
    for plugin in plugins {
        extend(renderer, "args", plugin.arguments().into_iter().map(Tree::from));
        extend(renderer, "volumeMounts", [plugin.mount()]);
    }
    let scratch = Tree::object().with("name", "TMPDIR").with("value", SCRATCH_FOLDER);
    extend(renderer, "env", [scratch]);
    extend(pod, "volumes", plugins.iter().map(PodPlugin::volume));
}

fn extend(object: &mut Tree, list: &str, items: impl IntoIterator<Item = Tree>) {
    let mut all = object.items(list).to_vec();
    all.extend(items);
    object.set(list, Tree::Array(all));
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn the_renderer_gets_the_plugin_and_no_other_container_does() {
        let object = r#"{"kind": "QuarksStatefulSet", "spec": {"template": {"spec": {"template": {"spec": {
            "initContainers": [{"name": "spec-copier-a"}, {"name": "template-render", "env": [{"name": "A"}], "command": ["host"]}],
            "containers": [{"name": "app"}], "volumes": [{"name": "jobs-dir"}]}}}}}}"#;
        let mut objects = [
            json::parse(object).unwrap(),
            json::parse(r#"{"kind": "Service"}"#).unwrap(),
        ];
        let plugin = PodPlugin {
            stage: Stage::Render,
            name: "mine".into(),
            nth: 0,
            config_maps: vec!["a".into(), "b".into()],
            component: true,
            groups: None,
        };
        mount_in_pods(&mut objects, Some("web"), std::slice::from_ref(&plugin));
        let path = ["spec", "template", "spec", "template", "spec"];
        let pod = path.iter().fold(&objects[0], |tree, key| tree.get(key).unwrap());
        let [copier, renderer] = pod.items("initContainers") else {
            unreachable!("two")
        };
        assert_eq!(json::to_text(copier), r#"{"name":"spec-copier-a"}"#);
        let args: Vec<&str> = renderer.items("args").iter().filter_map(Tree::as_str).collect();
        assert_eq!(
            args,
            [
                "--plugin",
                "render:mine=/var/run/boson/plugins/render",
                "--plugin-settings",
                "render:mine=/var/run/boson/plugins/render/settings.json"
            ]
        );
        assert_eq!(renderer.items("env").len(), 2);
        assert_eq!(pod.items("volumes")[1].str("name"), Some("plugin-render"));
        assert_eq!(pod.items("containers").len(), 1);
        assert_eq!(json::to_text(&objects[1]), r#"{"kind":"Service"}"#);
    }

    #[test]
    fn only_pods_of_its_groups_mount_a_plugin_and_they_do_not_depend_on_the_other_groups() {
        let plugin = |groups: &[&str]| PodPlugin {
            stage: Stage::Render,
            name: "mine".into(),
            nth: 0,
            config_maps: vec!["a".into()],
            component: true,
            groups: Some(groups.iter().map(ToString::to_string).collect()),
        };
        let pods = |group: Option<&str>, groups: &[&str]| {
            let pod = r#"{"initContainers": [{"name": "template-render"}], "containers": [], "volumes": []}"#;
            let mut objects = [json::parse(pod).unwrap()];
            mount_in_pods(&mut objects, group, &[plugin(groups)]);
            json::to_text(&objects[0])
        };
        let without = pods(Some("other"), &["web"]);
        assert!(!without.contains("plugin"), "{without}");
        assert_eq!(pods(None, &["web"]), without);
        let with = pods(Some("web"), &["web"]);
        assert!(with.contains(r#""--plugin","render:mine="#), "{with}");
        assert_eq!(pods(Some("web"), &["db", "web"]), with, "nothing restarts");
        // The pods of a conversion render several groups.
        let arguments = plugin(&["db", "web"]).arguments();
        assert_eq!(arguments[4..], ["--plugin-instance-groups", "render:mine=db,web"]);
    }
}
