//! The operations.

use std::fmt;

use odb_stories::{Order, Platform, Response, new_id};
use reqwest::RequestBuilder;
use serde_json::json;

use super::stage::{Stage, VERSION};

/// A request to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Provision,
    /// The same when both UAAs have forgotten their tokens.
    FirstProvision,
    Update,
    PlanChange,
    Upgrade,
    Recreate,
    Bind,
    /// The same when the Cloud Controller's UAA has forgotten its tokens.
    FirstBind,
    Unbind,
    Deprovision,
    /// A poll when the broker has been started anew.
    Poll,
}

/// The subject of an operation.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) instance: String,
    pub(super) binding: String,
    app: String,
    token: String,
}

/// The meaning of the answer to an operation's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It is in progress, with this token.
    Accepted(String),
    /// It is done.
    Done,
    Refused,
}

impl Operation {
    pub(super) const ALL: [Self; 11] = [
        Self::Provision,
        Self::FirstProvision,
        Self::Update,
        Self::PlanChange,
        Self::Upgrade,
        Self::Recreate,
        Self::Bind,
        Self::FirstBind,
        Self::Unbind,
        Self::Deprovision,
        Self::Poll,
    ];

    /// Makes everything that has to be there before.
    pub(super) async fn prepare(self, stage: &mut Stage) -> Subject {
        let mut subject = Subject {
            instance: new_id(),
            binding: new_id(),
            app: new_id(),
            token: String::new(),
        };
        if self.provisions() {
            if self == Self::FirstProvision {
                stage.control.revoke_tokens("bosh-uaa").await;
                stage.control.revoke_tokens("cf-uaa").await;
            }
            return subject;
        }
        let platform = stage.broker.platform();
        let order = Order::small();
        let ordered = platform.provision(&subject.instance, &order).await;
        subject.token = ordered.accepted();
        platform.succeeds(&subject.instance, &subject.token).await;
        match self {
            // From now on the broker has a token for the runtime CredHub.
            Self::Bind => {
                let unbound = platform.unbind(&subject.instance, &new_id()).await;
                unbound.expect_status(200);
            }
            Self::FirstBind => stage.control.revoke_tokens("cf-uaa").await,
            Self::Unbind => {
                let Subject {
                    instance,
                    binding,
                    app,
                    ..
                } = &subject;
                let bound = platform.bind_app(instance, binding, app).await;
                bound.expect_status(201);
            }
            Self::Poll => stage.restart().await,
            _ => {}
        }
        subject
    }

    /// The request, which can be sent again.
    pub(super) fn request(self, platform: &Platform, subject: &Subject) -> RequestBuilder {
        let Subject {
            instance,
            binding,
            app,
            token,
        } = subject;
        match self {
            Self::Provision | Self::FirstProvision => {
                platform.provision_request(instance, &Order::small())
            }
            Self::Update => {
                let parameters = json!({ "maxclients": 150, "odb_managed_secret": "another" });
                let change = Order::small().with_parameters(parameters);
                platform.update_request(instance, &change)
            }
            Self::PlanChange => platform.update_request(instance, &Order::large()),
            Self::Upgrade => {
                let upgrade = Order::small();
                let plan = upgrade.member("plan_id").clone();
                let upgrade = upgrade
                    .with("maintenance_info", json!({ "version": VERSION }))
                    .with(
                        "previous_values",
                        json!({ "plan_id": plan, "maintenance_info": { "version": "0.9.0" } }),
                    );
                platform.update_request(instance, &upgrade)
            }
            Self::Recreate => {
                let body = json!({
                    "plan_id": Order::small().member("plan_id"),
                    "context": { "space_guid": "" },
                });
                platform.operate_request(instance, "recreate", &body)
            }
            Self::Bind | Self::FirstBind => platform.bind_app_request(instance, binding, app),
            Self::Unbind => platform.unbind_request(instance, binding),
            Self::Deprovision => platform.deprovision_request(instance),
            Self::Poll => platform.last_operation_request(instance, token),
        }
    }

    pub(super) fn expected(self, answer: &Response) -> Expected {
        match (self, answer.status) {
            (Self::Recreate, 202) => Expected::Accepted(answer.operation_data().to_string()),
            (_, 202) => Expected::Accepted(answer.accepted()),
            // A missing object counts as deleted.
            (_, 200 | 201) | (Self::Deprovision | Self::Unbind, 410) => Expected::Done,
            _ => Expected::Refused,
        }
    }

    /// It makes an instance.
    pub(super) fn provisions(self) -> bool {
        matches!(self, Self::Provision | Self::FirstProvision)
    }

    /// It is about a binding.
    pub(super) fn binds(self) -> bool {
        matches!(self, Self::Bind | Self::FirstBind | Self::Unbind)
    }

    /// Whether it continues after the answer.
    pub(super) fn is_asynchronous(self) -> bool {
        !self.binds() && self != Self::Poll
    }

    /// How many times an identical repeat may deploy: a completed update runs again, a completed provision does not.
    pub(super) fn deployments(self) -> usize {
        match self {
            Self::Update | Self::PlanChange | Self::Upgrade | Self::Recreate => 3,
            // Its own, or that of the preparation.
            Self::Provision
            | Self::FirstProvision
            | Self::Bind
            | Self::FirstBind
            | Self::Unbind
            | Self::Deprovision
            | Self::Poll => 1,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Provision => "provision",
            Self::FirstProvision => "first provision",
            Self::Update => "update",
            Self::PlanChange => "plan change",
            Self::Upgrade => "upgrade",
            Self::Recreate => "recreate",
            Self::Bind => "bind",
            Self::FirstBind => "first bind",
            Self::Unbind => "unbind",
            Self::Deprovision => "deprovision",
            Self::Poll => "last operation",
        })
    }
}
