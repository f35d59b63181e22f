//! Rendering with the templates, the headers of every answer, and errors.

use std::{error::Error, sync::LazyLock};

use actix_web::{
    HttpMessage, HttpResponse, ResponseError,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    middleware::Next,
};
use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_config::UiAction;
use odb_core::operations::RequestContext;
use serde::Serialize;
use tera::{Context, Tera};

use super::{
    assets::{ASSETS, AssetNames},
    csrf::is_forged,
    is_page,
    page::Page,
    words::{Moment, Piece, pieces},
};
use crate::api::{ApiError, Run};

macro_rules! templates {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("templates/", $name)))),+]
    };
}

const TEMPLATES: &[(&str, &str)] = templates![
    "base.html",
    "parts.html",
    "audit.html",
    "changes.html",
    "confirm.html",
    "error.html",
    "health.html",
    "instance.html",
    "instances.html",
    "operation.html",
    "quotas.html",
    "rollouts.html",
];

static TERA: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::new();
    tera.autoescape_on([".html"]);
    tera.add_raw_templates(TEMPLATES.iter().copied())
        .expect("they are part of the program, and every test of the page renders them");
    tera
});

/// Everything comes from the broker itself. The browser may run the page's script and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What every view shows around its own part.
#[derive(Debug, Serialize)]
struct Frame<'a> {
    offering: &'a str,
    version: &'a str,
    started: Moment,
    reads_only: bool,
    assets: &'a AssetNames,
    view: &'static str,
}

/// Renders a view. `view` is the entry of the navigation that it belongs to.
pub(super) fn page(
    run: &Run,
    view: &'static str,
    template: &'static str,
    content: &impl Serialize,
) -> Result<HttpResponse, PageError> {
    let page = the_page(run)?;
    let frame = Frame {
        offering: &run.app.operations.offering().name,
        version: env!("CARGO_PKG_VERSION"),
        started: Moment::of(page.started(), Timestamp::now()),
        reads_only: page.reads_only(),
        assets: &ASSETS,
        view,
    };
    let mut values = context(content)?;
    values.insert("frame", &frame);
    Ok(html(StatusCode::OK, render(template, &values)?))
}

/// Renders a part of a view.
pub(super) fn part(template: &'static str, content: &impl Serialize) -> Result<String, PageError> {
    render(template, &context(content)?)
}

fn context(content: &impl Serialize) -> Result<Context, PageError> {
    Context::from_serialize(content).map_err(|error| unrendered(&error))
}

fn render(template: &str, context: &Context) -> Result<String, PageError> {
    TERA.render(template, context)
        .map_err(|error| unrendered(&error))
}

fn unrendered(error: &tera::Error) -> PageError {
    tracing::error!(error = %odb_redaction::Chain(error), "a page could not be rendered");
    PageError(ApiError::unattended())
}

fn html(status: StatusCode, text: String) -> HttpResponse {
    let mut response = HttpResponse::build(status);
    response.content_type("text/html; charset=utf-8").body(text)
}

/// The page itself. Its routes are there only if it is.
pub(super) fn the_page(run: &Run) -> Result<&Page, PageError> {
    let page = run.app.page.as_ref();
    page.ok_or_else(|| ApiError::not_found("This page does not exist.").into())
}

pub(super) fn forbidden(text: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, Code::Forbidden, text)
}

/// Whether an action is offered.
pub(super) fn offers(run: &Run, action: UiAction) -> bool {
    run.app
        .page
        .as_ref()
        .is_some_and(|page| page.allows(action))
}

/// An error as a page.
#[derive(Debug)]
pub(super) struct PageError(ApiError);

/// An error in the place of the part of a page that it prevents.
#[derive(Debug, Serialize)]
pub(super) struct ErrorView {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) text: Vec<Piece>,
    pub(super) remedy: &'static str,
}

impl ErrorView {
    /// The log has it as well.
    pub(super) fn of(error: &ApiError) -> Self {
        error.log();
        Self::of_logged(error)
    }

    fn of_logged(error: &ApiError) -> Self {
        Self {
            status: error.status.as_u16(),
            code: error.code.to_string(),
            text: pieces(&error.for_user),
            remedy: remedy(error),
        }
    }
}

fn remedy(error: &ApiError) -> &'static str {
    match error.status {
        StatusCode::NOT_FOUND => "Check the address, or start from the list of instances.",
        StatusCode::FORBIDDEN => "Start again from the list of instances.",
        StatusCode::BAD_REQUEST => "Go back and try again.",
        StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => "Try again in a moment.",
        StatusCode::METHOD_NOT_ALLOWED => "Use the links and buttons of the page.",
        _ => "Look at Health, then at the broker's log; the guide to error codes says what to do.",
    }
}

impl From<ApiError> for PageError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for PageError {}

impl ResponseError for PageError {
    fn status_code(&self) -> StatusCode {
        self.0.status
    }

    /// `secure` renders it.
    fn error_response(&self) -> HttpResponse {
        self.0.log();
        HttpResponse::new(self.0.status)
    }
}

/// An error with the headers that the APIs give it.
fn error_page(error: &ApiError, request: &str) -> HttpResponse {
    #[derive(Serialize)]
    struct Content<'a> {
        error: ErrorView,
        request: &'a str,
        assets: &'a AssetNames,
    }
    let content = Content {
        error: ErrorView::of_logged(error),
        request,
        assets: &ASSETS,
    };
    let text = context(&content).and_then(|context| render("error.html", &context));
    let Ok(text) = text else {
        return HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut response = html(error.status, text);
    let of_api = error.answer();
    for name in [header::ALLOW, header::RETRY_AFTER] {
        if let Some(value) = of_api.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

/// The error of an answer, of a view or of what reads its request.
fn error_of<B>(response: &ServiceResponse<B>) -> Option<&ApiError> {
    let error = response.response().error()?;
    let of_view = error.as_error::<PageError>().map(|PageError(error)| error);
    of_view.or_else(|| error.as_error::<ApiError>())
}

/// Adds the headers of every answer below the page, and renders errors.
pub(super) async fn secure(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let error = if !is_page(request.path()) || request.path().contains('%') {
        // A differently spelled path is not authenticated or audited as the page's, which needs no escapes.
        Some(ApiError::not_found("This page does not exist."))
    } else if is_forged(request.method(), request.path(), request.headers()) {
        Some(forbidden(
            "The request comes from another site, or a proxy has changed its host. Open the page itself.",
        ))
    } else {
        None
    };
    let id = request.extensions().get::<RequestContext>().cloned();
    let id = id.map(|context| context.request.to_string());
    let id = id.unwrap_or_default();
    let mut response = if let Some(error) = error {
        error.log();
        request.into_response(error_page(&error, &id))
    } else {
        let response = next.call(request).await?.map_into_boxed_body();
        match error_of(&response).map(|error| error_page(error, &id)) {
            Some(rendered) => response.into_response(rendered),
            None => response,
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers would not name the origin of a form.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    keep_out_of_caches(headers);
    Ok(response)
}

fn keep_out_of_caches(headers: &mut HeaderMap) {
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_can_be_read_and_escapes_values() {
        assert_eq!(TERA.get_template_names().count(), TEMPLATES.len());
        let error = ApiError::not_found("<script>alert(1)</script>");
        let body = error_page(&error, "r").into_body();
        let body = body.try_into_bytes().unwrap();
        let text = std::str::from_utf8(&body).unwrap();
        assert!(text.contains("&lt;script&gt;alert(1)"), "{text}");
        assert!(!text.contains("<script>alert"), "{text}");
    }
}
