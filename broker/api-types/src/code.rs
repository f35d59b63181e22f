//! The one list of errors that an operator can meet. `docs/operators/reference/errors.md` explains each.

use std::fmt;

macro_rules! codes {
    ($($name:ident = $number:literal,)+) => {
        /// The code of an error in the log, beside the request id.
        ///
        /// Codes are never reused: 1000 configuration and start, 2000 requests, 3000 the service adapter, 4000
        /// upstreams, 5000 operations in progress, 6000 offers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($name = $number,)+
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

codes! {
    ConfigurationUnreadable = 1001,
    ConfigurationInvalid = 1002,
    DirectorUnreachable = 1101,
    DirectorCredentials = 1102,
    CloudControllerUnreachable = 1103,
    CloudControllerTooOld = 1104,
    PlanInUse = 1105,
    Certificate = 1106,
    Listen = 1107,
    Resume = 1108,
    PlanSchemas = 1109,
    CloudControllerCredentials = 1110,
    DirectorTooOld = 1111,
    ConfigRights = 1112,
    CountingRights = 1113,
    CertificateExpiry = 1114,
    Unverified = 1115,
    CertificateKind = 1116,
    CredHubUnreachable = 1117,
    CredHubCredentials = 1118,
    ClientRights = 1119,
    RuntimeCredHubUnreachable = 1120,
    RuntimeCredHubCredentials = 1121,
    Clocks = 1122,
    OtherFoundation = 1123,
    DirectorRights = 1124,
    NoDirectorCredHub = 1125,

    Unauthorized = 2001,
    ApiVersion = 2002,
    MalformedRequest = 2003,
    NotInCatalog = 2004,
    AsyncRequired = 2005,
    MaintenanceInfoConflict = 2006,
    Conflict = 2007,
    Busy = 2008,
    NotFound = 2009,
    Quota = 2010,
    NotSupported = 2011,
    Route = 2012,
    TooLarge = 2013,
    SlowClient = 2014,
    Stopping = 2015,
    PendingChanges = 2016,
    UpgradeFirst = 2017,
    InvalidParameters = 2018,
    // 2019 is retired: it was for more requests at once than were worked on.
    Connections = 2020,
    Forbidden = 2021,
    NothingKept = 2041,
    RunOver = 2042,
    NoInstanceSource = 2043,
    RunLeased = 2044,
    RunUnfinished = 2045,
    InstancesUnknown = 2051,
    NoOrphan = 2052,
    UnmarkedDeployment = 2053,
    DeploymentOfAnother = 2054,
    OfferingUnknown = 2055,
    OrphanPlanUnknown = 2056,
    MarksUnreadable = 2057,

    AdapterStart = 3001,
    AdapterHung = 3002,
    AdapterFailed = 3003,
    AdapterAnswer = 3004,
    AdapterOutput = 3005,
    Manifest = 3006,
    UnannouncedBinding = 3007,
    DnsLink = 3009,

    Director = 4001,
    CloudController = 4002,
    OutOfTime = 4003,
    ForeignDeployment = 4004,
    ServiceInstancesApi = 4005,
    CredHub = 4006,
    RuntimeCredHub = 4007,
    InstanceClient = 4009,
    UnresolvedSecret = 4010,
    UnsteadyCount = 4011,

    TaskFailed = 5001,
    LifecycleErrandFailed = 5002,
    CleanUp = 5003,
    NeverSubmitted = 5004,
    Follow = 5005,
    OperationRecord = 5006,
    PartialBinding = 5007,
    Cancelled = 5008,
    Internal = 5999,

    OfferInvalid = 6001,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ODB-{}", *self as u16)
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
