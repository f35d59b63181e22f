//! Documents whose commands are run and whose examples are loaded: fenced blocks by their info strings.
//!
//! | file | contents |
//! | --- | --- |
//! | `document` | a document of the project, its fenced blocks, links and commands within the text |
//! | `reader` | runs the blocks of a document |
//! | `output` | compares what a document shows of an output with the output |
//! | `desk` | does so as an operator with a foundation, a broker and its files |
//! | `texts` | the texts in the sources of a program |
//! | `project_tests` | the tests of the project |
//! | `properties` | the generated page of properties |

mod desk;
mod document;
mod output;
mod project_tests;
mod properties;
mod reader;
mod texts;

pub use desk::Desk;
pub use document::{Document, Fence, Link, fences};
pub use project_tests::ProjectTests;
pub use properties::properties_page;
pub use reader::Reader;
pub use texts::{broker_texts, messages_of, messages_of_scripts};
