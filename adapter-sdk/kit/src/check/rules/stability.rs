//! Regenerated manifests.

rules! {
    PENDING_CHANGES: Error "D-01" "a regenerated manifest differs although nothing changed",
        why: "before each update the broker regenerates the manifest with an empty request, and refuses the update with 422 if it differs: the instance can never be updated again",
        remedy: "generate a value once and then read it back from the previous manifest; write no time, no random value and no order of a hash map; take what comes only once, such as the UAA client, from the previous manifest",
        section: "What an author must do";

    CHANGES_WITHOUT_CAUSE: Error "D-02" "an update or upgrade that changes nothing changes the manifest",
        why: "VMs are restarted or recreated for nothing",
        remedy: "read back from the previous manifest what the request does not say",
        section: "What an author must do";

    UNSTABLE_ORDER: Error "D-03" "two equal orders get manifests that differ in more than generated values",
        why: "instances of one plan are not alike, and one day a regenerated manifest will differ",
        remedy: "write lists in the order of the input, and nothing random beside secrets",
        section: "What an author must do";

    REGENERATION_FAILS: Error "D-04" "a search for pending changes, an update or an upgrade that changes nothing fails",
        why: "the instance can never be updated or upgraded again",
        remedy: "fix what stderr reports; the previous manifest has what the request leaves out",
        section: "What an author must do";
}
