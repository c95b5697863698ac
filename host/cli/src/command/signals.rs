//! The end of servers.

use tokio::signal::unix::{SignalKind, signal};

/// SIGTERM, as the kubelet sends it, or SIGINT.
pub async fn termination() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminated.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
