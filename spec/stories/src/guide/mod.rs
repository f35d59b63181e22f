//! Documents whose commands are run and whose examples are loaded: fenced blocks by what stands behind their back-ticks.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `document` | a document of the project, its fenced blocks, links and commands within the text |
//! | `reader` | somebody who types what a document says |
//! | `desk` | an operator with a foundation, a broker and its files, who does so |
//! | `texts` | the texts in the sources of a program |
//! | `project_tests` | which tests there are |
//! | `properties` | a page that is made, and not written |

mod desk;
mod document;
mod project_tests;
mod properties;
mod reader;
mod texts;

pub use desk::Desk;
pub use document::{Document, Fence, Link, fences};
pub use project_tests::ProjectTests;
pub use properties::properties_page;
pub use reader::Reader;
pub use texts::{broker_texts, messages_of};
