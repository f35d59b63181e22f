//! The Cloud Controller's ids.

use crate::text_id::text_id;

text_id! {
    /// Names a plan of one broker. Not the plan id of the catalog.
    PlanGuid, "plan guid"
}

text_id! {
    /// Names a service offering of one broker. Not its id in the catalog, which several brokers may have.
    OfferingGuid, "service offering guid"
}

text_id! {
    /// Names a service instance; the instance id that the broker is given.
    InstanceGuid, "service instance guid"
}

text_id! {
    /// Names a space.
    SpaceGuid, "space guid"
}

text_id! {
    /// Names an organization.
    OrganizationGuid, "organization guid"
}

text_id! {
    /// Names a service broker.
    BrokerGuid, "service broker guid"
}

text_id! {
    /// Names a job: asynchronous work of the Cloud Controller.
    JobGuid, "job guid"
}

text_id! {
    /// Names a binding or key of a service instance.
    BindingGuid, "binding guid"
}

text_id! {
    /// Names an application.
    AppGuid, "application guid"
}
