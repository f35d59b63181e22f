//! An answer, read to its end.

use std::{fmt, marker::PhantomData};

use bytes::Bytes;
use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName},
};
use serde::{
    Deserializer as _,
    de::{DeserializeOwned, SeqAccess, Visitor},
};

const KEPT_OF_AN_ERROR: usize = 2 * 1024;

/// An answer of any status, read to its end.
#[derive(Clone)]
pub struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The body of an answer is invalid.
///
/// The error has the position, not the content: the text may hold a manifest or a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableResponse {
    #[error("the body is not JSON at line {line}, column {column}")]
    NotJson {
        /// From 1.
        line: usize,
        /// From 0.
        column: usize,
    },
    #[error("the body's JSON has another shape than expected at line {line}, column {column}")]
    Shape {
        /// From 1.
        line: usize,
        /// From 0.
        column: usize,
    },
    #[error("the answer has no {missing}")]
    Missing { missing: &'static str },
}

impl From<serde_json::Error> for UnreadableResponse {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        if error.is_data() {
            Self::Shape { line, column }
        } else {
            Self::NotJson { line, column }
        }
    }
}

impl Response {
    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    pub fn json<T: DeserializeOwned>(&self) -> Result<T, UnreadableResponse> {
        Ok(serde_json::from_slice(&self.body)?)
    }

    /// The members of a body that is a JSON array, one after the other: at most one is in memory beside the body.
    pub fn each_of_json<T: DeserializeOwned>(
        &self,
        take: impl FnMut(T),
    ) -> Result<(), UnreadableResponse> {
        let mut body = serde_json::Deserializer::from_slice(&self.body);
        let each = Each {
            take,
            member: PhantomData,
        };
        body.deserialize_seq(each)?;
        Ok(body.end()?)
    }

    /// The body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as the text of an error, 2 KiB at most.
    pub fn error_text(&self) -> String {
        cut(&String::from_utf8_lossy(&self.body))
    }
}

struct Each<T, F> {
    take: F,
    member: PhantomData<T>,
}

impl<'de, T: DeserializeOwned, F: FnMut(T)> Visitor<'de> for Each<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(member) = members.next_element()? {
            (self.take)(member);
        }
        Ok(())
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Cuts an error's text to a length that can be logged.
pub fn cut(text: &str) -> String {
    let trimmed = text.trim();
    if trimmed.len() <= KEPT_OF_AN_ERROR {
        return trimmed.to_owned();
    }
    let end = trimmed.floor_char_boundary(KEPT_OF_AN_ERROR);
    format!("{}…", &trimmed[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(body: &'static str) -> (Vec<u8>, Result<(), UnreadableResponse>) {
        let answer = Response {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: Bytes::from_static(body.as_bytes()),
        };
        let mut taken = Vec::new();
        let read = answer.each_of_json(|member| taken.push(member));
        (taken, read)
    }

    #[test]
    fn an_array_is_read_member_by_member_to_its_end() {
        assert_eq!(each("[]"), (vec![], Ok(())));
        assert_eq!(each(" [1, 2,3]\n"), (vec![1, 2, 3], Ok(())));
        for broken in ["[1,2", "[1] 2", ""] {
            let error = each(broken).1.unwrap_err();
            assert!(
                matches!(error, UnreadableResponse::NotJson { .. }),
                "{broken}"
            );
        }
        for other in ["{}", "[\"a\"]", "[300]"] {
            let error = each(other).1.unwrap_err();
            assert!(matches!(error, UnreadableResponse::Shape { .. }), "{other}");
        }
    }
}
