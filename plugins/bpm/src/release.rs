//! Releases that are special.

/// Jobs of BOSH DNS configure name resolution; they are no workload of the deployment.
pub fn is_dns(release: &str) -> bool {
    matches!(release, "bosh-dns" | "bosh-dns-aliases")
}
