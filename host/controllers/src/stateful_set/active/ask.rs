//! Asks pods whether they are active: see `container-run active`.

use super::plan::Answer;
use boson_cluster::pods::containers;
use boson_manifest::labels;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest wait for an answer: the sidecar only reports what it knows.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a pod is asked that does not answer.
const MAX_ATTEMPTS: usize = 3;
/// Between two attempts. A refused connection takes no time.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(300);
const ASK_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n";
/// How an answer begins, and whether the pod is active then.
const ANSWER_PREFIXES: [(&[u8], bool); 2] = [(b"HTTP/1.1 200 ", true), (b"HTTP/1.1 503 ", false)];

/// A port at which a pod answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Port(SocketAddr);

// === impl Port ===

impl Port {
    /// The ports of a pod, one for each of its probes.
    pub fn all(pod: &Pod) -> Vec<Self> {
        let address = pod
            .status
            .as_ref()
            .and_then(|status| status.pod_ip.as_ref()?.parse().ok());
        let Some(address) = address else { return Vec::new() };
        let ports = containers(pod).flat_map(|container| container.ports.iter().flatten());
        let ports = ports.filter(|port| port.name.as_deref() == Some(labels::ACTIVE_PASSIVE_PORT));
        let numbers = ports.filter_map(|port| u16::try_from(port.container_port).ok());
        numbers.map(|number| Self(SocketAddr::new(address, number))).collect()
    }

    async fn ask(self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(self.0).await?;
        stream.write_all(ASK_REQUEST).await?;
        let mut answer = [0; ANSWER_PREFIXES[0].0.len()];
        stream.read_exact(&mut answer).await?;
        let known = ANSWER_PREFIXES.iter().find(|(begin, _)| *begin == answer);
        known
            .map(|(_, is_active)| *is_active)
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    async fn answer(self) -> Answer {
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(ATTEMPT_INTERVAL).await;
            }
            match tokio::time::timeout(ANSWER_TIMEOUT, self.ask()).await {
                Ok(Ok(true)) => return Answer::Active,
                Ok(Ok(false)) => return Answer::Passive,
                Ok(Err(error)) => tracing::debug!(%error, address = %self.0, "a pod does not say whether it is active"),
                Err(_) => tracing::debug!(address = %self.0, "a pod does not say in time whether it is active"),
            }
        }
        Answer::Silent
    }
}

/// What a pod answers at all of these ports: it is active if all of its probes succeed.
pub(super) async fn pod(ports: Vec<Port>) -> Answer {
    let answers = join_all(ports.into_iter().map(Port::answer)).await;
    answers.into_iter().min().unwrap_or(Answer::Silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::net::TcpListener;

    #[test]
    fn ports_are_those_of_the_sidecars() {
        let port = |name: &str, number: u16| json!({"name": name, "containerPort": number});
        let pod = json!({
            "spec": {
                "initContainers": [{"name": "a", "ports": [port("active-passive", 1)]}, {"name": "b"}],
                "containers": [{"name": "c", "ports": [port("http", 2), port("active-passive", 3)]}]
            },
            "status": {"podIP": "fd00::1"}
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let found: Vec<String> = Port::all(&pod).iter().map(|port| port.0.to_string()).collect();
        assert_eq!(found, ["[fd00::1]:1", "[fd00::1]:3"]);
        assert!(Port::all(&Pod::default()).is_empty());
    }

    #[tokio::test]
    async fn a_pod_is_active_if_all_its_probes_succeed_and_silent_if_one_is() {
        let server = |answer: &'static [u8]| async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = Port(listener.local_addr().unwrap());
            tokio::spawn(async move {
                while let Ok((mut stream, _)) = listener.accept().await {
                    let mut request = [0; ASK_REQUEST.len()];
                    stream.read_exact(&mut request).await.unwrap();
                    stream.write_all(answer).await.unwrap();
                }
            });
            port
        };
        let yes = server(b"HTTP/1.1 200 OK\r\n\r\n").await;
        let no = server(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").await;
        let other = server(b"SSH-2.0-OpenSSH_9.2\r\n").await;
        assert_eq!(pod(vec![yes, yes]).await, Answer::Active);
        assert_eq!(pod(vec![yes, no]).await, Answer::Passive);
        assert_eq!(pod(vec![yes, other]).await, Answer::Silent);
        assert_eq!(pod(Vec::new()).await, Answer::Silent);
    }
}
