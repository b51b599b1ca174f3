use super::*;
use std::fs;

/// A process in a fake `/proc`, as the kernel writes it.
fn put(root: &Path, pid: i32, start_ticks: u64, ns_pids: &str) {
    let folder = root.join("proc").join(pid.to_string());
    fs::create_dir_all(&folder).unwrap();
    let stat = format!(
        "{pid} (a ) b) S 1 1 1 0 -1 4194304 100 0 0 0 1 1 0 0 20 0 1 0 {start_ticks} 1000 10 18446744073709551615\n"
    );
    fs::write(folder.join("stat"), stat).unwrap();
    fs::write(folder.join("status"), format!("Name:\tx\nPid:\t{pid}\nNSpid:\t{ns_pids}\n")).unwrap();
}

fn root(name: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("jobmeter-identity-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("proc/self")).unwrap();
    root
}

fn member(pid: i32, start_ticks: u64, main: bool) -> Member {
    Member { id: ProcessId { pid, start_ticks }, main }
}

#[test]
fn a_reused_number_is_a_stranger() {
    let root = root("reuse");
    put(&root, 100, 5000, "100");
    let mut members = Members::new(&root, PidView::Detect);
    members.update(&[member(100, 5000, true)]);
    assert!(matches!(members.resolve(100, Call::Lists), Resolved::Ours(owner) if owner.main));
    assert_eq!(members.resolve(101, Call::Lists), Resolved::Stranger);
    // The engine still believes in 100, but the number has changed hands.
    fs::remove_dir_all(root.join("proc/100")).unwrap();
    put(&root, 100, 9000, "100");
    members.update(&[member(100, 5000, true)]);
    members.check();
    assert_eq!(members.resolve(100, Call::Lists), Resolved::Stranger);
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_process_that_has_ended_keeps_its_last_sample_while_its_number_is_free() {
    let root = root("ended");
    put(&root, 100, 5000, "100");
    let mut members = Members::new(&root, PidView::Detect);
    members.update(&[member(100, 5000, false)]);
    assert!(matches!(members.resolve(100, Call::Lists), Resolved::Ours(_)));
    fs::remove_dir_all(root.join("proc/100")).unwrap();
    members.update(&[]);
    members.check();
    assert!(matches!(members.resolve(100, Call::Lists), Resolved::Ours(_)), "its last window is its own");
    members.update(&[]);
    assert_eq!(members.resolve(100, Call::Lists), Resolved::Stranger, "one sample later it is forgotten");
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn host_numbers_are_translated_through_an_ancestors_proc() {
    let root = root("ancestor");
    fs::write(root.join("proc/self/status"), "Name:\tjobmeter\nNSpid:\t4711\t12\n").unwrap();
    put(&root, 4800, 777, "4800\t20");
    put(&root, 20, 1, "20");
    let mut members = Members::new(&root, PidView::Detect);
    members.update(&[member(20, 777, true)]);
    assert!(matches!(members.resolve(4800, Call::Lists), Resolved::Ours(owner) if owner.id.pid == 20));
    assert_eq!(members.resolve(20, Call::Lists), Resolved::Stranger, "the host's 20 is another process");
    // A sister container has a process 20 too; in our own namespace there is but one.
    put(&root, 4900, 778, "4900\t20");
    assert_eq!(members.resolve(4900, Call::Lists), Resolved::Stranger);
    put(&root, 4901, 779, "4901\t20");
    for (name, namespace) in [("self", "pid:[1]"), ("4900", "pid:[2]"), ("4901", "pid:[1]")] {
        fs::create_dir_all(root.join("proc").join(name).join("ns")).unwrap();
        std::os::unix::fs::symlink(namespace, root.join("proc").join(name).join("ns/pid")).unwrap();
    }
    members.check();
    assert_eq!(members.resolve(4900, Call::Lists), Resolved::Stranger);
    assert_eq!(
        members.resolve(4901, Call::Lists),
        Resolved::Unknown(OTHER_TIMES),
        "the engine's times are of another"
    );
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn host_numbers_without_a_translation_are_unknown_not_strangers() {
    let root = root("container");
    fs::create_dir_all(root.join("proc/self/ns")).unwrap();
    std::os::unix::fs::symlink("pid:[4026532999]", root.join("proc/self/ns/pid")).unwrap();
    put(&root, 20, 777, "20");
    let mut members = Members::new(&root, PidView::Detect);
    members.update(&[member(20, 777, true)]);
    assert_eq!(
        members.resolve(20, Call::Lists),
        Resolved::Unknown(HOST_PIDS),
        "a match of numbers may be chance"
    );
    assert_eq!(members.resolve(4800, Call::Lists), Resolved::Unknown(HOST_PIDS));
    // A driver that does report our numbers gives itself away: the member holds the device.
    fs::create_dir_all(root.join("proc/20/fd")).unwrap();
    std::os::unix::fs::symlink("/dev/nvidiactl", root.join("proc/20/fd/7")).unwrap();
    members.update(&[member(20, 777, true)]);
    assert!(matches!(members.resolve(20, Call::Lists), Resolved::Ours(_)));
    assert_eq!(members.resolve(4800, Call::Lists), Resolved::Stranger);
    // That its lists have our numbers says nothing of its utilisation samples.
    assert_eq!(members.resolve(4800, Call::Utilization), Resolved::Unknown(HOST_PIDS));
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_mapped_device_is_evidence_too() {
    let root = root("mapped");
    fs::create_dir_all(root.join("proc/self/ns")).unwrap();
    std::os::unix::fs::symlink("pid:[4026532999]", root.join("proc/self/ns/pid")).unwrap();
    put(&root, 20, 777, "20");
    fs::write(root.join("proc/20/maps"), "7f00-7f01 rw-s 00000000 00:06 1111 /dev/nvidia0\n").unwrap();
    let mut members = Members::new(&root, PidView::Detect);
    members.update(&[member(20, 777, true)]);
    assert!(matches!(members.resolve(20, Call::Lists), Resolved::Ours(_)));
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_real_process_is_held_by_its_pidfd_until_it_ends() {
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let pid = child.id() as i32;
    let start_ticks = start_ticks(Path::new(&format!("/proc/{pid}"))).unwrap();
    let mut members = Members::new(Path::new("/"), PidView::Ours);
    assert!(members.real);
    let list = [member(pid, start_ticks, true)];
    members.update(&list);
    members.check();
    assert!(matches!(members.resolve(pid, Call::Lists), Resolved::Ours(_)));
    assert!(matches!(members.known[&pid].hold, Some(Hold::Process(_))));
    child.kill().unwrap();
    child.wait().unwrap();
    members.update(&list);
    members.check();
    assert!(members.known[&pid].exited);
    assert!(matches!(members.resolve(pid, Call::Lists), Resolved::Ours(_)), "the number is free");
}
