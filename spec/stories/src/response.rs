//! The broker's answer.

use reqwest::header::HeaderMap;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Response {
    pub(crate) async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("the answer is complete");
        Self {
            status,
            headers,
            text,
        }
    }

    /// The body. One that is no JSON, or does not say so, fails the test.
    pub fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            "application/json",
            "the answer is no JSON: {self:?}"
        );
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("the answer is no JSON ({error}): {self:?}"))
    }

    pub fn description(&self) -> String {
        self.text_member("description")
    }

    pub fn error(&self) -> String {
        self.text_member("error")
    }

    pub fn request_id(&self) -> String {
        self.header("x-request-id").to_owned()
    }

    /// A header, empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The token of an operation that was accepted; any other answer fails the test.
    pub fn accepted(&self) -> String {
        self.expect_status(202);
        self.text_member("operation")
    }

    /// The operation data of an operation that an operator has started; any other answer fails the test.
    pub fn operation_data(&self) -> Value {
        let data = self.expect_status(202).json();
        assert!(
            data["BoshTaskID"].is_u64(),
            "it is no operation data: {self:?}"
        );
        data
    }

    /// Fails the test when the status is another one.
    pub fn expect_status(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    fn text_member(&self, name: &str) -> String {
        let body = self.json();
        let member = body[name].as_str();
        member
            .unwrap_or_else(|| panic!("the answer has no `{name}`: {self:?}"))
            .to_owned()
    }
}
