//! Health checks whose texts are in the description of the job.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use crate::pod::Pod;

fn probe(pod: &Pod, probe: &Value, more: &[&str]) -> (i32, String, String) {
    pod.describe("j", &json!([]));
    pod.describe_more("j", &json!({"probes": {"a": {"liveness": probe}}}));
    let mut arguments = vec!["probe", "--job", "j", "--process", "a", "--name", "liveness"];
    arguments.extend(more);
    let mut command = pod.command(&arguments);
    command.env("POD_IP", "127.0.0.1");
    pod.run(command)
}

#[test]
fn a_command_has_its_arguments_and_its_status_is_that_of_the_probe() {
    let pod = Pod::new();
    let command = json!({"exec": ["sh", "-c", "echo $0 $POD_IP; exit 3", "a secret"]});
    let (code, output, _) = probe(&pod, &command, &[]);
    assert_eq!((code, output.as_str()), (3, "a secret 127.0.0.1\n"));
    let (code, _, error) = probe(&pod, &json!({"exec": ["/secret/program"]}), &[]);
    assert_eq!(code, 127);
    assert!(
        error.contains("cannot run the command of the probe") && !error.contains("secret"),
        "{error}"
    );
}

#[test]
fn a_request_has_its_headers_and_its_answer_decides() {
    let pod = Pod::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = thread::spawn(move || {
        let answers = ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 401 No\r\n\r\n", "hello\n"];
        answers.map(|answer| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = Vec::new();
            let mut byte = [0];
            while !text.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                text.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(text).unwrap()
        })
    });
    let request = json!({"http": {"host": "", "path": "/health?a=b", "headers": [["Authorization", "Bearer x"], ["host", "a.b"]]}});
    let codes = [(); 3].map(|()| probe(&pod, &request, &["--port", &port]).0);
    assert_eq!(codes, [0, 1, 125]);
    let expected = "GET /health?a=b HTTP/1.1\r\nUser-Agent: kube-probe/container-run\r\nAccept: */*\r\n\
                    Connection: close\r\nAuthorization: Bearer x\r\nhost: a.b\r\n\r\n";
    assert_eq!(server.join().unwrap()[0], expected);
    let (code, _, error) = probe(&pod, &request, &["--port", &port]);
    assert!(code == 125 && error.contains("no HTTP answer from port"), "{error}");
}

#[test]
fn a_header_cannot_smuggle_another_and_a_missing_probe_is_named() {
    let pod = Pod::new();
    let request = json!({"http": {"host": "", "path": "", "headers": [["X", "y\r\nZ: secret"]]}});
    let (code, _, error) = probe(&pod, &request, &[]);
    assert!(
        code == 125 && error.contains("contains a control character") && !error.contains("secret"),
        "{error}"
    );
    let (code, _, error) = pod.run(pod.command(&["probe", "--job", "j", "--process", "b", "--name", "startup"]));
    assert!(
        code == 125 && error.contains("process 'b' of job 'j' has no startup probe"),
        "{error}"
    );
}
