//! The connection to the Cloud Controller: tokens, calls, lists, errors.

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::{Url, form_urlencoded};

use super::arguments::Identity;
use super::exchange::{Answer, ClientError, exchange, http_client};
use super::foundation::{Foundation, User};
use super::wire::{Included, Link, Page, SpaceGuid};

/// 5,000 resources where a page has the usual 50.
const PAGE_LIMIT: usize = 100;

/// The credentials of the cf command line at the UAA: client `cf` with an empty secret.
const CF_CLIENT: &str = "Basic Y2Y6";

/// One user's connection to the Cloud Controller. It makes one call at a time.
pub(super) struct Client {
    http: reqwest::Client,
    cloud_controller: Url,
    uaa: Url,
    user: User,
    space: SpaceGuid,
    token: Option<SecretString>,
}

/// The path of a job, below the Cloud Controller's address.
#[derive(Clone, Debug)]
pub(super) struct JobPath(String);

/// The result of a change request.
#[derive(Debug)]
pub(super) enum Change {
    /// It is done.
    Done,
    /// The Cloud Controller works on it.
    Started(JobPath),
}

/// All pages of a list.
#[derive(Debug)]
pub(super) struct Listing<T> {
    pub(super) resources: Vec<T>,
    pub(super) included: Included,
}

/// A query: names and values as they are meant, encoded on the way out.
pub(super) type Query<'a> = &'a [(&'a str, &'a str)];

impl Client {
    pub(super) async fn new(
        foundation: &Foundation,
        identity: Identity,
    ) -> Result<Self, ClientError> {
        Ok(Self {
            http: http_client(&foundation.ca_certificate).await?,
            cloud_controller: foundation.cloud_controller.url.clone(),
            uaa: foundation.cloud_controller.uaa_url.clone(),
            user: foundation.cloud_controller.user(identity).clone(),
            space: foundation.cloud_controller.space.guid.clone(),
            token: None,
        })
    }

    /// The space in which services are ordered.
    pub(super) fn space(&self) -> &SpaceGuid {
        &self.space
    }

    /// The name of the logged-in user.
    pub(super) fn user_name(&self) -> &str {
        &self.user.name
    }

    /// Makes something that is there at once, and reads what was made.
    pub(super) async fn make<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|source| ClientError::Unwritable { source })?;
        let url = self.url(path, &[]);
        let answer = self.call(&Method::POST, url, Some(body)).await?;
        if answer.status.is_success() {
            answer.json()
        } else {
            Err(answer.refused())
        }
    }

    /// Reads one resource.
    pub(super) async fn get<T: DeserializeOwned>(
        &mut self,
        path: &str,
        query: Query<'_>,
    ) -> Result<T, ClientError> {
        let url = self.url(path, query);
        self.get_url(url).await
    }

    /// Reads the first page of a list, for look-ups that want one hit.
    pub(super) async fn first_page<T: DeserializeOwned>(
        &mut self,
        path: &str,
        query: Query<'_>,
    ) -> Result<Listing<T>, ClientError> {
        let page: Page<T> = self.get(path, query).await?;
        Ok(Listing {
            resources: page.resources,
            included: page.included,
        })
    }

    /// Reads the resource behind a link.
    pub(super) async fn get_link<T: DeserializeOwned>(
        &mut self,
        link: &Link,
    ) -> Result<T, ClientError> {
        let url = self.below_base(&link.href);
        self.get_url(url).await
    }

    /// Reads a job.
    pub(super) async fn job<T: DeserializeOwned>(
        &mut self,
        job: &JobPath,
    ) -> Result<T, ClientError> {
        let url = self.below_base(&job.0);
        self.get_url(url).await
    }

    /// Reads all pages of a list.
    pub(super) async fn list<T: DeserializeOwned>(
        &mut self,
        path: &str,
        query: Query<'_>,
    ) -> Result<Listing<T>, ClientError> {
        let mut listing = Listing {
            resources: Vec::new(),
            included: Included::default(),
        };
        let mut url = self.url(path, query);
        for _ in 0..PAGE_LIMIT {
            let mut page: Page<T> = self.get_url(url).await?;
            listing.resources.append(&mut page.resources);
            listing.included.append(page.included);
            match page.pagination.next {
                Some(next) => url = self.below_base(&next.href),
                None => return Ok(listing),
            }
        }
        Err(ClientError::TooLong {
            path: path.to_owned(),
        })
    }

    /// Sends a request with this path and query, and returns the body unchanged.
    pub(super) async fn text(&mut self, path_and_query: &str) -> Result<Vec<u8>, ClientError> {
        let url = self.below_base(path_and_query);
        let answer = self.call(&Method::GET, url, None).await?;
        if answer.status.is_success() {
            Ok(answer.body)
        } else {
            Err(answer.refused())
        }
    }

    /// Asks for a change. Not repeated after a lost answer.
    pub(super) async fn change(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<Change, ClientError> {
        self.change_with(method, path, &[], body).await
    }

    /// The same with a query.
    pub(super) async fn change_with(
        &mut self,
        method: Method,
        path: &str,
        query: Query<'_>,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<Change, ClientError> {
        let body = body
            .map(serde_json::to_vec)
            .transpose()
            .map_err(|source| ClientError::Unwritable { source })?;
        let answer = self.call(&method, self.url(path, query), body).await?;
        match answer.status {
            StatusCode::ACCEPTED => match answer.location {
                Some(job) => Ok(Change::Started(JobPath(job))),
                None => Err(ClientError::NoJob {
                    method,
                    path: path.to_owned(),
                }),
            },
            status if status.is_success() => Ok(Change::Done),
            _ => Err(answer.refused()),
        }
    }

    /// Reads what is safe to read again: a lost answer is asked for twice more at once, as cf CLI v8 does.
    async fn get_url<T: DeserializeOwned>(&mut self, url: Url) -> Result<T, ClientError> {
        let mut repeats = 2;
        loop {
            let error = match self.call(&Method::GET, url.clone(), None).await {
                Ok(answer) if answer.status.is_success() => return answer.json(),
                Ok(answer) => answer.refused(),
                Err(error) => error,
            };
            if repeats == 0 || !error.is_transient() {
                return Err(error);
            }
            repeats -= 1;
        }
    }

    /// Makes one call. A token that has run out is replaced once: a call that was not let in has changed nothing.
    async fn call(
        &mut self,
        method: &Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<Answer, ClientError> {
        let token = match self.token.take() {
            Some(token) => token,
            None => self.log_in().await?,
        };
        let answer = self.send(method, url.clone(), body.clone(), &token).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            self.token = Some(token);
            return Ok(answer);
        }
        let token = self.log_in().await?;
        let answer = self.send(method, url, body, &token).await;
        self.token = Some(token);
        answer
    }

    async fn send(
        &self,
        method: &Method,
        url: Url,
        body: Option<Vec<u8>>,
        token: &SecretString,
    ) -> Result<Answer, ClientError> {
        let mut request = self
            .http
            .request(method.clone(), url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("bearer {}", token.expose_secret()));
        if let Some(body) = body {
            request = request.body(body);
        }
        exchange(method, &url, request).await
    }

    /// Takes a token from the UAA with the password grant, as `cf auth` does.
    async fn log_in(&self) -> Result<SecretString, ClientError> {
        let mut url = self.uaa.clone();
        url.set_path("/oauth/token");
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "password")
            .append_pair("password", self.user.password.expose_secret())
            .append_pair("username", &self.user.name)
            .finish();
        let request = self
            .http
            .post(url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(AUTHORIZATION, CF_CLIENT)
            .body(form);
        let answer = exchange(&Method::POST, &url, request).await?;
        if !answer.status.is_success() {
            return Err(ClientError::LoginRefused {
                user: self.user.name.clone(),
                status: answer.status,
            });
        }
        Ok(answer.json::<Token>()?.access_token)
    }

    fn url(&self, path: &str, query: Query<'_>) -> Url {
        let mut url = self.cloud_controller.clone();
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Path and query of `href` below the configured address: links have the external domain, which may differ from the
    /// address in use.
    fn below_base(&self, href: &str) -> Url {
        let external = Url::parse(href).ok();
        let (path, query) = match &external {
            Some(url) => (url.path(), url.query()),
            None => href
                .split_once('?')
                .map_or((href, None), |(path, query)| (path, Some(query))),
        };
        let mut url = self.cloud_controller.clone();
        url.set_path(path);
        url.set_query(query);
        url
    }
}

#[derive(Deserialize)]
struct Token {
    access_token: SecretString,
}
