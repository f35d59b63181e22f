//! The Cloud Controller's ids.

use crate::text_id::text_id;

text_id! {
    /// Names a plan of one broker. Not the plan id of the catalog.
    PlanGuid, "plan guid"
}

text_id! {
    /// Names a service instance; the instance id that the broker is given.
    InstanceGuid, "service instance guid"
}

text_id! {
    /// Names a space.
    SpaceGuid, "space guid"
}
