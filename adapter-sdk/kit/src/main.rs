//! `odb-adapter`: checks service adapters, runs them by hand, begins new ones.

fn main() -> std::process::ExitCode {
    odb_adapter_kit::main()
}
