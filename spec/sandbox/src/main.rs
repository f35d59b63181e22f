//! A foundation on one machine: Director, UAA and Cloud Controller with real processes, to try and test a broker against.

fn main() {}
