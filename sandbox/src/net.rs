//! The loopback net of one sandbox: a `127.x.y.0/24` that no other sandbox on this machine has.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

const CONTROL_PORT: u16 = 9100;
/// Nets are taken from `127.64.0.0` upwards: what is below is where other software likes to listen.
const FIRST_SECOND_OCTET: u8 = 64;
const NETS: u32 = (256 - FIRST_SECOND_OCTET as u32) * 256;

/// A net that belongs to this process while the value exists.
///
/// Listening on the control port *is* the claim: the kernel gives it to one process, of any user, and releases it when
/// the process ends, in every case.
#[derive(Debug)]
pub struct LoopbackNet {
    net: NetAddress,
    control: TcpListener,
}

/// Why no net could be had.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("the net `{net}` is taken by another sandbox")]
    Taken { net: NetAddress },
    #[error("all {NETS} loopback nets are taken")]
    Exhausted,
    #[error("could not listen on `{address}`")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}

impl LoopbackNet {
    /// Claims a free net. The search starts at a random one, so that sandboxes started together seldom meet.
    pub fn claim() -> Result<Self, ClaimError> {
        let start = rand::random_range(0..NETS);
        for step in 0..NETS {
            match Self::claim_exactly(NetAddress::nth((start + step) % NETS)) {
                Err(ClaimError::Taken { .. }) => {}
                claimed => return claimed,
            }
        }
        Err(ClaimError::Exhausted)
    }

    /// Claims this net and no other.
    pub fn claim_exactly(net: NetAddress) -> Result<Self, ClaimError> {
        let address = SocketAddr::from((net.host(1), CONTROL_PORT));
        match TcpListener::bind(address) {
            Ok(control) => Ok(Self { net, control }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(ClaimError::Taken { net })
            }
            Err(source) => Err(ClaimError::Listen { address, source }),
        }
    }

    pub fn address(&self) -> NetAddress {
        self.net
    }

    /// The listener that holds the claim. The control API is served on it; the claim ends when both it and this value
    /// are gone.
    pub fn control_listener(&self) -> io::Result<TcpListener> {
        self.control.try_clone()
    }
}

/// Names a `127.x.y.0/24` and knows who lives at which of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetAddress {
    second: u8,
    third: u8,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a net of the form `127.x.y.0` with x from {FIRST_SECOND_OCTET} to 255")]
pub struct NotALoopbackNet(String);

impl NetAddress {
    fn nth(index: u32) -> Self {
        let [.., second, third] = index.to_be_bytes();
        Self {
            second: FIRST_SECOND_OCTET + second,
            third,
        }
    }

    /// The address with this last octet.
    pub fn host(self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, self.second, self.third, last)
    }

    /// Where the control API listens (plain HTTP).
    pub fn control(self) -> SocketAddr {
        self.socket(1, CONTROL_PORT)
    }

    pub fn director(self) -> SocketAddr {
        self.socket(2, 25555)
    }

    /// Where the UAA of the Director listens.
    pub fn bosh_uaa(self) -> SocketAddr {
        self.socket(2, 8443)
    }

    /// Where the CredHub of the Director listens.
    pub fn bosh_credhub(self) -> SocketAddr {
        self.socket(2, 8844)
    }

    pub fn cloud_controller(self) -> SocketAddr {
        self.socket(3, 9024)
    }

    /// Where the UAA of the Cloud Controller listens.
    pub fn cf_uaa(self) -> SocketAddr {
        self.socket(3, 8443)
    }

    /// Where the CredHub that apps ask listens.
    pub fn runtime_credhub(self) -> SocketAddr {
        self.socket(3, 8844)
    }

    pub fn broker(self) -> IpAddr {
        self.host(5).into()
    }

    /// The first and the last address given to VMs.
    pub fn vms(self) -> (Ipv4Addr, Ipv4Addr) {
        (self.host(10), self.host(250))
    }

    fn socket(self, last: u8, port: u16) -> SocketAddr {
        SocketAddr::from((self.host(last), port))
    }
}

impl fmt::Display for NetAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host(0).fmt(f)
    }
}

impl FromStr for NetAddress {
    type Err = NotALoopbackNet;

    fn from_str(text: &str) -> Result<Self, NotALoopbackNet> {
        match text.parse::<Ipv4Addr>().map(|address| address.octets()) {
            Ok([127, second @ FIRST_SECOND_OCTET..=255, third, 0]) => Ok(Self { second, third }),
            _ => Err(NotALoopbackNet(text.to_owned())),
        }
    }
}

impl TryFrom<String> for NetAddress {
    type Error = NotALoopbackNet;

    fn try_from(text: String) -> Result<Self, NotALoopbackNet> {
        text.parse()
    }
}

impl From<NetAddress> for String {
    fn from(net: NetAddress) -> Self {
        net.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_net_is_exclusive() {
        let mine = LoopbackNet::claim().unwrap();

        let again = LoopbackNet::claim_exactly(mine.address());

        assert!(matches!(again, Err(ClaimError::Taken { net }) if net == mine.address()));
    }

    #[test]
    fn two_sandboxes_get_two_nets() {
        let (one, other) = (LoopbackNet::claim().unwrap(), LoopbackNet::claim().unwrap());

        assert_ne!(one.address(), other.address());
    }

    #[test]
    fn a_net_is_read_as_it_is_printed() {
        let net: NetAddress = "127.80.3.0".parse().unwrap();

        assert_eq!(net.to_string(), "127.80.3.0");
        assert_eq!(net.director().to_string(), "127.80.3.2:25555");
        for refused in ["127.0.0.0", "127.80.3.1", "10.80.3.0", "loopback"] {
            assert_eq!(
                refused.parse::<NetAddress>(),
                Err(NotALoopbackNet(refused.to_owned()))
            );
        }
    }
}
