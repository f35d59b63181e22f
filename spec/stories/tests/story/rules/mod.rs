//! The rules of `spec/contracts/osb-api.md` that no other story covers, each by its number.
//!
//! | module | rules |
//! | --- | --- |
//! | `requests` | every request and the catalog: G, C |
//! | `orders` | provision: P |
//! | `changes` | update: U |
//! | `bindings` | bind and unbind: B, UB |
//! | `ends` | last operation and deprovision: L, D |
//!
//! Other stories cover: G-02, G-03, G-06, G-08, G-11, G-14, G-15, G-17, G-20, G-21 and P-12 in `bad_requests`; A-04,
//! P-04 to P-06, U-08, U-09 and D-03 in `repeats`; F in `fetching`; L-07, U-11 and D-07 in `last_operations`; G-22 and
//! P-13 in `bad_adapters` and `failed_operations`; P-10 in `quotas`; C-05 and U-13 in `upgrades`; L-08 in `resumption`.

mod bindings;
mod changes;
mod ends;
mod orders;
mod requests;
