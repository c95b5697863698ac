//! `container-run copy-jobs`, which needs no tools of the image.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::pod::{Pod, is_root};

#[test]
fn job_sources_are_copied_with_their_modes_and_replace_those_of_an_earlier_run() {
    let pod = Pod::new();
    let (from, to) = (pod.path("jobs-src"), pod.path("all-releases/jobs-src/r"));
    fs::create_dir_all(from.join("web/templates")).unwrap();
    fs::create_dir_all(to.join("web")).unwrap();
    fs::write(to.join("web/marker"), "of a pre-render script").unwrap();
    let script = from.join("web/templates/ctl.erb");
    fs::write(&script, "<%= 1 %>").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("ctl.erb", from.join("web/templates/link")).unwrap();
    let copy = || pod.run(pod.command(&["copy-jobs", from.to_str().unwrap(), to.to_str().unwrap()]));
    for _ in 0..2 {
        assert_eq!(copy(), (0, String::new(), String::new()));
    }
    let copied = fs::metadata(to.join("web/templates/ctl.erb")).unwrap();
    assert_eq!(copied.mode() & 0o777, 0o750);
    assert_eq!(
        fs::read_link(to.join("web/templates/link")).unwrap().to_str(),
        Some("ctl.erb")
    );
    assert!(!to.join("web/marker").exists());
    if is_root() {
        assert_eq!((copied.uid(), copied.gid()), (1000, 1000));
        let beside = fs::metadata(to.parent().unwrap()).unwrap();
        assert_eq!(beside.uid(), 1000, "other releases are copied beside it as vcap");
    }
    fs::remove_dir_all(&from).unwrap();
    let (code, _, error) = copy();
    assert_eq!(code, 125);
    assert!(error.contains("this is not the image of a BOSH release"), "{error}");
}
