//! The diagnostics this stage may give, each explained.

use boson_manifest::schema::Codes;

boson_document::codes! {
    WRONG_TYPE = "bpm-wrong-type", "A value of the manifest has the wrong type",
        "BOSH's types hold: a `String` may be given as a number, an `Integer` must be a number without fraction, `null` is no value of any type.\n\nQuote versions: `version: 1.10` is the number 1.1.";
    MISSING_KEY = "bpm-missing-key", "A required key is missing",
        "The object at this place lacks a key that BOSH, or the conversion, cannot do without.";
    UNKNOWN_KEY = "bpm-unknown-key", "A key is not known",
        "The key has no effect. Often it is a typing error, or a key at the wrong depth. BOSH ignores such keys in silence.";
    IGNORED_KEY = "bpm-ignored-key", "A key has no effect in Kubernetes",
        "BOSH knows the key, but what it controls does not exist in Kubernetes, or not yet in this product. Removing it changes nothing.";
    REFUSED_KEY = "bpm-refused-key", "A key cannot be honoured",
        "Going on without this key would give a deployment that is not the one described. Change the manifest, for example by an ops file.";
    BAD_VALUE = "bpm-bad-value", "A value of the manifest is not among those possible",
        "The message says which values are.";
    DUPLICATE = "bpm-duplicate-name", "A name is given twice",
        "Names of releases, stemcell aliases, instance groups and jobs of a group are unique.";
    LATEST = "bpm-latest-version", "A version is 'latest'",
        "Images are named by exact versions: `latest` and `<prefix>.latest` cannot be resolved without a director. Write the version. `host convert` resolves the `latest` of a release by the version of the `--release` given.";
    NO_IMAGE = "bpm-no-image", "The image of a release is unknown",
        "An image is `<url>/<release>:<os>-<stemcell version>-<release version>`. The `url` of a release is a registry and organisation; a download URL (`https://...`) cannot be used. `--registry` (or `conversion.registry`) stands in for all releases. Operating system and stemcell version come from the release's own `stemcell`, else from the stemcell of the instance group.";
    GROUP_IMAGES = "bpm-group-images", "An instance group has no images of some releases",
        "Most often this follows from an error about a release or a stemcell, which is then reported alone. Otherwise the group names no stemcell, or the image that its releases and stemcell name is not a valid image reference.";
    IMAGE_TAG = "bpm-image-tag", "A version is spelled differently in an image tag",
        "Tags of images cannot hold `+`: it becomes `-`. The image must have been pushed with that tag.";
    NAME = "bpm-name", "Kubernetes has no name for this",
        "Names in Kubernetes hold lower-case letters, digits and `-`; `_` becomes `-`, all else is dropped. What is left must not be empty, and the name of a deployment must begin with a letter.";
    NAME_TAKEN = "bpm-name-taken", "Two things have the same name in Kubernetes",
        "Sanitizing made two names equal (`a_b` and `a-b`), or an ending did (group `a` with instance 0, and group `a-0`). Rename one of them.";
    UNKNOWN_RELEASE = "bpm-unknown-release", "A job's release is not listed",
        "Every job names a release of the manifest's `releases`.";
    NO_BPM = "bpm-no-information", "A job has processes but no bpm information",
        "The job's `monit` file starts processes, but no template becomes `config/bpm.yml`, so nothing says which containers to make. Give it in the job property `quarks.bpm`:\n\n```yaml\nproperties:\n  quarks:\n    bpm:\n      processes:\n      - name: server\n        executable: /var/vcap/packages/server/bin/server\n```";
    MONIT = "bpm-monit", "A monit file cannot be followed in all that it says",
        "Of the monit file of a job that runs by it (`quarks.monit: true`, or `--monit` for all jobs) the processes are run: their start and stop programs, pid files, timeouts and users. The processes of a pod start at the same time, except for those that `depends on` orders, and are restarted when they end. Rules (`if .. then ..`) have no effect: limits of memory and probes are in the job property `quarks.run`.";
    SCHEMA = "bpm-schema", "A bpm.yml cannot be read",
        "The rendered file does not have BPM's shape: wrong type of a value, or a value that BPM refuses. The message is BPM's own. For rendered files the place is in the rendered text, not in the template.";
    UNKNOWN_BPM_KEY = "bpm-unknown-bpm-key", "A key of bpm.yml is not known",
        "BPM ignores keys that it does not know, in silence. Often it is a typing error.";
    DROPPED = "bpm-dropped", "A setting of bpm.yml has no effect",
        "Containers have no such setting. How many processes and threads a container may have is a setting of the node (`podPidsLimit` of the kubelet).";
    VOLUME = "bpm-volume", "A volume is not what it is under BPM",
        "Containers do not see the directories of the node. A volume outside `/var/vcap` begins as an empty directory of the pod; patterns cannot be expanded.";
    SCRIPT = "bpm-script", "A lifecycle script does not run",
        "Of an errand, `pre-start` scripts run and then its own program: nothing follows that the other scripts could be a part of. `bin/run` runs in instance groups with `lifecycle: errand` or `auto-errand` only.";
    PRE_RENDER = "bpm-pre-render", "A pre-render script cannot change what the conversion has read",
        "Scripts of `quarks.pre_render_scripts` run in each pod, over the pod's copy of the job sources, before its templates are rendered. The conversion reads the release as it is and runs no script. So a changed template of bpm.yml changes programs, arguments, environment, working directories and hooks, which the process wrapper reads in the pod; it does not change what shapes the pod: the list of processes, limits of memory and CPU, volumes, capabilities, `privileged`. A changed `job.MF` changes which templates the pod renders; it does not change properties, defaults and links. `quarks.bpm`, properties of the manifest and `env.bosh.agent.settings.preRenderOps` change those.";
    INSTANCES_DIFFER = "bpm-instances-differ", "What shapes the pods of a job differs between its instances",
        "All pods of an instance group are made from one template, so the list of processes, their limits of memory and CPU, volumes, capabilities, `privileged` and whether there is a `pre_start` hook must be the same on all instances. Programs, arguments, environment and all else may differ: the process wrapper reads them in the pod. The job property `quarks.bpm` is merged over the rendered file: a value given there is the same for all.";
    POD_IP = "bpm-pod-ip", "The address of the pod is used where it is not known",
        "While a deployment is converted, `spec.ip` is the text `$(POD_IP)`. What shapes the pod, such as names of processes and paths of volumes, cannot depend on it; all else of bpm.yml is rendered again in the pod, with the address.";
    PERSISTENT_DISK = "bpm-persistent-disk", "A process wants a persistent disk that the group does not have",
        "`persistent_disk: true` in bpm.yml needs `persistent_disk` (MiB) on the instance group.";
    ERRAND = "bpm-errand", "An errand that cannot be",
        "An errand group becomes one Job: it has exactly one instance, and needs no Service.";
    PORT = "bpm-port", "A port that cannot be",
        "`quarks.ports` has entries `{name, protocol, internal}`: protocol is TCP, UDP or SCTP, internal a port number. Entries of all jobs of a group make one list: equal ones are merged, different ones must not share a name or a number.";
    NO_PORTS = "bpm-no-ports", "An instance group has no ports",
        "BOSH needs no list of ports; a Kubernetes Service does. Without any in `quarks.ports`, the Services of the group are headless: their names resolve to addresses of pods, which change with them, and policies and load balancers have no port to go by. `quarks.ports: []` of one of its jobs declares that the group has no ports.";
    ZONES = "bpm-zones", "Names of zones are taken as they stand",
        "Pods of a group with `azs` run on nodes whose label `topology.kubernetes.io/zone` has the zone's name as its value. A BOSH manifest mostly says `z1`, and nodes say `eu-central-1a`: then no node fits, and the pods stay Pending. A cloud config translates them: `cloud_properties.zone` of an AZ. `kubectl get nodes -L topology.kubernetes.io/zone` shows the values that there are.";
    PROBE = "bpm-probe", "A health check that cannot be",
        "A probe is a Kubernetes Probe with exactly one of `exec`, `httpGet`, `tcpSocket` and `grpc`, given for a process of the job.";
    METADATA = "bpm-metadata", "A tag, label or annotation that Kubernetes does not take",
        "Keys are `[prefix/]name` with at most 63 letters, digits, `-`, `_` and `.` in the name; values of labels obey the same rule and may be empty. Values are texts, numbers or booleans.";
    SETTINGS = "bpm-agent-settings", "A setting under env.bosh.agent.settings that cannot be",
        "These settings are copied to the pod and have Kubernetes' own shape.";
    VARIABLE = "bpm-variable", "A variable that cannot be generated in the cluster",
        "Types are `password`, `certificate`, `rsa`, `ssh` and `user`, and those of QuarksSecrets: `tls`, `basic-auth`, `dockerconfigjson`, `templatedconfig`, `copy`. Options of certificates are those of CredHub.";
    NOTHING_TO_RUN = "bpm-nothing-to-run", "An instance group has no process",
        "A pod needs a container. A group without any process gives no workload; its files and scripts have no place to be.";
    DNS = "bpm-dns", "A part of the configuration of BOSH DNS has no effect",
        "Names and aliases of BOSH DNS resolve in the pods of a deployment: its own two DNS servers answer them. Handlers that ask over HTTP have no effect, nor have the settings of a daemon that does not run. Where an alias is defined twice, the first definition holds, as in BOSH.";
    DNS_ALIAS = "bpm-dns-alias", "An alias of BOSH DNS cannot be",
        "An alias has a domain and at least one target: a name of BOSH (`q-s0.web.default.cf.bosh`, `*.web.default.cf.bosh`), an IP address, or another alias. Aliases that lead back to themselves keep BOSH's server from starting, and are refused here.";
    DNS_FILES = "bpm-dns-files", "Aliases in a file of a job do not resolve",
        "A job's `dns/aliases.json` gives names to instances. They resolve where the deployment has DNS servers: it has them when its manifest, or an addon of it, has a job of the release `bosh-dns` or `bosh-dns-aliases`, `aliases` of a provided link, or `features.use_dns_addresses: true`.";
    CLOUD_CONFIG = "bpm-cloud-config", "A cloud config, or a reference to it, is wrong",
        "With a cloud config, the names of AZs, VM types, VM extensions, disk types and networks in a manifest must be defined in it, as for a director. The messages are the director's.\n\nSizes are numbers (`ram` and `ephemeral_disk_size` in MiB), labels and node selectors hold strings.";
    CLOUD_PROPERTY = "bpm-cloud-property", "Part of a cloud config has no effect",
        "Of `cloud_properties`, these have an effect: `zone` of AZs; `cpu`, `ram`, `ephemeral_disk_size`, `labels`, `tolerations` and `node_selector` of VM types and VM extensions; `storage_class` of disk types. Others are for another infrastructure.";
    MALFORMED = "bpm-malformed-request", "The request does not have the shape of the contract",
        "The resolved document must hold exactly one instance group, and the files of each of its jobs must be given. This is a defect of the stage before, not of the manifest.";
}

/// The codes of the checks of keys.
pub const KEYS: &Codes = &Codes {
    wrong_type: WRONG_TYPE,
    missing_key: MISSING_KEY,
    unknown_key: UNKNOWN_KEY,
    ignored_key: IGNORED_KEY,
    refused_key: REFUSED_KEY,
};

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn codes_are_unique_and_explained() {
        let mut names: Vec<&str> = ALL.iter().map(|code| code.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        assert!(
            ALL.iter()
                .all(|code| code.name.starts_with("bpm-") && !code.title.is_empty() && code.explanation.len() > 20)
        );
    }
}
