//! A recorded exchange, read from its file (`tests/transcripts/README.md`, "Format of a file").

use std::path::Path;

use reqwest::Method;

const DIVIDER: &str = "=== response ===\n";
const CUT: &str = "\n[... transcript cut here";

/// One call and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    /// The file's name without its ending.
    pub(crate) name: String,
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) request_headers: Headers,
    pub(crate) request_body: String,
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Body,
}

/// Headers in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(Vec<(String, String)>);

/// The body of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Whole(String),
    /// A long one of which only the beginning was recorded.
    Beginning(String),
}

/// All transcripts, in the order in which they were recorded.
pub(crate) fn all() -> Vec<Transcript> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut found: Vec<Transcript> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "http"))
        .map(|path| Transcript::read(&path))
        .collect();
    found.sort_by_key(Transcript::order);
    found
}

/// One transcript by its name.
pub(crate) fn named(name: &str) -> Transcript {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    Transcript::read(&folder.join(format!("{name}.http")))
}

impl Transcript {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let (request, response) = text.split_once(DIVIDER).unwrap();
        let request = match request.strip_prefix('#') {
            Some(_) => request.split_once("\n\n").unwrap().1,
            None => request,
        };
        let (line, request_headers, request_body) = message(request);
        let (status, headers, body) = message(response);
        let (method, target) = line.split_once(' ').unwrap();
        let target = target.rsplit_once(' ').unwrap().0;
        let body = match body.split_once(CUT) {
            Some((beginning, _)) => Body::Beginning(beginning.to_owned()),
            None => Body::Whole(as_received(&body, &headers)),
        };
        Self {
            name,
            method: method.parse().unwrap(),
            target: target.to_owned(),
            request_body: as_sent(&request_body, &request_headers),
            request_headers,
            status: status.split(' ').nth(1).unwrap().parse().unwrap(),
            headers,
            body,
        }
    }

    /// The path without the query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// By time, in complete seconds; then by number; then changes before reads.
    fn order(&self) -> (String, String, u8, String) {
        let date = self.headers.get("date").unwrap_or_default();
        let time = date.split(' ').nth(4).unwrap_or_default();
        let rank = match (&self.method, self.path().ends_with("/output")) {
            (&Method::GET, false) if self.path().starts_with("/tasks/") => 1,
            (&Method::GET, true) => 2,
            (&Method::GET, false) => 3,
            _ => 0,
        };
        let rank = if self.status == 302 { 0 } else { rank };
        (
            time.to_owned(),
            self.name[..3].to_owned(),
            rank,
            self.name.clone(),
        )
    }
}

impl Headers {
    /// The value of a header; names are compared without regard to case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut headers = self.0.iter();
        headers
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn length(&self) -> Option<usize> {
        self.get("content-length")?.parse().ok()
    }
}

/// First line, headers and body.
fn message(text: &str) -> (String, Headers, String) {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let first = lines.next().unwrap().to_owned();
    let headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    (first, Headers(headers), body.to_owned())
}

/// The body of a request. The files end in newlines that were not sent; a manifest whose password was scrubbed has
/// lost its true length, and ended in a newline.
fn as_sent(body: &str, headers: &Headers) -> String {
    let text = body.trim_end_matches('\n');
    let is_scrubbed = text.contains("SCRUBBED-PASSWORD");
    let had_newline = headers.length().is_some_and(|length| length > text.len());
    if had_newline || is_scrubbed {
        format!("{text}\n")
    } else {
        text.to_owned()
    }
}

/// The body of an answer. The files end with a newline that was not received, unless the length says so.
fn as_received(body: &str, headers: &Headers) -> String {
    if headers.length() == Some(body.len()) {
        return body.to_owned();
    }
    body.strip_suffix('\n').unwrap_or(body).to_owned()
}
