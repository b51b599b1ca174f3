use super::*;
use std::fs;
use std::path::Path;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn two_sockets_with_hyperthreads_from_sysfs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "sys/devices/system/cpu/online", "0-7\n");
    write(root, "sys/devices/system/node/online", "0-1\n");
    fs::create_dir_all(root.join("sys/devices/system/cpu/cpufreq")).unwrap();
    fs::create_dir_all(root.join("sys/devices/system/cpu/cpu8")).unwrap();
    for cpu in 0..8 {
        let base = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        write(root, &format!("{base}/physical_package_id"), &format!("{}\n", cpu / 2 % 2));
        write(root, &format!("{base}/core_id"), &format!("{}\n", cpu % 2));
    }
    let info = CpuInfo::read(Root::new(root));
    assert_eq!(
        (info.vcpus, info.sockets, info.cores, info.threads_per_core, info.numa_nodes),
        (Some(8), Some(2), Some(4), Some(2), Some(2))
    );
    assert_eq!(info.model, None);
}

#[test]
fn cpuinfo_alone_is_enough_on_x86() {
    let folder = tempfile::tempdir().unwrap();
    let block = |cpu: u32, core: u32| {
        format!(
            "processor\t: {cpu}\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7B13: odd\nphysical id\t: 0\ncore id\t\t: {core}\n\n"
        )
    };
    write(folder.path(), "proc/cpuinfo", &(block(0, 0) + &block(1, 0) + &block(2, 1)));
    let info = CpuInfo::read(Root::new(folder.path()));
    assert_eq!((info.vcpus, info.sockets, info.cores), (Some(3), Some(1), Some(2)));
    assert_eq!(info.threads_per_core, None, "three threads on two cores are not one number");
    assert_eq!(info.model.as_deref(), Some("AMD EPYC 7B13: odd"));
}

#[test]
fn arm_parts_are_named_or_shown_as_numbers() {
    let arm =
        |part| format!("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: {part}\n");
    assert_eq!(model(&arm("0xd40")).as_deref(), Some("Neoverse-V1"));
    assert_eq!(model(&arm("0xfff")).as_deref(), Some("ARM implementer 0x41 part 0xfff"));
}

#[test]
fn an_empty_root_knows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(CpuInfo::read(Root::new(folder.path())), CpuInfo::default());
}
