//! The configuration files of a node's daemons.

use super::link::Link;
use super::{NAME, PAUSE};
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Debian's directory for CNI plugins.
pub(super) const NETWORK_PLUGINS: &str = "/usr/lib/cni";

/// Writes all of them to `directory`, which also has the certificates.
pub(super) fn write(directory: &Path, link: Link) -> Result<()> {
    let networks = directory.join("networks");
    fs::create_dir(&networks)?;
    fs::write(networks.join("10-pods.conflist"), network(link))?;
    fs::write(directory.join("containerd.toml"), containerd(directory))?;
    fs::write(directory.join("kubelet.yaml"), kubelet(directory, link))?;
    fs::write(directory.join("kube-proxy.yaml"), proxy(directory, link))?;
    // Pods of the host's network need no DNS; without a server, a lookup fails at once.
    fs::write(directory.join("resolv.conf"), "search .\n")?;
    Ok(())
}

/// How containers are stored: in overlays, unless the directory is itself on an overlay; these cannot be nested.
pub(super) fn snapshotter(directory: &Path) -> &'static str {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let below = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, system) = (fields.next()?, fields.next()?);
        directory.starts_with(point).then_some((point.len(), system))
    });
    match below.max_by_key(|(length, _)| *length) {
        Some((_, "overlay")) => "native",
        _ => "overlayfs",
    }
}

fn containerd(directory: &Path) -> String {
    let snapshotter = snapshotter(directory);
    let directory = directory.display();
    format!(
        r#"version = 2
root = "{directory}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  # Profiles would be this machine's, which the node cannot load.
  disable_apparmor = true
  # Who may not raise the priority of a process, in a container say, may not start pods otherwise.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{NETWORK_PLUGINS}"
    conf_dir = "{directory}/networks"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{directory}/registries"
"#
    )
}

/// A pair of interfaces for each pod: with a bridge, connections between pods through a Service would depend on a
/// kernel module.
fn network(link: Link) -> String {
    format!(
        r#"{{"cniVersion": "0.4.0", "name": "pods", "plugins": [{{"type": "ptp", "ipMasq": false, "mtu": 1500, "ipam": {{"type": "host-local",
  "ranges": [[{{"subnet": "{}"}}]], "routes": [{{"dst": "0.0.0.0/0"}}]}}}}]}}
"#,
        link.pods()
    )
}

fn kubelet(directory: &Path, link: Link) -> String {
    let (directory, address, dns) = (directory.display(), link.node(), link.gateway());
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
serializeImagePulls: false
address: {address}
clusterDomain: cluster.local
clusterDNS: [{dns}]
resolvConf: {directory}/resolv.conf
volumePluginDir: {directory}/volume-plugins
authentication: {{anonymous: {{enabled: false}}, x509: {{clientCAFile: {directory}/ca.crt}}, webhook: {{enabled: true}}}}
authorization: {{mode: Webhook}}
tlsCertFile: {directory}/kubelet.crt
tlsPrivateKeyFile: {directory}/kubelet.key
# The disk and memory belong to the machine, which other programs fill, too. A share of the disk, because a kubelet that
# was restarted knows no size of it for a while, and an amount would taint the node.
evictionHard: {{memory.available: 50Mi, nodefs.available: 0.01%, imagefs.available: 0.01%, nodefs.inodesFree: 0.01%}}
imageGCHighThresholdPercent: 100
imageMaximumGCAge: 0s
shutdownGracePeriod: 0s
"#
    )
}

fn proxy(directory: &Path, link: Link) -> String {
    format!(
        r#"apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: {NAME}
clusterCIDR: {pods}
clientConnection: {{kubeconfig: {directory}/kube-proxy.kubeconfig}}
# These are the whole machine's, and not writable from the node.
conntrack: {{maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}}
nftables: {{minSyncPeriod: 100ms}}
"#,
        pods = link.pods(),
        directory = directory.display()
    )
}
