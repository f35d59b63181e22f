//! Both sides of the protocol between broker and adapter (`spec/contracts/adapter-protocol.md`).
//!
//! | file | holds |
//! | --- | --- |
//! | `subcommand` | the five subcommands of an adapter, the meaning of exit codes |
//! | `calls` | the input of each subcommand, as types |
//! | `wire`, `input` | the same as texts; these as the document on stdin, and as the argument list of old brokers |
//! | `service_deployment`, `plan`, `request`, `values` | the types of their content |
//! | `answers`, `binding` | the output of each subcommand |
//! | `reading` | how an invalid document is reported, what counts as absent, which unknown members are kept |

mod answers;
mod binding;
mod calls;
mod input;
mod plan;
mod reading;
mod request;
mod service_deployment;
mod subcommand;
mod values;
mod wire;

pub use answers::{
    Binding, ConfigType, DashboardUrl, GeneratedManifest, ParametersSchema, PlanSchemas,
    ServiceBindingSchemas, ServiceInstanceSchemas,
};
pub use binding::{
    BindingMetadata, BindingTimeError, DeviceType, Endpoint, EndpointProtocol, MountMode,
    SharedDevice, VolumeMount,
};
pub use calls::{
    BoshVms, Call, CreateBinding, DeleteBinding, DnsAddresses, GenerateDashboardUrl,
    GenerateManifest, GeneratePlanSchemas, NoAddressError, PreviousConfigs, UnreadableManifest,
};
pub(crate) use input::Sections;
pub use input::{AdapterArguments, AdapterInput, ArgumentsError};
pub use plan::{
    InvalidPercentage, LifecycleErrand, LifecycleErrands, MaxInFlight, MigratedFrom, Percentage,
    Plan, PlanInstanceGroup, PlanUpdate,
};
pub use reading::{UnknownKeys, Violation, Violations};
pub use request::{
    BindTarget, MaintenanceInfo, NotRequestParameters, PlatformContext, PreviousValues,
    RequestParameters,
};
pub use service_deployment::{ServiceDeployment, ServiceRelease, Stemcell};
pub use subcommand::{ExitCode, Subcommand, UnknownSubcommand};
pub use values::{ManifestText, Secrets, UaaClient};
pub use wire::InputError;
