//! The scopes and permissions of the broker's client at a CredHub. A start does not ask for them.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use odb_clients::{
    credhub::{Actor, CredHub, CredentialName, PermittedOperation},
    uaa::Token,
};
use odb_core::finding::Finding;

use super::Endpoint;
use crate::preflight::{
    chart::{Chart, Probe},
    context::timed,
    director,
    uaa::rights::{CREDHUB_SCOPES, Grants, Side, missing, not_permitted, to_permit},
};

const UNSEEN: &str = "no permission can be seen: there is none, or it lacks `read_acl`";

impl Endpoint<'_> {
    fn actor(&self) -> Actor {
        Actor::UaaClient(self.client.client_id.clone())
    }

    pub(super) fn may_enter(&self, token: &Token, chart: &mut Chart) -> bool {
        let missing = missing(&CREDHUB_SCOPES, token.scopes());
        if missing.is_empty() {
            return true;
        }
        let grants = Grants {
            context: self.context,
            side: self.side,
        };
        let (feature, update) = (self.feature, grants.update(&self.client.client_id, token));
        let tried = format!("the scopes of the token of {}", self.applicant());
        let came = format!("it lacks `{}`, which {feature} need", missing.join("`, `"));
        let remedy = format!("give it what it lacks (`{update}`)");
        let finding = self.finding(chart.subject.credentials_code(), tried, came, remedy);
        chart.found(Probe::Rights, None, finding);
        false
    }

    /// CredHub shows permissions to clients that may read them; to others it shows none.
    pub(super) async fn permissions(&self, credhub: &CredHub, chart: &mut Chart) -> Option<()> {
        let offering = self.context.offering;
        let own = offering.map(|offering| format!("{}/{}", self.root, offering.id));
        let folders: Vec<CredentialName> = [Some(self.root.to_owned()), own]
            .into_iter()
            .filter_map(|folder| CredentialName::try_from(folder?).ok())
            .collect();
        let asked = self.permitted_below(credhub, &folders, chart).await;
        let (permitted, took) = asked?;
        let path = format!("{}/*", folders.last().map_or("", CredentialName::as_str));
        let lacking = not_permitted(self.needed, &permitted);
        if lacking.is_empty() {
            let operations: Vec<_> = permitted.iter().map(ToString::to_string).collect();
            let text = format!("`{}` below `{path}`", operations.join("`, `"));
            chart.fine(Probe::Rights, took, text);
            if self.side == Side::Director
                && let Some(folder) = director::folder_of_variables(self.context).await
            {
                self.variables(credhub, folder, chart).await;
            }
            return Some(());
        }
        if permitted.is_empty() && keeps_no_permissions(credhub, chart).await {
            let why = "no permission can be seen, and names can: CredHub seems to keep none (`authorization.acls.enabled: false`)";
            chart.not_asked(Probe::Rights, why);
            return Some(());
        }
        let feature = self.feature;
        let wanted = to_permit(self.needed, &permitted);
        let finding = if permitted.is_empty() {
            let came = format!("{UNSEEN}; {feature} need `{}`", lacking.join("`, `"));
            self.of_permissions(&path, came, &wanted, chart).warning()
        } else {
            let came = format!("it lacks `{}`, which {feature} need", lacking.join("`, `"));
            self.of_permissions(&path, came, &wanted, chart)
        };
        chart.failed(Probe::Rights, took, finding)
    }

    /// Without `read` there, an adapter gets no variable that a manifest declares, which only adapters that need one
    /// notice.
    async fn variables(
        &self,
        credhub: &CredHub,
        folder: CredentialName,
        chart: &mut Chart,
    ) -> Option<()> {
        let path = format!("{folder}/*");
        let asked = self.permitted_below(credhub, &[folder], chart).await;
        let (permitted, took) = asked?;
        if permitted.contains(&PermittedOperation::Read) {
            let text = format!("`read` below `{path}`, where the variables of deployments are");
            chart.fine(Probe::Rights, took, text);
            return Some(());
        }
        let seen = if permitted.is_empty() {
            UNSEEN
        } else {
            "it lacks `read`"
        };
        let came = format!(
            "{seen}; bindings and updates fail where the adapter needs the value of a variable that the manifest declares"
        );
        let wanted = to_permit(&[PermittedOperation::Read], &permitted);
        let finding = self.of_permissions(&path, came, &wanted, chart);
        chart.failed(Probe::Rights, took, finding.warning())
    }

    /// The permissions below some folders or below all, and how long the request took.
    async fn permitted_below(
        &self,
        credhub: &CredHub,
        folders: &[CredentialName],
        chart: &mut Chart,
    ) -> Option<(BTreeSet<PermittedOperation>, Duration)> {
        let (actor, call) = (self.actor(), chart.timeouts.work());
        let folders = folders.iter().map(Some).chain([None]);
        let asked = folders.map(|folder| credhub.permitted_below(&call, folder, &actor));
        let (answers, took) = timed(join_all(asked)).await;
        let answers: Result<Vec<_>, _> = answers.into_iter().collect();
        let subject = chart.subject;
        let permitted = chart.unless_failed(Probe::Rights, took, answers, |error| {
            self.refused(&error, subject)
        })?;
        Some((permitted.into_iter().flatten().collect(), took))
    }

    fn of_permissions(
        &self,
        path: &str,
        came: String,
        wanted: &[String],
        chart: &Chart,
    ) -> Finding {
        let (actor, wanted) = (self.actor(), wanted.join(","));
        let tried = format!("to see what `{actor}` may do below `{path}`");
        let remedy = format!(
            "let an administrator of CredHub permit it: `credhub set-permission -p '{path}' -a {actor} -o {wanted}`"
        );
        self.finding(chart.subject.credentials_code(), tried, came, remedy)
    }
}

/// A client that sees names without a permission uses a CredHub without permissions, as the Director's often is.
async fn keeps_no_permissions(credhub: &CredHub, chart: &Chart) -> bool {
    let names = credhub.names_like(&chart.timeouts.call(), "/").await;
    names.is_ok_and(|names| !names.is_empty())
}
