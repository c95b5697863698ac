//! `host explain`.

use boson_tests::{host, root};

#[test]
fn a_code_is_explained_and_a_wrong_one_gets_a_hint() {
    let known = host(&root(), ["explain", "ops-missing-key"]).unwrap();
    assert!(
        known.code == 0 && known.stdout.starts_with("ops-missing-key: "),
        "{known:?}"
    );
    let unknown = host(&root(), ["explain", "ops-mising-key"]).unwrap();
    assert!(
        unknown.code == 1 && unknown.stderr.contains("near it: ops-missing-key"),
        "{unknown:?}"
    );
}
