//! Reads HTTP requests. Every process of the pod can send them, so all sizes have a limit.

/// Bytes of a request, its body included; monit's clients send about 200.
pub const MAX_REQUEST_BYTES: usize = 4096;
/// The end of the head.
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// A status of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: u16,
    pub reason: &'static str,
}

// === impl Status ===

impl Status {
    const fn new(code: u16, reason: &'static str) -> Self {
        Self { code, reason }
    }
}

pub const OK: Status = Status::new(200, "OK");
pub const BAD_REQUEST: Status = Status::new(400, "Bad Request");
/// It needs a user and a password.
pub const UNAUTHORIZED: Status = Status::new(401, "Unauthorized");
/// No service or page has this name.
pub const NOT_FOUND: Status = Status::new(404, "Not Found");
pub const TOO_LARGE: Status = Status::new(413, "Payload Too Large");
/// monit does not know the method, or the coding of the body.
pub const NOT_IMPLEMENTED: Status = Status::new(501, "Not Implemented");
/// Another action runs; clients try again.
pub const UNAVAILABLE: Status = Status::new(503, "Service Unavailable");

/// The methods that monit knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    /// Start an action.
    Post,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub method: Method,
    /// The path, from its `/`.
    pub path: &'a str,
    pub query: &'a str,
    pub authorization: Option<&'a str>,
    pub body: &'a str,
}

/// A request, or the status with which it is refused.
pub type Parsed<'a> = Result<Request<'a>, Status>;

/// Reads a request; none: only its beginning has arrived so far.
pub fn parse(bytes: &[u8]) -> Option<Parsed<'_>> {
    let is_full = bytes.len() >= MAX_REQUEST_BYTES;
    read(bytes).transpose().or(is_full.then_some(Err(TOO_LARGE)))
}

fn read(bytes: &[u8]) -> Result<Option<Request<'_>>, Status> {
    let end = bytes.windows(BLANK_LINE.len()).position(|window| window == BLANK_LINE);
    let Some(end) = end else { return Ok(None) };
    let head = text(&bytes[..end])?;
    let mut lines = head.split("\r\n");
    let (method, target) = request_line(lines.next().unwrap_or_default())?;
    let (mut authorization, mut length) = (None, None);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(BAD_REQUEST)?;
        let value = value.trim_matches([' ', '\t']);
        match name.to_ascii_lowercase().as_str() {
            // Which of two lengths or users counts would be a guess.
            "content-length" if length.replace(number(value)?).is_some() => return Err(BAD_REQUEST),
            "authorization" if authorization.replace(value).is_some() => return Err(BAD_REQUEST),
            "transfer-encoding" => return Err(NOT_IMPLEMENTED),
            // A line that continues the one before, or a blank before the colon.
            "" => return Err(BAD_REQUEST),
            name if name.contains([' ', '\t']) => return Err(BAD_REQUEST),
            _ => {}
        }
    }
    let (start, length) = (end + BLANK_LINE.len(), length.unwrap_or(0));
    if length > MAX_REQUEST_BYTES - start.min(MAX_REQUEST_BYTES) {
        return Err(TOO_LARGE);
    }
    let Some(body) = bytes.get(start..start + length) else {
        return Ok(None);
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(Some(Request {
        method,
        path,
        query,
        authorization,
        body: text(body)?,
    }))
}

fn request_line(line: &str) -> Result<(Method, &str), Status> {
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, "HTTP/1.0" | "HTTP/1.1"] = words[..] else {
        return Err(BAD_REQUEST);
    };
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        _ => return Err(NOT_IMPLEMENTED),
    };
    if !target.starts_with('/') {
        return Err(BAD_REQUEST);
    }
    Ok((method, target))
}

/// Only digits: `parse` accepts a sign, too.
fn number(value: &str) -> Result<usize, Status> {
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BAD_REQUEST);
    }
    value.parse().map_err(|_| TOO_LARGE)
}

/// What monit's clients send is ASCII, without control characters except for those at the end of a line.
fn text(bytes: &[u8]) -> Result<&str, Status> {
    let text = std::str::from_utf8(bytes).map_err(|_| BAD_REQUEST)?;
    let mut rest = text.split("\r\n");
    let is_plain = |part: &str| part.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t');
    if rest.all(is_plain) { Ok(text) } else { Err(BAD_REQUEST) }
}

// === impl Request ===

impl Request<'_> {
    /// A parameter of the query or of a form, which monit treats alike.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').chain(self.body.split('&'));
        let mut named = pairs
            .filter_map(|pair| pair.split_once('='))
            .filter(|(key, _)| *key == name);
        named.next().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str =
        "GET /_status?format=xml HTTP/1.1\r\nHost: 127.0.0.1:2822\r\nauthorization:  Basic eA==\r\n\r\n";
    const START: &str = "POST /nats HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\naction=start";

    #[test]
    fn requests_are_read_when_they_are_whole() {
        let Some(Ok(status)) = parse(STATUS.as_bytes()) else {
            panic!()
        };
        assert_eq!((status.method, status.path), (Method::Get, "/_status"));
        assert_eq!(status.parameter("format"), Some("xml"));
        assert_eq!(status.authorization, Some("Basic eA=="));
        let Some(Ok(start)) = parse(START.as_bytes()) else {
            panic!()
        };
        assert_eq!((start.method, start.path), (Method::Post, "/nats"));
        assert_eq!(start.parameter("action"), Some("start"));
        for text in [STATUS, START] {
            for end in 0..text.len() {
                assert_eq!(parse(&text.as_bytes()[..end]), None, "{end}");
            }
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for (text, status) in [
            ("GET / HTTP/2\r\n\r\n", BAD_REQUEST),
            ("GET  / HTTP/1.1\r\n\r\n", BAD_REQUEST),
            ("GET http://a/ HTTP/1.1\r\n\r\n", BAD_REQUEST),
            ("PUT / HTTP/1.1\r\n\r\n", NOT_IMPLEMENTED),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", BAD_REQUEST),
            ("GET / HTTP/1.1\r\nA: b\r\n continued: c\r\n\r\n", BAD_REQUEST),
            (
                "GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
                BAD_REQUEST,
            ),
            ("GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", BAD_REQUEST),
            ("GET /\u{e9} HTTP/1.1\r\n\r\n", BAD_REQUEST),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
                BAD_REQUEST,
            ),
            ("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\na", BAD_REQUEST),
            (
                "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\na",
                TOO_LARGE,
            ),
            ("POST / HTTP/1.1\r\nContent-Length: 4090\r\n\r\na", TOO_LARGE),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", NOT_IMPLEMENTED),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(Err(status)), "{text:?}");
        }
        let endless = [b'a'; MAX_REQUEST_BYTES];
        assert_eq!(parse(&endless[1..]), None);
        assert_eq!(parse(&endless), Some(Err(TOO_LARGE)));
    }
}
