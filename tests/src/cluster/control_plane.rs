//! Configuration of a control plane's processes: flags, credentials, ports.

use super::certificates::Authority;
use anyhow::Result;
use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

/// The addresses of Services. The first one is the API server's for pods.
const SERVICES: &str = "10.96.0.0/16";

/// Requests with their users, without bodies, which hold Secrets. Those of the control plane and the nodes are left
/// out: they are most of the log, and no test reads them.
pub(super) const AUDIT: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, userGroups: [system:nodes, system:serviceaccounts:kube-system]}
  - {level: None, users: [system:apiserver, system:kube-scheduler, system:kube-controller-manager]}
  - {level: Metadata}
";

/// The certificate of the API server at this address, and the kubeconfigs of its clients.
pub(super) fn write_credentials(
    directory: &Path,
    authority: &Authority,
    address: Ipv4Addr,
    server: &str,
) -> Result<()> {
    authority.issue(
        "apiserver",
        "/CN=kube-apiserver",
        &format!("IP:{address},IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc"),
    )?;
    authority.service_account_key()?;
    for (name, subject) in [
        ("admin", "/O=system:masters/CN=admin"),
        ("controller-manager", "/CN=system:kube-controller-manager"),
        ("scheduler", "/CN=system:kube-scheduler"),
    ] {
        authority.issue(name, subject, "")?;
        let file = directory.join(format!("{name}.kubeconfig"));
        fs::write(file, authority.kubeconfig(name, server)?)?;
    }
    Ok(())
}

pub(super) fn etcd_flags(directory: &Path, clients: u16, peers: u16) -> Vec<OsString> {
    let (clients, peers) = (
        format!("http://127.0.0.1:{clients}"),
        format!("http://127.0.0.1:{peers}"),
    );
    flags(&[
        ("data-dir", &path(directory, "etcd")),
        // Nothing needs to survive the test.
        ("unsafe-no-fsync", "true"),
        ("log-level", "warn"),
        ("listen-client-urls", &clients),
        ("advertise-client-urls", &clients),
        ("listen-peer-urls", &peers),
        ("initial-advertise-peer-urls", &peers),
        ("initial-cluster", &format!("default={peers}")),
    ])
}

pub(super) fn api_flags(directory: &Path, etcd: u16, address: Ipv4Addr, port: u16) -> Vec<OsString> {
    let mut all = flags(&[
        ("etcd-servers", &format!("http://127.0.0.1:{etcd}")),
        ("bind-address", &address.to_string()),
        ("advertise-address", &address.to_string()),
        ("secure-port", &port.to_string()),
        ("service-cluster-ip-range", SERVICES),
        ("tls-cert-file", &path(directory, "apiserver.crt")),
        ("tls-private-key-file", &path(directory, "apiserver.key")),
        ("client-ca-file", &path(directory, "ca.crt")),
        ("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        ("service-account-key-file", &path(directory, "service-accounts.key")),
        (
            "service-account-signing-key-file",
            &path(directory, "service-accounts.key"),
        ),
        ("authorization-mode", "Node,RBAC"),
        ("enable-admission-plugins", "NodeRestriction"),
        ("allow-privileged", "true"),
        ("audit-policy-file", &path(directory, "audit.yaml")),
        ("audit-log-path", &path(directory, "audit.log")),
        // Tests compare what was written before and after a time: a log that is rotated (by default at 100 MB) in
        // between would have lost its beginning.
        ("audit-log-maxsize", "16384"),
        // Written synchronously: a line exists when its request has been answered.
        ("audit-log-mode", "blocking"),
        ("profiling", "false"),
        // Nothing here needs a share of the server guaranteed, and each request would pass through its queues.
        ("enable-priority-and-fairness", "false"),
    ]);
    all.extend(if address.is_loopback() {
        // The Service `kubernetes` must not point to a loopback address.
        flags(&[("endpoint-reconciler-type", "none")])
    } else {
        flags(&[
            // Webhooks are called at the addresses of their pods: those of Services exist only inside the node.
            ("enable-aggregator-routing", "true"),
            ("kubelet-client-certificate", &path(directory, "admin.crt")),
            ("kubelet-client-key", &path(directory, "admin.key")),
            ("kubelet-certificate-authority", &path(directory, "ca.crt")),
            ("kubelet-preferred-address-types", "InternalIP"),
        ])
    });
    all
}

pub(super) fn scheduler_flags(directory: &Path, port: u16) -> Vec<OsString> {
    client_flags(directory, "scheduler", port)
}

pub(super) fn manager_flags(directory: &Path, port: u16) -> Vec<OsString> {
    let mut all = client_flags(directory, "controller-manager", port);
    all.extend(flags(&[
        (
            "service-account-private-key-file",
            &path(directory, "service-accounts.key"),
        ),
        ("root-ca-file", &path(directory, "ca.crt")),
        ("cluster-signing-cert-file", &path(directory, "ca.crt")),
        ("cluster-signing-key-file", &path(directory, "ca.key")),
        ("use-service-account-credentials", "true"),
        // Claims are bound, and volumes released, at the next resync at the latest: by default after 15 s.
        ("pvclaimbinder-sync-period", "2s"),
    ]));
    all
}

/// Flags of all programs that use the API server.
fn client_flags(directory: &Path, name: &str, port: u16) -> Vec<OsString> {
    let kubeconfig = path(directory, &format!("{name}.kubeconfig"));
    flags(&[
        ("kubeconfig", &kubeconfig),
        ("authentication-kubeconfig", &kubeconfig),
        ("authorization-kubeconfig", &kubeconfig),
        ("bind-address", "127.0.0.1"),
        ("secure-port", &port.to_string()),
        ("leader-elect", "false"),
        ("profiling", "false"),
    ])
}

fn flags(pairs: &[(&str, &str)]) -> Vec<OsString> {
    pairs
        .iter()
        .map(|(name, value)| format!("--{name}={value}").into())
        .collect()
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}
