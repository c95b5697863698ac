//! What comes back instead of a token.

use super::registry;
use super::server::{reply, serve};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_no_header_ends_the_reading_of_the_image_only() {
    let address = serve(|request, stream, address| match request.path.as_str() {
        "/v2/" => {
            let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{address}/token\",service=\"r\"\r\n");
            reply(stream, "401 Unauthorized", &challenge, b"");
        }
        _ => reply(stream, "200 OK", "", br#"{"token":"CANARY\nb"}"#),
    });
    let cache = tempfile::tempdir().unwrap();
    let registry = registry(address, cache.path());
    let error = registry.fetch(&format!("{address}/nats:1"), None).await.unwrap_err();
    assert_eq!(error.code, "image-registry", "{error:?}");
    assert!(!format!("{error:?}").contains("CANARY"));
}
