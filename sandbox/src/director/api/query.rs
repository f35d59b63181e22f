//! Parameters of a query, as Rack takes them apart.

use actix_web::HttpRequest;
use url::form_urlencoded;

/// The parameters of a query, in the order in which they were sent.
pub(super) struct Parameters(Vec<(String, String)>);

pub(super) fn parameters(request: &HttpRequest) -> Parameters {
    let pairs = form_urlencoded::parse(request.query_string().as_bytes());
    Parameters(pairs.into_owned().collect())
}

impl Parameters {
    /// One parameter; the last one counts.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().rev();
        values
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The elements of a list, which is written `name[]`.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(key, _)| key == name);
        values.map(|(_, value)| value.clone()).collect()
    }
}
