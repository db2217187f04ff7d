//! What arguments mean in a repository.

use std::fs;

use wiretrial::revision::{Ci, Tree};

use super::place::{Place, commit, compiled, git, program, resolve_in, revision};

#[test]
fn the_default_baseline_is_where_the_work_began() {
    let place = Place::new();
    // Nothing before it and nothing changed.
    let failure = place.resolve(None, None).unwrap_err();
    assert_eq!(failure.code, 2);
    assert!(failure.message.contains("is the first commit"), "{failure}");
    let one = place.git(&["rev-parse", "HEAD"]);
    let two = place.commit("two");

    let pair = place.resolve(None, None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, one);
    let clean = Tree::WorkingTree { dirty_sha256: None };
    assert_eq!(revision(&pair.candidate).tree, clean);
    assert_eq!(
        pair.notes,
        [format!(
            "baseline is {}, HEAD~1, because HEAD is part of main and everything is committed",
            &one[..7]
        )]
    );
    place.write("prog.c", &program(2));
    let pair = place.resolve(None, None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, two);
    assert_eq!(revision(&pair.candidate).commit, two);
    assert!(!pair.same_source());
    place.git(&["checkout", "-q", "prog.c"]);

    place.git(&["checkout", "-q", "-b", "topic"]);
    place.commit("three");
    let pair = place.resolve(None, None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, two);
    assert_eq!(
        revision(&pair.baseline).described,
        "the merge base with main"
    );

    // The remote's default branch counts more than a local one.
    let clone = place.0.path().join("clone");
    git(
        place.0.path(),
        &["clone", "-q", "-b", "main", "user", "clone"],
    );
    git(&clone, &["remote", "set-head", "origin", "topic"]);
    let four = commit(&clone, "four");
    let pair = resolve_in(&clone, None, None, &Ci::default()).unwrap();
    assert_eq!(revision(&pair.baseline).commit, two);
    assert_eq!(
        revision(&pair.baseline).described,
        "the merge base with origin/topic"
    );
    assert_eq!(revision(&pair.candidate).commit, four);
}

#[test]
fn ranges_are_as_in_git_and_the_same_revision_is_refused() {
    let place = Place::new();
    let one = place.git(&["rev-parse", "HEAD"]);
    place.git(&["checkout", "-q", "-b", "topic"]);
    let topic = place.commit("topic");
    place.git(&["checkout", "-q", "main"]);
    let main = place.commit("main");

    let pair = place.resolve(Some("main...topic"), None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, one);
    assert_eq!(revision(&pair.candidate).commit, topic);
    assert_eq!(revision(&pair.candidate).tree, Tree::Committed);
    let pair = place.resolve(Some("topic..main"), None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, topic);
    assert_eq!(revision(&pair.candidate).commit, main);
    let pair = place.resolve(Some("topic"), None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, topic);
    assert_eq!(revision(&pair.candidate).commit, main);

    let pair = place.resolve(Some("HEAD"), None).unwrap();
    assert!(pair.same_source());
    let failure = pair.check_distinct().unwrap_err();
    assert_eq!(failure.code, 2);
    assert_eq!(
        failure.message,
        format!(
            "baseline and candidate are the same revision ({}): nothing to compare. --aa measures \
             the floor on purpose",
            &main[..7]
        )
    );
}

#[test]
fn revisions_that_are_not_there_say_what_to_do() {
    let place = Place::new();
    let failure = place.resolve(Some("nowhere"), None).unwrap_err();
    assert_eq!(failure.code, 2);
    assert_eq!(
        failure.message,
        "unknown revision \"nowhere\"; git log --oneline --all shows what is here"
    );
    for refused in ["--output=x", "-", ""] {
        let failure = place.resolve(Some(refused), None).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.contains("begins with -"), "{failure}");
    }

    place.commit("two");
    place.commit("three");
    let url = format!("file://{}", place.user().display());
    let shallow = place.0.path().join("shallow");
    git(
        place.0.path(),
        &["clone", "-q", "--depth", "1", "-b", "main", &url, "shallow"],
    );
    let failure = resolve_in(&shallow, Some("topic"), None, &Ci::default()).unwrap_err();
    assert_eq!(failure.code, 2);
    assert_eq!(
        failure.message,
        "unknown revision \"topic\": this is a shallow clone (depth 1). git fetch --unshallow origin \
         topic, or fetch-depth: 0 in actions/checkout"
    );
    let failure = resolve_in(&shallow, None, None, &Ci::default()).unwrap_err();
    assert_eq!(
        failure.message,
        "unknown revision \"HEAD~1\": this is a shallow clone (depth 1). git fetch --unshallow \
         origin, or fetch-depth: 0 in actions/checkout"
    );
    // Two single commits with no history between them.
    place.git(&["checkout", "-q", "-b", "topic", "main~1"]);
    place.commit("topic");
    git(
        &shallow,
        &["fetch", "-q", "--depth", "1", "origin", "topic"],
    );
    let failure = resolve_in(&shallow, Some("FETCH_HEAD...main"), None, &Ci::default());
    let failure = failure.unwrap_err();
    assert_eq!(
        failure.message,
        "no merge base of \"FETCH_HEAD\" and main: this is a shallow clone (depth 1). git fetch \
         --unshallow origin FETCH_HEAD, or fetch-depth: 0 in actions/checkout"
    );
}

#[test]
fn in_ci_the_baseline_is_the_targets_side_of_the_merge() {
    let place = Place::new();
    place.git(&["checkout", "-q", "-b", "topic"]);
    place.commit("topic");
    place.git(&["checkout", "-q", "main"]);
    let target = place.commit("main has moved on");
    place.git(&["checkout", "-q", "--detach"]);
    place.git(&["merge", "-q", "--no-ff", "-m", "merge", "topic"]);
    let merge = place.git(&["rev-parse", "HEAD"]);
    let ci = |sha: &str| {
        let sha = sha.to_owned();
        Ci::from_variables(move |name| match name {
            "GITHUB_ACTIONS" => Some("true".into()),
            "GITHUB_EVENT_NAME" => Some("pull_request".into()),
            "GITHUB_BASE_REF" => Some("main".into()),
            "GITHUB_SHA" => Some(sha.clone()),
            _ => None,
        })
    };
    let pair = resolve_in(&place.user(), None, None, &ci(&merge)).unwrap();
    assert_eq!(revision(&pair.baseline).commit, target);
    assert_eq!(
        pair.notes,
        [format!(
            "baseline is {}, the side of main in the merge that CI made, HEAD^1",
            &target[..7]
        )]
    );
    // A checkout of CI has both parents and no branch at all.
    let shallow = place.0.path().join("shallow");
    let url = format!("file://{}", place.user().display());
    git(place.0.path(), &["init", "-q", "shallow"]);
    git(&shallow, &["remote", "add", "origin", &url]);
    place.git(&["branch", "merged"]);
    git(
        &shallow,
        &["fetch", "-q", "--depth", "2", "origin", "merged"],
    );
    git(&shallow, &["checkout", "-q", "--detach", "FETCH_HEAD"]);
    let pair = resolve_in(&shallow, None, None, &ci(&merge)).unwrap();
    assert_eq!(revision(&pair.baseline).commit, target);
    let failure = resolve_in(&shallow, None, None, &ci("another")).unwrap_err();
    assert_eq!(
        failure.message,
        "unknown revision \"main\": this is a shallow clone (depth 2). git fetch --unshallow origin \
         main, or fetch-depth: 0 in actions/checkout"
    );
    let built = place.build(&pair, &compiled()).unwrap();
    assert_eq!(built[0].identity.commit.as_ref(), Some(&target));
}

#[test]
fn what_no_tree_can_hold_is_refused() {
    let place = Place::new();
    let inside = place.user().join("inside");
    fs::create_dir(&inside).unwrap();
    git(&inside, &["init", "-q"]);
    let failure = place.resolve(None, None).unwrap_err();
    assert_eq!(failure.code, 2);
    assert!(failure.message.contains("correct or ignore"), "{failure}");
    commit(&inside, "inside");
    let failure = place.resolve(None, None).unwrap_err();
    assert_eq!(failure.code, 2);
    let start = "\"inside\" is a repository of its own";
    assert!(failure.message.starts_with(start), "{failure}");
}
