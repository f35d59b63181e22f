//! The one list of errors that an operator can meet.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)+) => {
        /// The code of an error in the log, beside the request id.
        ///
        /// Codes are never reused: 1000 configuration and start, 2000 requests, 3000 the service adapter, 4000
        /// upstreams, 5000 operations in progress.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)+
        }

        impl Code {
            /// Every code there is, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            fn number(self) -> u16 {
                match self {
                    $(Self::$name => $number,)+
                }
            }
        }
    };
}

codes! {
    /// The configuration file cannot be read.
    ConfigurationUnreadable = 1001,
    /// The configuration file contains an invalid setting.
    ConfigurationInvalid = 1002,
    /// The BOSH Director does not answer at start-up.
    DirectorUnreachable = 1101,
    /// The BOSH Director does not accept the configured credentials.
    DirectorCredentials = 1102,
    /// The Cloud Controller or its UAA does not answer at start-up.
    CloudControllerUnreachable = 1103,
    /// The Cloud Controller has no API version that this broker supports.
    CloudControllerTooOld = 1104,
    /// The configuration no longer contains a plan that still has service instances.
    PlanInUse = 1105,
    /// The broker's own certificate or key cannot be used.
    Certificate = 1106,
    /// The configured address cannot be listened on.
    Listen = 1107,
    /// Operations of an earlier process could not be looked up.
    Resume = 1108,
    /// The adapter does not give the schemas of a plan, or gives some that are of no use.
    PlanSchemas = 1109,
    /// The Cloud Controller or its UAA does not accept the configured credentials.
    CloudControllerCredentials = 1110,
    /// The BOSH Director is too old for the configured features.
    DirectorTooOld = 1111,
    /// The Director does not let the broker use BOSH configs, so operations are not recorded.
    ConfigRights = 1112,
    /// The Cloud Controller does not let us see all service instances, so that quotas count too little.
    CountingRights = 1113,
    /// A certificate of the broker's own chain expires soon, or has expired.
    CertificateExpiry = 1114,
    /// The certificates of an upstream are not verified.
    Unverified = 1115,
    /// The kind of the broker's key leaves clients out.
    CertificateKind = 1116,
    /// The Director's CredHub does not answer at start-up.
    CredHubUnreachable = 1117,
    /// The Director's CredHub does not accept the configured credentials.
    CredHubCredentials = 1118,
    /// The rights at the UAA do not suffice for the clients of service instances.
    ClientRights = 1119,
    /// The runtime CredHub does not answer at start-up.
    RuntimeCredHubUnreachable = 1120,
    /// The runtime CredHub or its UAA does not accept the configured credentials.
    RuntimeCredHubCredentials = 1121,
    /// The clocks of this machine and of an upstream differ.
    Clocks = 1122,
    /// An upstream belongs to another foundation than it should.
    OtherFoundation = 1123,
    /// The broker's client may not deploy at the BOSH Director.
    DirectorRights = 1124,
    /// The BOSH Director has no CredHub, and secrets are to be kept in it.
    NoDirectorCredHub = 1125,

    /// Wrong or missing credentials.
    Unauthorized = 2001,
    /// The header with the version of the API is missing or names an unsupported one.
    ApiVersion = 2002,
    /// A request that cannot be understood.
    MalformedRequest = 2003,
    /// The catalog has no such service or plan.
    NotInCatalog = 2004,
    /// The platform did not offer to wait, which every operation needs.
    AsyncRequired = 2005,
    /// The platform's idea of the plan's version is not the catalog's.
    MaintenanceInfoConflict = 2006,
    /// Another object already uses the id.
    Conflict = 2007,
    /// Another operation on the service instance is in progress.
    Busy = 2008,
    /// There is no such service instance or binding.
    NotFound = 2009,
    /// A quota is used up.
    Quota = 2010,
    /// A request that the plan or the service does not allow.
    NotSupported = 2011,
    /// No such path, or not with this method.
    Route = 2012,
    /// A body, an address or headers over the limit.
    TooLarge = 2013,
    /// The request did not arrive in time.
    SlowClient = 2014,
    /// The broker is stopping.
    Stopping = 2015,
    /// The instance has pending changes from the operator, so an update would change more than the user requests.
    PendingChanges = 2016,
    /// The instance is at another version than its plan, so that it has to be upgraded before it is updated.
    UpgradeFirst = 2017,
    /// Parameters that the schema of the plan does not allow.
    InvalidParameters = 2018,
    // 2019 is retired: it was for more requests at once than were worked on.
    /// The client exceeds the limit of concurrent connections.
    Connections = 2020,
    /// There are no BOSH configs to store the requested record.
    NothingKept = 2041,
    /// The run of an errand is not the latest of its kind, or has ended already.
    RunOver = 2042,
    /// Neither a Cloud Controller nor a service instances API is configured, so there is no source of service
    /// instances.
    NoInstanceSource = 2043,
    /// The Cloud Controller does not show us all service instances, so that nothing can be an orphan.
    InstancesUnknown = 2051,
    /// The platform knows the service instance, so that its deployment is no orphan.
    NoOrphan = 2052,
    /// The deployment is unmarked, so it is deleted only on explicit request.
    UnmarkedDeployment = 2053,
    /// The deployment is another broker's.
    DeploymentOfAnother = 2054,
    /// The platform has no plan of the offering. The broker cannot count instances, and every deployment looks like an
    /// orphan.
    OfferingUnknown = 2055,
    /// The plan of an unmarked deployment is unknown, and so are its pre-delete errands.
    OrphanPlanUnknown = 2056,
    /// Operation records cannot be read, so unmarked deployments cannot be distinguished from those of other brokers.
    MarksUnreadable = 2057,

    /// The adapter could not be started.
    AdapterStart = 3001,
    /// The adapter did not end in time and the broker killed it.
    AdapterHung = 3002,
    /// The adapter failed.
    AdapterFailed = 3003,
    /// The adapter's answer cannot be understood.
    AdapterAnswer = 3004,
    /// The adapter printed more than is accepted.
    AdapterOutput = 3005,
    /// The adapter's manifest may not be deployed.
    Manifest = 3006,
    /// The adapter returned something with a binding that the catalog does not announce.
    UnannouncedBinding = 3007,
    /// The manifest of an instance does not have the link behind a DNS address that its plan's bindings need.
    DnsLink = 3009,

    /// A call to the BOSH Director failed.
    Director = 4001,
    /// A call to the Cloud Controller failed.
    CloudController = 4002,
    /// The time of the request was used up before the work was submitted.
    OutOfTime = 4003,
    /// The deployment's name belongs to another team of the Director.
    ForeignDeployment = 4004,
    /// A call to the service instances API failed.
    ServiceInstancesApi = 4005,
    /// A call to the Director's CredHub failed.
    CredHub = 4006,
    /// A call to the runtime CredHub failed.
    RuntimeCredHub = 4007,
    /// Something is wrong with the UAA client of a service instance.
    InstanceClient = 4009,
    /// A reference of a manifest means no secret that we can read.
    UnresolvedSecret = 4010,
    /// The service instances changed faster than they could be counted.
    UnsteadyCount = 4011,

    /// The Director could not complete the deployment or deletion.
    TaskFailed = 5001,
    /// A lifecycle errand failed.
    LifecycleErrandFailed = 5002,
    /// The residual resources of an operation could not be removed yet.
    CleanUp = 5003,
    /// The broker's process ended before the work was submitted.
    NeverSubmitted = 5004,
    /// An operation in progress could not be followed for a while.
    Follow = 5005,
    /// An operation record cannot be parsed.
    OperationRecord = 5006,
    /// A failed bind could not be rolled back.
    HalfMadeBinding = 5007,
    /// An operator has cancelled an operation, or cannot.
    Cancelled = 5008,
    /// Something in the broker itself went wrong.
    Internal = 5999,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ODB-{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_operators_guide_explains_every_code_and_no_other() {
        let guide = include_str!("../../../docs/operators/reference/errors.md");
        let rows = guide.lines().filter(|line| line.starts_with("| `ODB-"));
        let explained: Vec<&str> = rows
            .clone()
            .filter_map(|row| row.split('`').nth(1))
            .collect();
        let mut all: Vec<String> = Code::ALL.iter().map(ToString::to_string).collect();
        all.sort();
        assert_eq!(explained, all);
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            assert!(
                cells.len() == 3 && cells.iter().all(|cell| cell.len() > 7),
                "{row}"
            );
        }
    }

    #[test]
    fn no_number_is_given_twice() {
        let numbers: BTreeSet<String> = Code::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(numbers.len(), Code::ALL.len());
        assert!(numbers.iter().all(|n| n.len() == "ODB-nnnn".len()));
    }
}
