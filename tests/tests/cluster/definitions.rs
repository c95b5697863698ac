//! The CustomResourceDefinitions: accepted by the API server; they refuse invalid objects and accept those of users and
//! of `host convert`.

use crate::shared_cluster::{SharedCluster, documents, folder};
use boson_tests::cluster::shared;

#[test]
fn their_schemas_are_structural() {
    shared().unwrap().define().unwrap();
    for definition in shared().unwrap().list("", "customresourcedefinitions", "").unwrap() {
        // One that another test has just created has no conditions yet.
        let mut conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
        let is_structural = conditions.all(|one| one["type"] != "NonStructuralSchema");
        assert!(is_structural, "{:#}", definition["status"]);
    }
}

#[tokio::test]
async fn objects_are_refused_with_the_words_expected() {
    let cluster = SharedCluster::find().await;
    let mut wrong = Vec::new();
    for (name, text) in folder("refused") {
        let expected = text.lines().next().unwrap().trim_start_matches("# ");
        match cluster.try_out(&documents(&text)[0]).await {
            Ok(()) => wrong.push(format!("{name}: accepted")),
            Err(words) if !words.contains(expected) => wrong.push(format!("{name}: {words}")),
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn objects_that_users_write_are_accepted() {
    let cluster = SharedCluster::find().await;
    for (name, text) in folder("accepted") {
        let result = cluster.try_out(&documents(&text)[0]).await;
        assert_eq!(result, Ok(()), "{name}");
    }
}

#[tokio::test]
async fn objects_that_convert_writes_are_accepted() {
    let cluster = SharedCluster::find().await;
    let mut tried = 0;
    for case in boson_tests::golden::cases().unwrap() {
        let path = case.folder.join("expected.yml");
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        if !text.contains("apiVersion: quarks.cloudfoundry.org/v1alpha1") {
            continue;
        }
        for mut object in documents(&text) {
            // A case may choose a namespace that this cluster does not have.
            object["metadata"]["namespace"] = "default".into();
            let result = cluster.try_out(&object).await;
            assert_eq!(result, Ok(()), "{}: {}", path.display(), object["metadata"]["name"]);
            tried += 1;
        }
    }
    assert!(tried > 20, "only {tried} objects");
}
