//! Writes the JSON Schemas of the protocol into `spec/schemas/adapter`, or the folder that is given.

use std::path::PathBuf;
use std::{env, fs, io};

use odb_adapter_sdk::schemas::documents;

fn main() -> io::Result<()> {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/schemas/adapter");
    let folder = env::args_os()
        .nth(1)
        .map_or_else(|| committed.into(), PathBuf::from);
    fs::create_dir_all(&folder)?;
    for document in documents() {
        fs::write(folder.join(document.file_name()), document.text())?;
    }
    Ok(())
}
