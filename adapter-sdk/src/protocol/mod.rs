//! Both sides of the protocol between broker and adapter (`spec/contracts/adapter-protocol.md`).
//!
//! | file | holds |
//! | --- | --- |
//! | `subcommand` | the five subcommands of an adapter |
//! | `exit_code` | the meaning of exit codes |
//! | `calls` | the input of each subcommand, as types and as transmitted texts |
//! | `input`, `arguments` | these texts as the document on stdin, and as the argument list of old brokers |
//! | `parts` | the content of these texts, decoded and checked |
//! | `service_deployment`, `plan`, `max_in_flight`, `request_parameters`, `secrets`, `uaa_client`, `manifest_text` | the types of that content |
//! | `addresses` | where a binding finds the instance |
//! | `request` | the content of a request besides the user's parameters, as types |
//! | `answers` | the output of each subcommand |
//! | `binding`, `config_type` | parts of answers, as types |
//! | `violations`, `absence`, `unknown_keys` | how an invalid document is reported, what counts as absent, and which unknown members are kept |

mod absence;
mod addresses;
mod answers;
mod arguments;
mod binding;
mod calls;
mod config_type;
mod exit_code;
mod input;
mod manifest_text;
mod max_in_flight;
mod parts;
mod plan;
mod request;
mod request_parameters;
mod secrets;
mod service_deployment;
mod subcommand;
mod uaa_client;
mod unknown_keys;
mod violations;

pub use addresses::NoAddressError;
pub use answers::{
    Binding, DashboardUrl, GeneratedManifest, ParametersSchema, PlanSchemas, ServiceBindingSchemas,
    ServiceInstanceSchemas,
};
pub use arguments::{AdapterArguments, ArgumentsError};
pub use binding::{
    BindingMetadata, BindingTimeError, DeviceType, Endpoint, EndpointProtocol, MountMode,
    SharedDevice, VolumeMount,
};
pub use calls::{
    BoshVms, Call, CreateBinding, DeleteBinding, DnsAddresses, GenerateDashboardUrl,
    GenerateManifest, GeneratePlanSchemas, PreviousConfigs, UnreadableManifest,
};
pub use config_type::ConfigType;
pub use exit_code::ExitCode;
pub use input::AdapterInput;
pub(crate) use input::Sections;
pub use manifest_text::ManifestText;
pub use max_in_flight::{InvalidPercentage, MaxInFlight, Percentage};
pub use parts::InputError;
pub use plan::{
    LifecycleErrand, LifecycleErrands, MigratedFrom, Plan, PlanInstanceGroup, PlanUpdate,
};
pub use request::{BindTarget, MaintenanceInfo, PlatformContext, PreviousValues};
pub use request_parameters::{NotRequestParameters, RequestParameters};
pub use secrets::Secrets;
pub use service_deployment::{ServiceDeployment, ServiceRelease, Stemcell};
pub use subcommand::{Subcommand, UnknownSubcommand};
pub use uaa_client::UaaClient;
pub use unknown_keys::UnknownKeys;
pub use violations::{Violation, Violations};
