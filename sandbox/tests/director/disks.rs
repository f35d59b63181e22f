//! Persistent disks outlive VMs.

use odb_sandbox::{
    cpi::{DiskError, DiskOwner, Vm},
    store::Store,
};

use crate::machine::Machine;

fn owner() -> DiskOwner {
    DiskOwner {
        az: Some("z1".to_owned()),
        deployment_name: "service-instance_d4".to_owned(),
        instance_name: "srv/0d4504c0".to_owned(),
    }
}

async fn created(cpi: &odb_sandbox::cpi::Cpi) -> Vm {
    let vm = cpi.reserve_vm().unwrap();
    cpi.create_vm(&vm).await.unwrap();
    vm
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_on_a_disk_goes_from_one_vm_to_the_next() {
    let machine = Machine::new();
    let cpi = machine.cpi(&Store::in_memory());
    let (first, second) = (created(&cpi).await, created(&cpi).await);
    let disk = cpi.create_disk(1024);
    cpi.attach_disk(&first.cid, &disk).await.unwrap();
    std::fs::write(cpi.data_folder(&first.cid).join("file"), "kept").unwrap();

    let refused = cpi.attach_disk(&second.cid, &disk).await.unwrap_err();
    assert!(matches!(refused, DiskError::Attached { .. }), "{refused}");
    let refused = cpi.delete_disk(&disk).await.unwrap_err();
    assert!(matches!(refused, DiskError::Attached { .. }), "{refused}");
    cpi.delete_vm(&first.cid).await.unwrap();
    cpi.attach_disk(&second.cid, &disk).await.unwrap();

    let kept = std::fs::read_to_string(cpi.data_folder(&second.cid).join("file"));
    assert_eq!(kept.unwrap(), "kept");
    cpi.detach_disk(&second.cid, &disk).await.unwrap();
    assert!(!cpi.data_folder(&second.cid).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_of_another_size_gets_the_data_with_its_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let machine = Machine::new();
    let cpi = machine.cpi(&Store::in_memory());
    let vm = created(&cpi).await;
    let (small, large) = (cpi.create_disk(1024), cpi.create_disk(5120));
    cpi.attach_disk(&vm.cid, &small).await.unwrap();
    let data = cpi.data_folder(&vm.cid);
    std::fs::create_dir(data.join("sub")).unwrap();
    std::fs::write(data.join("sub/file"), "kept").unwrap();
    std::os::unix::fs::symlink("sub/file", data.join("link")).unwrap();
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(data.join("sub"), private).unwrap();

    cpi.detach_disk(&vm.cid, &small).await.unwrap();
    cpi.migrate_disk(&small, &large).await.unwrap();
    cpi.attach_disk(&vm.cid, &large).await.unwrap();
    cpi.orphan_disk(&small, owner());

    assert_eq!(std::fs::read_to_string(data.join("link")).unwrap(), "kept");
    let mode = std::fs::metadata(data.join("sub")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    assert_eq!(cpi.disk_size(&large), Some(5120));
    assert_eq!(cpi.orphaned_disks().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orphaned_disk_is_listed_over_restarts_until_it_is_deleted_or_attached() {
    let machine = Machine::new();
    let store = machine.store();
    let cpi = machine.cpi(&store);
    let (first, second) = (cpi.create_disk(1024), cpi.create_disk(2048));
    cpi.orphan_disk(&first, owner());
    cpi.orphan_disk(&second, owner());
    store.close();
    drop((cpi, store));

    let cpi = machine.cpi(&machine.store());
    let orphans = cpi.orphaned_disks();
    assert_eq!(orphans.len(), 2);
    assert_eq!(orphans[0].disk_cid, first);
    assert_eq!(orphans[0].size, 1024);
    assert_eq!(orphans[0].deployment_name, "service-instance_d4");

    let vm = created(&cpi).await;
    cpi.attach_disk(&vm.cid, &second).await.unwrap();
    cpi.delete_disk(&first).await.unwrap();
    assert_eq!(cpi.orphaned_disks(), []);
    assert_eq!(cpi.count().disks, 1);
}
