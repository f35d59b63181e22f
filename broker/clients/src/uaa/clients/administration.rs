//! Create, look up, update, delete, and change secrets.

use std::{fmt, sync::Arc};

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::{
    ClientAdministrationError, ClientId, ClientRegistration, ClientRights, CreateClientError,
    NewClient, SecretChange,
};
use crate::{
    http::{
        Answer, Call, ClientError, HttpClient, Limits, Method, Neighbour, Repeat, Request,
        StatusCode, TransportError, Trust, UnreadableAnswer, address, cut,
    },
    uaa::{AuthorizedError, TokenError, TokenSource},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-vcap-request-id");
const JSON: &str = "application/json";

/// Administers the clients of a UAA. Cheap to clone; clones share connections and token.
#[derive(Clone)]
pub struct ClientAdministration(Arc<Inner>);

struct Inner {
    http: HttpClient,
    server: Url,
    tokens: TokenSource,
}

impl ClientAdministration {
    /// The UAA at `url` (`https` if no scheme is given). Nothing is sent yet.
    pub fn connect(
        url: &str,
        trust: &Trust,
        tokens: TokenSource,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        Ok(Self(Arc::new(Inner {
            server: address::server(url)?,
            http: HttpClient::new(trust, limits)?.of(Neighbour::Uaa),
            tokens,
        })))
    }

    /// What we may do to clients, as the token tells. Safe to repeat.
    pub async fn rights(&self, call: &Call) -> Result<ClientRights, TokenError> {
        Ok(ClientRights::of(&self.0.tokens.token(call).await?))
    }

    /// Registers a client and tells what it is registered with: a UAA adds to what it is sent.
    ///
    /// It is sent again only as long as no connection has come about. When an answer is lost, the client tells whether
    /// it has been registered.
    #[tracing::instrument(name = "uaa.create_client", skip_all)]
    pub async fn create(
        &self,
        call: &Call,
        client: &NewClient,
    ) -> Result<ClientRegistration, CreateClientError> {
        let url = address::on(&self.0.server, &["oauth", "clients"], &[]);
        let request =
            Request::new(Method::POST, url, Repeat::WhileUnsent).body(JSON, client.body());
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        if answer.status() == StatusCode::CONFLICT {
            return Err(CreateClientError::Exists);
        }
        Ok(asked.understood(&answer)?)
    }

    /// Looks a client up. Safe to repeat.
    #[tracing::instrument(name = "uaa.client", skip_all)]
    pub async fn client(
        &self,
        call: &Call,
        id: &ClientId,
    ) -> Result<Option<ClientRegistration>, ClientAdministrationError> {
        let request = Request::get(self.address(id));
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        asked.understood(&answer).map(Some)
    }

    /// Changes a client and tells what it is registered with from then on. A list that is sent empty stays as it is, and
    /// so does the secret. Safe to repeat.
    #[tracing::instrument(name = "uaa.update_client", skip_all)]
    pub async fn update(
        &self,
        call: &Call,
        client: &ClientRegistration,
    ) -> Result<ClientRegistration, ClientAdministrationError> {
        let body = serde_json::to_vec(client)
            .expect("a registration is made of texts, lists and maps with text keys");
        let request = Request::new(
            Method::PUT,
            self.address(&client.client_id),
            Repeat::WhenTransient,
        )
        .body(JSON, body);
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        asked.understood(&answer)
    }

    /// Changes the secrets of a client, of which it has two at most. Refused to whoever does not administer all clients, and
    /// where there is no place for one more, or only one that could be deleted.
    ///
    /// It is sent again after trouble on the way: what has been done by then is refused, or done with the same end.
    #[tracing::instrument(name = "uaa.change_client_secret", skip_all)]
    pub async fn change_secret(
        &self,
        call: &Call,
        id: &ClientId,
        change: &SecretChange,
    ) -> Result<(), ClientAdministrationError> {
        let url = address::on(
            &self.0.server,
            &["oauth", "clients", id.as_str(), "secret"],
            &[],
        );
        let request =
            Request::new(Method::PUT, url, Repeat::WhenTransient).body(JSON, change.body(id));
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        if answer.status().is_success() {
            Ok(())
        } else {
            Err(asked.refusal(&answer))
        }
    }

    /// Deletes a client. One that is not there is as good as deleted. Safe to repeat.
    #[tracing::instrument(name = "uaa.delete_client", skip_all)]
    pub async fn delete(
        &self,
        call: &Call,
        id: &ClientId,
    ) -> Result<(), ClientAdministrationError> {
        let request = Request::new(Method::DELETE, self.address(id), Repeat::WhenTransient);
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        let status = answer.status();
        if status.is_success() || status == StatusCode::NOT_FOUND {
            Ok(())
        } else {
            Err(asked.refusal(&answer))
        }
    }

    fn address(&self, id: &ClientId) -> Url {
        address::on(&self.0.server, &["oauth", "clients", id.as_str()], &[])
    }

    async fn send(
        &self,
        call: &Call,
        request: Request,
    ) -> Result<Answer, ClientAdministrationError> {
        let asked = Asked::of(&request);
        let request = request
            .header(ACCEPT, HeaderValue::from_static(JSON))
            .request_id(REQUEST_ID, call);
        let (http, tokens) = (&self.0.http, &self.0.tokens);
        let answer = http
            .send_with_token(call, request, tokens, refuses_token)
            .await;
        answer.map_err(|error| match error {
            AuthorizedError::Transport(TransportError::OutOfTime { sent }) => {
                asked.out_of_time(sent)
            }
            AuthorizedError::Transport(source) => asked.no_answer(source),
            AuthorizedError::Token(source) if source.is_out_of_time() => asked.out_of_time(false),
            AuthorizedError::Token(source) => ClientAdministrationError::NoToken { source },
        })
    }
}

impl fmt::Debug for ClientAdministration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAdministration")
            .field("server", &self.0.server.as_str())
            .finish_non_exhaustive()
    }
}

/// A bad or expired token; one that lacks a right is 403.
fn refuses_token(answer: &Answer) -> bool {
    answer.status() == StatusCode::UNAUTHORIZED
}

/// What was asked, for errors.
struct Asked {
    method: Method,
    path: String,
}

impl Asked {
    fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            path: request.path().to_owned(),
        }
    }

    fn understood<T: DeserializeOwned>(
        self,
        answer: &Answer,
    ) -> Result<T, ClientAdministrationError> {
        if !answer.status().is_success() {
            return Err(self.refusal(answer));
        }
        answer.json().map_err(|source| self.not_understood(source))
    }

    fn refusal(self, answer: &Answer) -> ClientAdministrationError {
        let said: Refusal = answer.json().unwrap_or_default();
        ClientAdministrationError::Refused {
            method: self.method,
            path: self.path,
            status: answer.status(),
            error: cut(&said.error),
            description: match said.error_description {
                Some(description) => cut(&description),
                None => answer.error_text(),
            },
        }
    }

    fn not_understood(self, source: UnreadableAnswer) -> ClientAdministrationError {
        ClientAdministrationError::NotUnderstood {
            method: self.method,
            path: self.path,
            source,
        }
    }

    fn no_answer(self, source: TransportError) -> ClientAdministrationError {
        ClientAdministrationError::NoAnswer {
            method: self.method,
            path: self.path,
            source,
        }
    }

    fn out_of_time(self, sent: bool) -> ClientAdministrationError {
        ClientAdministrationError::OutOfTime {
            method: self.method,
            path: self.path,
            sent,
        }
    }
}

#[derive(Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    error: String,
    error_description: Option<String>,
}
