//! Open Service Broker that deploys service instances on demand through a BOSH Director.

fn main() {}
