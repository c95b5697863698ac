//! The diagnostics this stage may give, each explained.

use boson_manifest::{group, members, schema};

boson_document::codes! {
    WRONG_TYPE = "bpm-wrong-type", "A value of the manifest has the wrong type",
        "The types are those of BOSH: a `String` may be written as a number, an `Integer` must be a number without \
         fraction, and `null` has no type.\n\nQuote versions: `version: 1.10` is the number 1.1.";
    MISSING_KEY = "bpm-missing-key", "A required key is missing",
        "The object at this place lacks a key that BOSH or the conversion requires.";
    UNKNOWN_KEY = "bpm-unknown-key", "Unknown key",
        "The key has no effect. Often it is misspelt, or at the wrong level. BOSH ignores such keys silently.";
    IGNORED_KEY = "bpm-ignored-key", "A key has no effect in Kubernetes",
        "BOSH has this key, but what it controls does not exist in Kubernetes, or is not implemented yet. You can \
         remove it.";
    REFUSED_KEY = "bpm-refused-key", "A key is not supported",
        "Without this key, the result would be another deployment than the manifest describes. Change the manifest, \
         for example with an ops file.";
    BAD_VALUE = "bpm-bad-value", "A value of the manifest is invalid",
        "The message names the valid values.";
    DUPLICATE = "bpm-duplicate-name", "A name occurs twice",
        "Names of releases, stemcell aliases, instance groups and jobs of a group must be unique.";
    LATEST = "bpm-latest-version", "A version is 'latest'",
        "Names of images contain exact versions, so `latest` and `<prefix>.latest` cannot be resolved without a \
         director. Write the version. `host convert` resolves `latest` of a release to the version of the given \
         `--release`.";
    NO_IMAGE = "bpm-no-image", "The image of a release is unknown",
        "The name of an image is `<url>/<release>:<os>-<stemcell version>-<release version>`. The `url` of a release \
         must be a registry and organization; a download URL (`https://...`) cannot be used. `--registry` (or \
         `conversion.registry`) replaces the URLs of all releases. Operating system and stemcell version are those \
         of the release's `stemcell`, otherwise those of the stemcell of the instance group.";
    GROUP_IMAGES = "bpm-group-images", "An instance group has no images of some releases",
        "Most often this is the consequence of an error about a release or a stemcell, which is reported separately. \
         Otherwise the group names no stemcell, or the name of the image is not a valid image reference.";
    IMAGE_TAG = "bpm-image-tag", "A version is spelled differently in an image tag",
        "Tags of images cannot contain `+`, so it becomes `-`. Push the image with that tag.";
    NAME = "bpm-name", "A name is not valid in Kubernetes",
        "Names in Kubernetes consist of lower-case letters, digits and `-`; `_` becomes `-`, and other characters \
         are removed. The result must not be empty, and the name of a deployment must begin with a letter.";
    NAME_CONFLICT = "bpm-name-conflict", "Two objects have the same name in Kubernetes",
        "Two names became equal in Kubernetes (`a_b` and `a-b`), or with an ending (instance 0 of group `a`, and \
         group `a-0`). Rename one of them.";
    NO_BPM = "bpm-no-information", "A job has processes but no bpm information",
        "The job's `monit` file starts processes, but no template becomes `config/bpm.yml`, so the containers are \
         unknown. Describe the processes in the job property `quarks.bpm`:\n\n```yaml\nproperties:\n  quarks:\n    \
         bpm:\n      processes:\n      - name: server\n        executable: /var/vcap/packages/server/bin/server\n```";
    MONIT = "bpm-monit", "A part of a monit file has no effect",
        "For a job that runs by its monit file (`quarks.monit: true`, or `--monit` for all jobs), the process \
         wrapper follows the start and stop programs, pid files, timeouts and users in that file. The processes of a \
         pod start at the same time, except for those that `depends on` orders, and are restarted when they exit. \
         Rules (`if .. then ..`) have no effect: set limits of memory and probes in the job property `quarks.run`.";
    SCHEMA = "bpm-schema", "A bpm.yml is invalid",
        "The rendered file does not have the structure that BPM requires: a value has the wrong type, or BPM rejects \
         it. The message is that of BPM. The place is in the rendered text, not in the template.";
    UNKNOWN_BPM_KEY = "bpm-unknown-bpm-key", "Unknown key in bpm.yml",
        "BPM ignores unknown keys silently. Often a key is misspelt.";
    DROPPED = "bpm-dropped", "A setting of bpm.yml has no effect",
        "Containers have no such setting. The number of processes and threads of a container is limited by a setting \
         of the node (`podPidsLimit` of the kubelet). Kubernetes gives capabilities and `privileged` to root only, so a \
         job with `quarks.run.security_context: {runAsNonRoot: true}` has neither.";
    VOLUME = "bpm-volume", "A volume behaves differently from BPM",
        "Containers cannot access the directories of the node. A volume outside of `/var/vcap` is an empty directory \
         of the pod, and patterns are not expanded.";
    SCRIPT = "bpm-script", "A lifecycle script does not run",
        "In an errand, only `pre-start` scripts run, and then its program. `bin/run` runs only in instance groups \
         with `lifecycle: errand` or `auto-errand`; elsewhere, `host run-errand` runs it if the job has a container.";
    PRE_RENDER = "bpm-pre-render", "A pre-render script cannot change what the conversion has read",
        "Scripts of `quarks.pre_render_scripts` run in each pod, over the pod's copy of the job sources, before its templates are rendered. The conversion reads the release as it is and runs no script. So a changed template of bpm.yml changes programs, arguments, environment, working directories and hooks, which the process wrapper reads in the pod; it does not change what shapes the pod: the list of processes, limits of memory and CPU, volumes, capabilities, `privileged`. A changed `job.MF` changes which templates the pod renders; it does not change properties, defaults and links. `quarks.bpm`, properties of the manifest and `env.bosh.agent.settings.preRenderOps` change those.";
    PRE_START = "bpm-pre-start", "A pre-start script runs in the containers of processes",
        "With `quarks.run.pre_start: inline`, the pre-start script of a job runs in the containers of its processes, before \
         them, so that they see what it writes to `/etc` or `/usr`. It runs as root, so these containers start as root and \
         then change to vcap. Namespaces that enforce the PodSecurity profile `restricted` do not admit them, unless the \
         job has `quarks.run.security_context: {runAsNonRoot: true}`: then the script runs as vcap. A job without \
         processes has no such container.";
    INSTANCES_DIFFER = "bpm-instances-differ", "A setting of the pod template differs between instances",
        "All pods of an instance group have the same template, so the list of processes, their limits of memory and \
         CPU, volumes, capabilities, `privileged` and the existence of a `pre_start` hook must be the same on all \
         instances. Programs, arguments, environment and all other settings may differ, because the process wrapper \
         reads them in the pod. The job property `quarks.bpm` is merged over the rendered file: a value in it \
         applies to all instances.";
    POD_IP = "bpm-pod-ip", "The address of the pod is used where it is not known",
        "During a conversion, `spec.ip` is the text `$(POD_IP)`. Settings of the pod template, such as names of \
         processes and paths of volumes, cannot depend on it. The rest of bpm.yml is rendered again in the pod, with \
         the address.";
    PERSISTENT_DISK = "bpm-persistent-disk", "A process needs a persistent disk that the group does not have",
        "`persistent_disk: true` in bpm.yml needs `persistent_disk` (MiB) on the instance group.";
    ERRAND = "bpm-errand", "An errand is invalid",
        "An errand becomes one Job: it must have exactly one instance, and has no Services.";
    PORT = "bpm-port", "A port is invalid",
        "`quarks.ports` has entries `{name, protocol, internal}`: protocol is TCP, UDP or SCTP, internal is a port \
         number. The ports of all jobs of a group are merged: equal ones count once, others must not share a name or \
         a number.";
    NO_PORTS = "bpm-no-ports", "An instance group has no ports",
        "BOSH needs no list of ports, but a Kubernetes Service does. Without `quarks.ports`, the Services of the \
         group are headless: their names resolve to the addresses of pods, which change, and network policies and \
         load balancers have no port to refer to. `quarks.ports: []` in one of its jobs declares that the group has \
         no ports.";
    ZONES = "bpm-zones", "Names of AZs are used as names of zones",
        "Pods of a group with `azs` run on nodes whose label `topology.kubernetes.io/zone` has the name of the AZ as \
         value. BOSH manifests often contain `z1`, and nodes `eu-central-1a`: then no node matches, and the pods \
         stay Pending. Map the names in a cloud config, with `cloud_properties.zone` of an AZ. `kubectl get nodes -L \
         topology.kubernetes.io/zone` lists the zones of the nodes.";
    PROBE = "bpm-probe", "A health check is invalid",
        "A health check is a Kubernetes probe with exactly one of `exec`, `httpGet`, `tcpSocket` and `grpc`, for a \
         process of the job.";
    FIELD = "bpm-field", "Kubernetes does not know a field, or not with this type",
        "This map is copied to an object, so its fields have the names and types of Kubernetes: a probe, a security \
         context, affinity, tolerations, volumes, claims, entries of `quarks.envs` with `valueFrom`. The API server would \
         refuse the object. `kubectl explain pod.spec.containers.securityContext`, for example, lists the fields.";
    SYSCTL = "bpm-sysctl", "A kernel parameter cannot be set in a pod",
        "`quarks.run.sysctls` of a job sets kernel parameters (sysctls) of the pods of its instance group. All jobs of the \
         group share these pods, so they must agree on a value, which is a string or an integer.\n\nA pod can only set \
         what the kernel keeps for each pod: `kernel.shm*`, `kernel.msg*`, `kernel.sem`, `fs.mqueue.*` and `net.*`, \
         except `net.netfilter.nf_conntrack_max` and `net.netfilter.nf_conntrack_expect_max`. All other parameters, such \
         as `vm.max_map_count`, belong to the node: its administrator sets them, for example in `/etc/sysctl.d`.";
    UNSAFE_SYSCTL = "bpm-unsafe-sysctl", "A kernel parameter that nodes do not allow by default",
        "Pods with this parameter run only on nodes whose kubelet lists it in `--allowed-unsafe-sysctls` \
         (`allowedUnsafeSysctls` of its configuration); a pattern may end in `*`. On other nodes they fail with the \
         reason `SysctlForbidden`. Namespaces that enforce the PodSecurity profile `baseline` or `restricted` do not \
         admit them.\n\nThese need no permission: `kernel.shm_rmid_forced`, and of `net.ipv4.` `ip_local_port_range`, \
         `ip_local_reserved_ports`, `ip_unprivileged_port_start`, `ping_group_range`, `tcp_fin_timeout`, \
         `tcp_keepalive_intvl`, `tcp_keepalive_probes`, `tcp_keepalive_time`, `tcp_syncookies`, and since Kubernetes \
         1.32 `tcp_rmem` and `tcp_wmem`.";
    SHARED_PACKAGE = "bpm-shared-package", "A package to share does not exist in the instance group",
        "On a VM, all jobs see the packages that the specs of the jobs of the instance group list. In a pod, a container \
         has the packages of its own release's image, and those of other releases that `sharePackages` selects, in the \
         job property `quarks` or in `env.bosh.agent.settings` of the group. It is `referenced` (the default), `all`, \
         `none`, or a list of names.";
    METADATA = "bpm-metadata", "Kubernetes does not accept a tag, label or annotation",
        "Keys have the form `[prefix/]name`, with at most 63 letters, digits, `-`, `_` and `.` in the name. The same \
         rule applies to values of labels, which may be empty. Values are strings, numbers or booleans.";
    SETTINGS = "bpm-agent-settings", "A setting under env.bosh.agent.settings is invalid",
        "These settings are copied to the pod, and have the structure of its fields.";
    VARIABLE = "bpm-variable", "A variable that cannot be generated in the cluster",
        "The types are `password`, `certificate`, `rsa`, `ssh` and `user`, and those of QuarksSecrets: `tls`, \
         `basic-auth`, `dockerconfigjson`, `templatedconfig`, `copy`. Options of certificates are those of CredHub.";
    NOTHING_TO_RUN = "bpm-nothing-to-run", "An instance group has no process",
        "A pod needs a container. A group without processes becomes no workload, and its files and scripts have no \
         effect.";
    DNS = "bpm-dns", "A part of the configuration of BOSH DNS has no effect",
        "Two DNS servers of the deployment resolve names and aliases of BOSH DNS in its pods. Settings of the BOSH \
         DNS daemon, and handlers whose URL leads to a loopback address, have no effect. If an alias is defined \
         twice, the first definition wins, as in BOSH.";
    DNS_ALIAS = "bpm-dns-alias", "An alias of BOSH DNS is invalid",
        "An alias has a domain and at least one target: a name of BOSH DNS (`q-s0.web.default.cf.bosh`, \
         `*.web.default.cf.bosh`), an IP address, or another alias. Aliases that form a cycle are rejected; BOSH's \
         server does not start with them.";
    DNS_FILES = "bpm-dns-files", "Names in a DNS file of a job do not resolve",
        "A job's `dns/aliases.json` defines names of instances. They resolve if the deployment has DNS servers: its \
         manifest needs a job (also of an addon) of the release `bosh-dns` or `bosh-dns-aliases`, `aliases` of a \
         provided link, or `features.use_dns_addresses: true`.";
    CLOUD_CONFIG = "bpm-cloud-config", "A cloud config, or a reference to it, is invalid",
        "With a cloud config, it must define the names of AZs, VM types, VM extensions, disk types and networks in a \
         manifest, as for a director. The messages are the director's.\n\nSizes are numbers (`ram` and \
         `ephemeral_disk_size` in MiB); labels and node selectors are strings.";
    CLOUD_PROPERTY = "bpm-cloud-property", "A part of a cloud config has no effect",
        "These `cloud_properties` have an effect: `zone` of AZs; `cpu`, `ram`, `ephemeral_disk_size`, \
         `requests`, `labels`, `tolerations` and `node_selector` of VM types and VM extensions; `storage_class` of disk \
         types. Others belong to other infrastructures.";
    MALFORMED = "bpm-malformed-request", "The request violates the contract",
        "The resolved document must contain exactly one instance group, and the request must contain the files of \
         each of its jobs. This is a defect of the program that called the plugin, not of the manifest.";
    NO_DEPLOYMENT = "bpm-no-deployment", "The call names no deployment",
        "This stage needs the name and the namespace of the deployment, in the `context` of the call. This is a defect \
         of the program that called the plugin: in the input of `host run-plugin`, set `context.deployment`.";
    REQUIRED_MEMBER = "bpm-required-member", "The plugin does not know a member of the request",
        "The host of a later version sends data that the plugin must not ignore. Replace the plugin by one for this \
         version of the host.";
}

/// The codes of the checks of keys.
pub const KEYS: &schema::Codes = &schema::Codes {
    wrong_type: WRONG_TYPE,
    missing_key: MISSING_KEY,
    unknown_key: UNKNOWN_KEY,
    ignored_key: IGNORED_KEY,
    refused_key: REFUSED_KEY,
};

/// The codes of the reader of instance groups.
pub const GROUPS: &group::Codes = &group::Codes {
    members: &members::Codes {
        wrong_type: WRONG_TYPE,
        missing_key: MISSING_KEY,
    },
    instances: BAD_VALUE,
    zones: BAD_VALUE,
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
