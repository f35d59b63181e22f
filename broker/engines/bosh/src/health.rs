//! The health of the VMs of a service instance, and the abilities of the Director. Reads only.

use odb_api_types::{
    ids::InstanceId,
    management::{DirectorAbilities, Health, InstanceHealth, ProcessHealth},
};
use odb_clients::{FailureKind, director::InstanceState, http::Call};

use crate::{BoshEngine, deployment::deployment, error::Error};

/// The state that BOSH reports for a healthy instance or process.
const RUNNING: &str = "running";

/// The state that BOSH reports for an instance whose VM was removed on purpose.
const DETACHED: &str = "detached";

/// The Director's current version and abilities (`spec/contracts/errands.md` §4.1).
pub(crate) async fn director_abilities(
    engine: &BoshEngine,
    call: &Call,
) -> Result<DirectorAbilities, Error> {
    let info = engine.upstreams.director.info(call).await;
    let info = info.map_err(Error::director("ask the Director for its version"))?;
    Ok(DirectorAbilities::of(info.version))
}

/// How the VMs of an instance are. An agent that does not answer is one that is not well.
pub(crate) async fn health(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<Health, Error> {
    let director = &engine.upstreams.director;
    let states = match director.instance_states(call, &deployment(instance)).await {
        Ok(states) => states.ok_or(Error::NotFound)?,
        Err(error) if matches!(error.kind, FailureKind::NotAllowed { .. }) => {
            return Err(Error::Foreign);
        }
        Err(error) => {
            return Err(Error::director("ask the agents of the VMs how they are")(
                error,
            ));
        }
    };
    let instances: Vec<InstanceHealth> = states.into_iter().filter_map(of_instance).collect();
    Ok(Health {
        service_instance_id: instance.clone(),
        healthy: !instances.is_empty() && instances.iter().all(|instance| instance.healthy),
        instances,
    })
}

/// `None`: it runs errands, and has a VM when it is needed.
fn of_instance(state: InstanceState) -> Option<InstanceHealth> {
    let InstanceState {
        group,
        index,
        id,
        expects_vm,
        desired,
        reported,
        processes,
    } = state;
    let is_detached = desired.as_deref() == Some(DETACHED);
    if !expects_vm && !is_detached {
        return None;
    }
    let state = match reported {
        Some(reported) => reported,
        None if is_detached => DETACHED.to_owned(),
        None => "no vm".to_owned(),
    };
    let healthy = state == RUNNING && processes.iter().all(|process| process.state == RUNNING);
    Some(InstanceHealth {
        instance_group: group,
        id,
        index,
        healthy,
        state,
        processes: processes
            .into_iter()
            .map(|process| ProcessHealth {
                name: process.name,
                state: process.state,
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use odb_clients::director::ProcessState;

    use super::*;

    fn state(expects_vm: bool, desired: &str, reported: Option<&str>) -> InstanceState {
        InstanceState {
            group: "redis-server".to_owned(),
            index: Some(0),
            id: None,
            expects_vm,
            desired: Some(desired.to_owned()),
            reported: reported.map(str::to_owned),
            processes: Vec::new(),
        }
    }

    fn health_of(state: InstanceState) -> Option<(String, bool)> {
        of_instance(state).map(|health| (health.state, health.healthy))
    }

    #[test]
    fn an_instance_is_healthy_when_it_runs_and_should() {
        for (expects_vm, desired, reported, health) in [
            (true, "started", Some("running"), Some(("running", true))),
            (true, "started", Some("failing"), Some(("failing", false))),
            (
                true,
                "started",
                Some("unresponsive agent"),
                Some(("unresponsive agent", false)),
            ),
            (true, "started", None, Some(("no vm", false))),
            (true, "stopped", Some("stopped"), Some(("stopped", false))),
            (false, "detached", None, Some(("detached", false))),
            (false, "started", None, None),
            (false, "started", Some("running"), None),
        ] {
            let expected = health.map(|(state, healthy)| (state.to_owned(), healthy));
            assert_eq!(health_of(state(expects_vm, desired, reported)), expected);
        }
    }

    #[test]
    fn a_process_that_fails_makes_its_instance_ill() {
        let mut instance = state(true, "started", Some("running"));
        for (name, healthy) in [("running", true), ("failing", false), ("unknown", false)] {
            instance.processes = vec![ProcessState {
                name: "redis-server".to_owned(),
                state: name.to_owned(),
            }];
            assert_eq!(
                health_of(instance.clone()),
                Some(("running".to_owned(), healthy))
            );
        }
    }
}
