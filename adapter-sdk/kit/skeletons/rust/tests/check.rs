//! Runs `odb-adapter check` as a test.

use std::path::Path;

use odb_adapter_kit::check::check;
use odb_adapter_kit::inputs::Inputs;
use odb_adapter_kit::process::Program;

#[test]
fn it_keeps_to_the_protocol() {
    let adapter = Program::at(Path::new(env!("CARGO_BIN_EXE_@NAME@"))).unwrap();
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapter-check.yml");
    let report = check(&adapter, &Inputs::read(&inputs).unwrap());
    assert!(report.is_clean(), "{report}");
}
