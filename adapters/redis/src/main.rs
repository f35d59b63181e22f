//! Service adapter that deploys Redis, one process per service instance.

fn main() {}
