//! The Cloud Controller's ids.

use crate::text_id::text_ids;

text_ids! {
    /// Names a plan of one broker. Not the plan id of the catalog.
    PlanGuid = "plan guid";
    /// Names a service offering of one broker. Not its id in the catalog, which several brokers may have.
    OfferingGuid = "service offering guid";
    /// Names a service instance; the instance id that the broker is given.
    InstanceGuid = "service instance guid";
    SpaceGuid = "space guid";
    OrganizationGuid = "organization guid";
    BrokerGuid = "service broker guid";
    /// Names a job: asynchronous work of the Cloud Controller.
    JobGuid = "job guid";
    /// Names a binding or key of a service instance.
    BindingGuid = "binding guid";
    AppGuid = "application guid";
}
