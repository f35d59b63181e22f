//! A foundation on one machine, to try and test a broker against.

pub mod certificates;
pub mod net;
pub mod serve;
pub mod uaa;
pub mod cpi;
pub mod director;
pub mod cf;
