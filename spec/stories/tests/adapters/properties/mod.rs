//! The promises of every adapter, for all requests of users and operators (`spec/contracts/adapter-protocol.md`, "What
//! an author must do").
//!
//! A [`Service`] is an adapter with the choices of its users and operators. The tests order, update, upgrade and check
//! its instances as the broker does, with random plans, parameters and requests.
//!
//! | module | contents |
//! | --- | --- |
//! | `service` | an adapter and the choices for its inputs |
//! | `life` | the life of an instance, and what the broker keeps of it |
//! | `promises` | the checks of each promise |
//! | `manifest` | a manifest as a map of paths, and its references |
//! | `mangling` | manifests that no adapter wrote |
//! | `kafka`, `redis`, `postgres` | the adapters |

/// A test of each promise, for one service.
macro_rules! every_promise_is_held_by {
    ($service:expr) => {
        every_promise_is_held_by!($service;
            instances_keep_unchanged_values,
            wrong_parameters_are_refused_by_name,
            wrong_plan_properties_are_refused,
            no_previous_manifest_is_its_end,
        );
    };
    ($service:expr; $($promise:ident,)*) => {
        $(#[test]
        fn $promise() {
            super::$promise(&$service);
        })*
    };
}

mod kafka;
mod life;
mod mangling;
mod manifest;
mod postgres;
mod promises;
mod redis;
mod service;

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use self::{life::Instance, service::Service};

/// Over the life of an instance nothing crashes, unchanged values stay, secrets stay unless rotated, and the broker
/// never finds changes that no request made.
fn instances_keep_unchanged_values(service: &Service) {
    check(24, &life::lives(service), |life| {
        let mut instance = Instance::order(service, &life);
        for step in &life.steps {
            instance.undergo(step);
        }
    });
}

/// A request with a wrong parameter gets an error that names it.
fn wrong_parameters_are_refused_by_name(service: &Service) {
    let requests = (service.plans.clone(), service.wrong_parameters.clone());
    check(48, &requests, |(plan, (parameters, name))| {
        let run = service.create(&plan, &parameters);
        assert!(!run.is_a_crash(), "{run:?}");
        assert!(run.rejection().contains(&name), "{name}: {run:?}");
    });
}

/// An operator's mistake in a plan is the operator's to read.
fn wrong_plan_properties_are_refused(service: &Service) {
    let plans = (service.plans.clone(), service.wrong_properties.clone());
    check(48, &plans, |(mut plan, (name, value))| {
        plan["properties"][&name] = value;
        let run = service.create(&plan, &serde_json::Map::new());
        assert!(!run.is_a_crash(), "{run:?}");
        assert!(!run.rejection().contains(&name), "{name}: {run:?}");
        assert!(run.stderr.contains(&name), "{name}: {run:?}");
    });
}

/// A manifest that another owner wrote, or has written in, is taken or refused.
fn no_previous_manifest_is_its_end(service: &Service) {
    let histories = (life::lives(service), mangling::cuts());
    check(48, &histories, |(life, cuts)| {
        let instance = Instance::order(service, &life);
        let mangled = mangling::mangle(instance.deployed(), &cuts);
        let run = instance.look_for_changes(&mangled);
        assert!(!run.is_a_crash(), "{mangled}: {run:?}");
        if run.code == Some(0) {
            run.answer();
        }
    });
}

fn check<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value)) {
    let config = Config {
        cases,
        failure_persistence: None,
        // A case takes a dozen processes.
        max_shrink_iters: 64,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(strategy, |value| {
        test(value);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
