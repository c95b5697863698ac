//! Programs that run in a container, and the log of a container.

use super::call::Subject;
use super::{Cluster, Error, ErrorKind, Verb, path};
use futures::AsyncBufRead;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess, LogParams};
use kube::client::UpgradeConnectionError;

/// How much of a stream is in memory at a time.
const MAX_STREAM_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
pub struct Container<'c> {
    pub namespace: &'c str,
    pub pod: &'c str,
    pub name: &'c str,
}

/// What a program gets beside its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Nothing,
    Stream,
    /// Its standard error is part of its standard output then.
    Terminal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    WithCode(i32),
    /// It could not be started, or the connection was lost.
    Failed(String),
}

// === impl Cluster ===

impl Cluster {
    /// Starts a program in a container. When its streams are read, [`Ended::of`] takes its status.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn exec(
        &self,
        container: Container<'_>,
        command: &[String],
        input: Input,
    ) -> Result<AttachedProcess, Error> {
        let parameters = AttachParams {
            container: Some(container.name.into()),
            stdin: input != Input::Nothing,
            stderr: input != Input::Terminal,
            tty: input == Input::Terminal,
            max_stdin_buf_size: Some(MAX_STREAM_BYTES),
            max_stdout_buf_size: Some(MAX_STREAM_BYTES),
            max_stderr_buf_size: Some(MAX_STREAM_BYTES),
            ..AttachParams::default()
        };
        let pods: Api<Pod> = Api::namespaced(self.client(), container.namespace);
        let started = pods.exec(container.pod, command, &parameters);
        match tokio::time::timeout(self.answer, started).await {
            Ok(started) => started.map_err(|error| failed("exec", container, &error)),
            Err(_) => Err(self.no_answer("exec", container)),
        }
    }

    /// The log of a container, as a stream.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn log(
        &self,
        container: Container<'_>,
        query: &LogParams,
    ) -> Result<impl AsyncBufRead + Unpin + use<>, Error> {
        let query = LogParams {
            container: Some(container.name.into()),
            ..query.clone()
        };
        let request = path::<Pod>(container.namespace).logs(container.pod, &query);
        let request = request.map_err(|error| failed("log", container, &kube::Error::BuildRequest(error)))?;
        match tokio::time::timeout(self.answer, self.client.request_stream(request)).await {
            Ok(stream) => stream.map(Box::pin).map_err(|error| failed("log", container, &error)),
            Err(_) => Err(self.no_answer("log", container)),
        }
    }

    fn no_answer(&self, part: &str, container: Container<'_>) -> Error {
        let kind = ErrorKind::NoAnswer(self.answer);
        Error::of(&Subject::of_part::<Pod>(part), Verb::Get, container.pod, kind)
    }
}

/// The message of the server is about the container, and quotes no value of the pod.
fn failed(part: &str, container: Container<'_>, error: &kube::Error) -> Error {
    let subject = Subject::of_part::<Pod>(part);
    let (verb, kind) = match error {
        kube::Error::Api(status) => {
            // A connection upgrade is a GET request, for which Kubernetes 1.35 and later also check the verb `create`.
            let is_create = status.message.contains("cannot create resource");
            let verb = if is_create { Verb::Create } else { Verb::Get };
            (verb, ErrorKind::from_status(status, true))
        }
        kube::Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(code)) => {
            (Verb::Get, ErrorKind::Other(code.as_u16()))
        }
        error => return Error::from_kube(&subject, Verb::Get, container.pod, error),
    };
    Error::of(&subject, verb, container.pod, kind)
}

// === impl Ended ===

impl Ended {
    /// What the kubelet reports at the end; nothing if the connection was lost.
    pub fn of(status: Option<Status>) -> Self {
        let Some(status) = status else {
            return Self::Failed("the connection was lost".into());
        };
        if status.status.as_deref() == Some("Success") {
            return Self::WithCode(0);
        }
        let details = status.details.iter().flat_map(|details| &details.causes);
        let mut causes = details
            .flatten()
            .filter(|cause| cause.reason.as_deref() == Some("ExitCode"));
        let code = causes.find_map(|cause| cause.message.as_ref()?.parse().ok());
        match code {
            Some(code) => Self::WithCode(code),
            None => Self::Failed(status.message.unwrap_or_else(|| "it could not be started".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ended(status: Value) -> Ended {
        Ended::of(Some(serde_json::from_value(status).unwrap()))
    }

    #[test]
    fn the_status_has_the_exit_code() {
        assert_eq!(ended(json!({"status": "Success"})), Ended::WithCode(0));
        let causes = json!([{"reason": "ExitCode", "message": "3"}]);
        let failure = json!({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}});
        assert_eq!(ended(failure), Ended::WithCode(3));
        let missing = json!({"status": "Failure", "reason": "InternalError", "message": "no such file"});
        assert_eq!(ended(missing), Ended::Failed("no such file".into()));
        assert_eq!(Ended::of(None), Ended::Failed("the connection was lost".into()));
    }

    #[test]
    fn a_missing_permission_is_the_one_that_the_server_names() {
        let pod = Container {
            namespace: "n",
            pod: "p",
            name: "c",
        };
        let error = |message: &str, code: u16| {
            let status = kube::core::Status {
                code,
                message: message.into(),
                ..kube::core::Status::default()
            };
            failed("exec", pod, &kube::Error::Api(Box::new(status)))
        };
        let lacks = |verb: &str| format!("User \"u\" cannot {verb} resource \"pods/exec\" in API group \"\"");
        for verb in ["get", "create"] {
            let error = error(&lacks(verb), 403);
            assert_eq!(
                (error.verb, error.resource.as_str(), error.kind),
                (verb, "pods/exec", ErrorKind::Forbidden)
            );
        }
        let refused = error("container c is not valid for pod p", 400);
        assert_eq!(
            refused.kind,
            ErrorKind::Refused(Some("container c is not valid for pod p".into()))
        );
    }
}
