//! A UAA over HTTP, asked as its command line and the servers behind it ask.

#![cfg(test)]

mod client_rights;
mod clients;
mod command_lines;
mod information;
mod restart;
mod revocation;
mod server;
mod tokens;
