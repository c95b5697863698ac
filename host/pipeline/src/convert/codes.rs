//! Explanations of the diagnostics of the conversion.

boson_document::codes! {
    CONVERT_CREATE_ENV = "convert-create-env", "The manifest is for bosh create-env",
        "`bosh create-env` creates one VM through a CPI on your machine; its manifest has `cloud_provider`, \
         `resource_pools` and `disk_pools`. Kubernetes has neither VMs nor CPIs. Convert a manifest for `bosh \
         deploy` instead, with `releases`, `stemcells` and `instance_groups`.";
    CONVERT_FOREIGN_DOCUMENT = "convert-foreign-document", "A Secret between two conversion steps has invalid content",
        "Another version of this program created it, or a user changed it. Delete this version of the Secret: the \
         step creates it again.";
    CONVERT_LINK_AMBIGUOUS = "convert-link-ambiguous", "Several jobs provide a link of the same type and name",
        "Pods ask for a link by its type and name. If the properties of several providers differ, none of them becomes a \
         Secret, because a pod might get the wrong one. Give one of them another name: `provides: {link: {as: name}}`.";
    CONVERT_LINK_INVALID = "convert-link-invalid", "A link cannot be stored in a Secret",
        "The properties that a job provides become the keys of the link's Secret, with dots between the parts. A Secret \
         has at most 1 MiB, and its name needs a letter or digit of the link's name and type. Provide less, or rename \
         the link.";
    CONVERT_LINK_KEY = "convert-link-key", "A property of a link is not in its Secret",
        "Pods outside of the deployment do not get this property; jobs do. Kubernetes accepts letters, digits, `-`, `_` \
         and `.` in keys of a Secret, values are text or JSON, and two properties cannot have the same key. Rename the \
         property, or make it a member of a map: a map whose members cannot be keys is stored as JSON.";
    CONVERT_NO_GROUP = "convert-no-group", "The manifest has no such instance group",
        "A pod of the conversion processes one instance group, by name, and its manifest has no group with that \
         name.";
    CONVERT_NO_NAME = "convert-no-name", "A name is missing or not valid in Kubernetes",
        "Set the name of the deployment with `name:` in the manifest or with `--name`. It must begin with a letter, \
         because names of Services do. Two names that become equal in Kubernetes are an error.";
    CONVERT_NO_MAP = "convert-no-map", "The manifest is not a map",
        "A deployment manifest is a YAML map with keys such as `name`, `releases` and `instance_groups`. A list is \
         often an ops file that was given as the manifest by mistake.";
    CONVERT_PRE_RENDER_OPS = "convert-pre-render-ops", "Part of preRenderOps.bpm has no effect",
        "`env.bosh.agent.settings.preRenderOps.bpm` has operations on the rendered bpm.yml files of the jobs of an \
         instance group. The document is `{configs: {<job>: <bpm.yml>}}`, so a path is \
         `/configs/<job>/processes/name=<process>/..`. A job without bpm.yml gets its processes from its property \
         `quarks.bpm`. Operations cannot remove the bpm.yml of a job.";
    CONVERT_RELEASE_LATEST = "convert-release-latest", "A release's version `latest` was resolved",
        "A director uses the newest uploaded version. `host convert` uses the version of the release that \
         `--release` names, if it is known: a source directory without a final version has none. `1.latest` matches \
         versions of that line only.";
    PACKAGE_MISSING = "package-missing", "A file names a package that the instance group does not have",
        "A rendered file of the job has the path of a package, `/var/vcap/packages/<name>`, that the spec of no job of \
         the instance group lists, so a VM would not have it either. Scripts often look for packages that they do not \
         need; then there is nothing to do. Names that a script computes are not checked.";
    RENDER_FAILED = "render-failed", "All errors of templates, as BOSH prints them",
        "The text is that of the director: instance groups, their jobs, and the templates of the jobs. Each error is \
         also reported separately, with its place and a fix. As in BOSH, only the first instance of a group that \
         fails is reported.";
    RENDER_NO_INSTANCE = "render-no-instance", "The instance group has no such instance",
        "AZ_INDEX and POD_ORDINAL determine the pod's instance, and the manifest has no such instance. Either the \
         StatefulSet was scaled by hand, or the pod uses the Secret of another version.";
    RENDER_SLOW = "render-slow", "Rendering a job takes long",
        "The templates of the job used a large part of the conversion's fuel, added up over all instances. Each \
         conversion takes as long, and a conversion that exceeds its fuel fails. Check what the templates compute, \
         and the number of instances.";
    SCRIPT_LIMITS = "script-limits", "A script sets limits",
        "`ulimit` and `prlimit` cannot exceed the hard limits of the container, which come from the container runtime of \
         the node. A limit that a script sets applies to the script and the programs that it starts. For a process, set \
         `limits.open_files` in bpm.yml; if the container's hard limit is lower, raise that of the node's container \
         runtime.";
    SCRIPT_LOST_FILES = "script-lost-files", "A pre-start script changes files that only its own container has",
        "On a VM, a pre-start script can change `/etc` or `/usr` for all processes. In a pod it runs in an init container \
         of its own. Other containers have the files of their image instead, and see only what the script writes below \
         `/var/vcap/data`, `/var/vcap/store`, `/var/vcap/sys` and `/var/vcap/jobs`.\n\nThese settings of the job property \
         `quarks.run` keep other files: `writable_packages: [NAME]` keeps what the script writes below \
         `/var/vcap/packages/NAME`, for all containers of the pod, and `pre_start: inline` runs the script in the \
         containers of the job's processes. You can also add files to the image of the release, or change them in a \
         `pre_start` hook of bpm.yml, which runs in the container of the process, too. Nothing is reported about \
         `/etc/profile.d`, which only login shells read. The log of the pre-start container lists what was lost.";
    SCRIPT_MODULES = "script-modules", "A script loads kernel modules",
        "Modules belong to the kernel of the node, and containers that are not privileged cannot load them. Load the \
         modules on all nodes that can run the pod, for example by `/etc/modules-load.d`. The command then succeeds in a \
         container that has `modprobe` and `/lib/modules` of the node; often a property of the job avoids it.";
    SCRIPT_MOUNTS = "script-mounts", "A script mounts or unmounts file systems",
        "Only a privileged container can mount: that of a process with `unsafe.privileged` in bpm.yml, and those of the \
         scripts of its job. The mount is visible in this container only. So a pre-start script of the BOSH agent cannot \
         mount a file system for a process. Use volumes of bpm.yml or of the manifest instead.";
    SCRIPT_NETWORK = "script-network", "A script configures the network",
        "`iptables`, `ipset`, `nft` and commands of `ip` that change interfaces, addresses or routes need the capability \
         `NET_ADMIN`, which containers do not have by default. `quarks.run.capabilities` of the job adds it to its scripts \
         and processes. The commands change the network of the pod, and not that of the node.";
    SCRIPT_NODE_PARAMETERS = "script-node-parameters", "A script sets kernel parameters of the node",
        "All pods of a node share these parameters, such as `vm.swappiness` and `fs.inotify.max_user_watches`, and \
         containers that are not privileged cannot set them. Set them on all nodes that can run the pod. Many jobs of \
         Cloud Foundry have a property `set_kernel_parameters`: with `false`, their scripts do not set them.";
    SCRIPT_POD_PARAMETERS = "script-pod-parameters", "A script sets kernel parameters that each pod has",
        "Each pod has its own values of these parameters: most of `net.*`, `kernel.shm*`, `kernel.msg*`, `kernel.sem` and \
         `fs.mqueue.*`. But `/proc/sys` is read-only in containers that are not privileged, so a script that sets them \
         fails. Set them in the job property `quarks.run.sysctls`, a map. The kubelet refuses those that Kubernetes does \
         not consider safe, unless its option `--allowed-unsafe-sysctls` lists them. Many jobs of Cloud Foundry have a \
         property `set_kernel_parameters`: with `false`, their scripts do not set them.";
    CONVERT_DNS_ALIASES = "convert-dns-aliases", "A job's file of DNS aliases cannot be read",
        "The template for `dns/aliases.json` must render a JSON object that maps each domain to a list of targets. \
         BOSH's DNS server does not start with another structure, either.";
    CONVERT_DNS_HANDLERS = "convert-dns-handlers", "A job's file of DNS handlers cannot be used",
        "The template for `dns/handlers.json` must render a JSON list of objects with a `domain` and a `source`: \
         `{type: dns, recursors: [IP]}`, `{type: http, url: http://HOST:PORT}`, or `{type: deny}`. The DNS server in the \
         pod does not start with another list, nor does BOSH's.";
    RELEASE_PROPERTIES_INVALID = "release-properties-invalid", "A job's properties do not match its schema",
        "The job has a `properties_schema.json`, and its properties do not match it: BOSH's director refuses them, too. A property without \
         a value and without a default in the job's spec is `null`. The schema must name the draft 2020-12 in `$schema`; besides its \
         types, it may use the type `certificate` for a certificate in PEM, or an empty text.";
    RELEASE_NOT_GIVEN = "release-not-given", "A release that jobs need was not given",
        "The conversion reads job specs and templates from the releases. Name each release with `--release PATH` (a \
         source directory, a tarball, an image layout, or a directory with its `jobs-src`), or with `--release \
         NAME=PATH` if the path does not contain the name. Jobs of `bosh-dns` and `bosh-dns-aliases` need no \
         release.";
    RELEASE_OTHER_VERSION = "release-other-version", "The given release has another version than the manifest",
        "Templates and specs come from the given release, but the name of the image contains the version in the \
         manifest. Use the same version for both.";
    RELEASE_UNUSED = "release-unused", "A given release is not used",
        "No job of an instance group or addon belongs to this release. Often the manifest uses another name for it: \
         `--release NAME=PATH` sets that name.";
}
