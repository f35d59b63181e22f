//! A CredHub, of either foundation, and its UAA.

use std::collections::BTreeSet;

use odb_clients::{
    FailureKind, ServiceError,
    credhub::{
        Actor, ConnectCredHubError, CredHub, CredHubClient, CredentialName, PermittedOperation,
    },
    http::StatusCode,
};

use crate::{
    finding::Finding,
    preflight::{
        director::diagnosis as director,
        doctor::{
            chart::Chart,
            patience::Patience,
            subject::{Probe, Subject},
            whole::Whole,
        },
        server::{
            answer::ask,
            reach::{AddressSource, Server},
        },
        uaa::{
            diagnosis::{self as uaa, Applicant, Granted},
            foundation::Uaa,
            grants::Grants,
            rights::{CREDHUB_SCOPES, missing, not_permitted, to_permit},
        },
    },
    telemetry::Chain,
};

/// What is particular to one of the two.
pub(crate) struct Particulars<'a> {
    pub(crate) subject: Subject,
    pub(crate) of_uaa: Subject,
    pub(crate) client: CredHubClient,
    pub(crate) applicant: Applicant<'a>,
    pub(crate) grants: Grants<'a>,
    /// The key by which the authority of its UAA is given.
    pub(crate) uaa_authority: &'static str,
    /// The folder in which the broker works, such as `/odb`, and the one within it that is its own.
    pub(crate) folders: [Option<CredentialName>; 2],
    pub(crate) needed: &'static [PermittedOperation],
    /// What it is needed for.
    pub(crate) feature: &'static str,
    /// Names the Director that keeps the variables of deployments there, which are read for adapters.
    pub(crate) of_director: Option<&'a Whole<'a>>,
}

/// Looks at a CredHub and the UAA that it names.
pub(crate) async fn look(
    server: Option<Server<'_>>,
    mut chart: Chart,
    particulars: Particulars<'_>,
    patience: Patience,
) -> (Vec<Chart>, Uaa) {
    let mut of_uaa = Chart::of(particulars.of_uaa);
    let mut known = Uaa::default();
    if let Some(server) = server {
        let charts = (&mut chart, &mut of_uaa);
        look_into(&server, charts, &particulars, &mut known, patience).await;
    }
    (vec![chart, of_uaa], known)
}

async fn look_into(
    server: &Server<'_>,
    (chart, of_uaa): (&mut Chart, &mut Chart),
    particulars: &Particulars<'_>,
    known: &mut Uaa,
    patience: Patience,
) -> Option<()> {
    server.reach(chart, patience).await?;
    let answered = ask(server, &["info"], chart, patience).await?;
    let call = patience.call();
    let connected = CredHub::connect(
        &call,
        server.url.as_str(),
        &server.belief.trust,
        particulars.client.clone(),
        patience.limits(),
    );
    let credhub = match connected.await {
        Ok(credhub) => credhub,
        Err(ConnectCredHubError::UaaAddress(error)) => {
            let trouble = Finding::tried(
                chart.subject.unreachable(),
                None,
                "to read where its UAA is",
                Chain(&error).to_string(),
                "correct `credhub.authentication.uaa.url` in CredHub's own manifest",
            );
            chart.wrong(Probe::Answer, answered.took, trouble);
            return None;
        }
        Err(_) => {
            answered.refute("CredHub", server, chart);
            return None;
        }
    };
    let tokens = credhub.tokens();
    let mut belief = server.belief.clone();
    belief.key = particulars.uaa_authority;
    let uaa = Server {
        url: tokens.server(),
        source: AddressSource::Neighbour {
            who: particulars.subject.title(),
            setting: "`credhub.authentication.uaa.url` in its manifest",
        },
        belief,
    };
    let text = format!("CredHub, whose tokens come from `{}`", uaa.authority());
    chart.fine(Probe::Answer, answered.took, text);
    known.url = Some(tokens.server());
    if uaa::look(&uaa, of_uaa, patience).await.is_none() {
        chart.not_asked(Probe::Credentials, "its UAA cannot be asked");
        return None;
    }
    let granted = uaa::token(tokens, particulars.applicant, &uaa, chart, patience).await?;
    known.issuer = granted.claims.as_ref().map(|claims| claims.issuer.clone());
    let may_enter = scopes(&granted, particulars, chart);
    let version = version(&credhub, particulars, may_enter, chart, patience).await?;
    if version.is_before_2() {
        let text = "CredHub before 2.0 knows no permissions for folders";
        chart.not_asked(Probe::Rights, text);
        return Some(());
    }
    permissions(&credhub, particulars, chart, patience).await
}

/// Whether the token lets us in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Allowed,
    Refused,
}

fn scopes(granted: &Granted, particulars: &Particulars<'_>, chart: &mut Chart) -> Entry {
    let missing = missing(&CREDHUB_SCOPES, granted.token.scopes());
    if missing.is_empty() {
        return Entry::Allowed;
    }
    let name = particulars.applicant.name;
    let trouble = Finding::tried(
        chart.subject.strangers(),
        Some(particulars.applicant.key),
        format!(
            "the scopes of the token of {}",
            particulars.applicant.told()
        ),
        format!(
            "it lacks `{}`, which {} need",
            missing.join("`, `"),
            particulars.feature
        ),
        format!(
            "give it what it lacks (`{}`)",
            particulars.grants.update(name, &granted.token)
        ),
    );
    chart.wrong(Probe::Rights, None, trouble);
    Entry::Refused
}

async fn version(
    credhub: &CredHub,
    particulars: &Particulars<'_>,
    entry: Entry,
    chart: &mut Chart,
    patience: Patience,
) -> Option<odb_clients::credhub::CredHubVersion> {
    if entry == Entry::Refused {
        chart.not_asked(Probe::Version, "the token does not let us in");
        return None;
    }
    let began = tokio::time::Instant::now();
    let told = credhub.version(&patience.call()).await;
    let took = began.elapsed();
    match told {
        Ok(version) => {
            chart.fine(Probe::Version, took, format!("CredHub {version}"));
            Some(version)
        }
        Err(error) => {
            chart.wrong(
                Probe::Version,
                took,
                refused(&error, particulars, chart.subject),
            );
            None
        }
    }
}

fn refused(error: &ServiceError, particulars: &Particulars<'_>, subject: Subject) -> Finding {
    let is_stranger = matches!(
        error.kind,
        FailureKind::Refused {
            status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN,
            ..
        }
    );
    let (code, remedy) = if is_stranger {
        let remedy = "it does not take the tokens of the UAA that it names: compare `credhub.authentication.uaa` in its \
                      manifest with that UAA, and the clocks of both";
        (subject.strangers(), remedy.to_owned())
    } else {
        (
            subject.unreachable(),
            format!("look at the log of the {subject}"),
        )
    };
    Finding::tried(
        code,
        Some(particulars.applicant.key),
        format!("to read from it as {}", particulars.applicant.told()),
        Chain(error).to_string(),
        remedy,
    )
}

/// CredHub shows permissions to who may see them, and else says that there are none.
async fn permissions(
    credhub: &CredHub,
    particulars: &Particulars<'_>,
    chart: &mut Chart,
    patience: Patience,
) -> Option<()> {
    let applicant = particulars.applicant;
    let actor = Actor::UaaClient(applicant.name.to_owned());
    let mut folders: Vec<Option<&CredentialName>> =
        particulars.folders.iter().flatten().map(Some).collect();
    // Everything there is.
    folders.push(None);
    let call = patience.work();
    let began = tokio::time::Instant::now();
    let asked = folders
        .iter()
        .map(|folder| credhub.permitted_below(&call, *folder, &actor));
    let answers = futures_util::future::join_all(asked).await;
    let took = began.elapsed();
    let mut permitted = BTreeSet::new();
    for answer in answers {
        match answer {
            Ok(operations) => permitted.extend(operations),
            Err(error) => {
                chart.wrong(
                    Probe::Rights,
                    took,
                    refused(&error, particulars, chart.subject),
                );
                return None;
            }
        }
    }
    let folder = particulars.folders.iter().flatten().next_back();
    let path = format!("{}/*", folder.map_or("", CredentialName::as_str));
    let lacking = not_permitted(particulars.needed, &permitted);
    if lacking.is_empty() {
        let operations: Vec<_> = permitted.iter().map(ToString::to_string).collect();
        let text = format!("`{}` below `{path}`", operations.join("`, `"));
        chart.fine(Probe::Rights, took, text);
        if let Some(whole) = particulars.of_director
            && let Some(folder) = director::folder_of_variables(whole).await
        {
            variables(credhub, particulars, &folder, chart, patience).await;
        }
        return Some(());
    }
    if permitted.is_empty() && keeps_no_permissions(credhub, patience).await {
        chart.not_asked(
            Probe::Rights,
            "no permission can be seen, and names can: CredHub seems to keep none (`authorization.acls.enabled: false`)",
        );
        return Some(());
    }
    let subject = chart.subject;
    let wanted = to_permit(particulars.needed, &permitted);
    let trouble = |came| {
        Finding::tried(
            subject.strangers(),
            Some(applicant.key),
            format!("to see what `{actor}` may do below `{path}`"),
            came,
            format!(
                "let an administrator of CredHub permit it: `credhub set-permission -p '{path}' -a {actor} -o {}`",
                wanted.join(",")
            ),
        )
    };
    if permitted.is_empty() {
        let came = format!(
            "no permission can be seen: there is none, or it lacks `read_acl`; {} need `{}`",
            particulars.feature,
            not_permitted(particulars.needed, &BTreeSet::new()).join("`, `")
        );
        let trouble = trouble(came);
        chart.odd(Probe::Rights, took, trouble);
    } else {
        let came = format!(
            "it lacks `{}`, which {} need",
            lacking.join("`, `"),
            particulars.feature
        );
        let trouble = trouble(came);
        chart.wrong(Probe::Rights, took, trouble);
    }
    None
}

/// Without `read` there, an adapter gets no variable that a manifest declares, which only adapters that need one notice.
async fn variables(
    credhub: &CredHub,
    particulars: &Particulars<'_>,
    folder: &CredentialName,
    chart: &mut Chart,
    patience: Patience,
) {
    let applicant = particulars.applicant;
    let actor = Actor::UaaClient(applicant.name.to_owned());
    let call = patience.work();
    let began = tokio::time::Instant::now();
    let (below, everywhere) = tokio::join!(
        credhub.permitted_below(&call, Some(folder), &actor),
        credhub.permitted_below(&call, None, &actor),
    );
    let took = began.elapsed();
    let permitted: BTreeSet<PermittedOperation> = match (below, everywhere) {
        (Ok(below), Ok(everywhere)) => below.into_iter().chain(everywhere).collect(),
        (Err(error), _) | (_, Err(error)) => {
            let trouble = refused(&error, particulars, chart.subject);
            chart.wrong(Probe::Rights, took, trouble);
            return;
        }
    };
    let path = format!("{folder}/*");
    if permitted.contains(&PermittedOperation::Read) {
        let text = format!("`read` below `{path}`, where the variables of deployments are");
        chart.fine(Probe::Rights, took, text);
        return;
    }
    let seen = if permitted.is_empty() {
        "no permission can be seen: there is none, or it lacks `read_acl`"
    } else {
        "it lacks `read`"
    };
    let wanted = to_permit(&[PermittedOperation::Read], &permitted);
    let trouble = Finding::tried(
        chart.subject.strangers(),
        Some(applicant.key),
        format!("to see what `{actor}` may do below `{path}`"),
        format!(
            "{seen}; bindings and updates fail where the adapter needs the value of a variable that the manifest declares"
        ),
        format!(
            "let an administrator of CredHub permit it: `credhub set-permission -p '{path}' -a {actor} -o {}`",
            wanted.join(",")
        ),
    );
    chart.odd(Probe::Rights, took, trouble);
}

/// Who sees names without a permission is at a CredHub that asks for none, as the Director's often is.
async fn keeps_no_permissions(credhub: &CredHub, patience: Patience) -> bool {
    let names = credhub.names_like(&patience.call(), "/").await;
    names.is_ok_and(|names| !names.is_empty())
}
