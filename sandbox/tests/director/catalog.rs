//! The jobs that the sandbox is delivered with.

use odb_sandbox::cpi::JobCatalog;

use crate::foundation::jobs;

#[test]
fn every_delivered_job_is_loaded() {
    let catalog = JobCatalog::load(&jobs()).unwrap();
    let names: Vec<String> = catalog.names().map(ToString::to_string).collect();
    let folders = std::fs::read_dir(jobs()).unwrap().count();
    assert_eq!(names.len(), folders, "{names:?}");
    for name in ["postgres-server", "postgres-smoke-tests", "redis-server"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
}
