//! The listener in front of the broker. Connections during a restart wait instead of being rejected, so that users do
//! not notice it.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};

/// How long a connection waits. The platform gives up after 60 s.
const TIMEOUT: Duration = Duration::from_secs(45);

/// The pause between two attempts to reach a broker that should be there.
const PAUSE: Duration = Duration::from_millis(30);

/// Whether there is a broker behind the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateState {
    Open,
    Soon,
    /// There is no broker, and no time for the next one is known.
    Closed,
}

/// Passes connections on. Dropped, it ends, and all connections with it.
pub(super) struct Gate {
    state: watch::Sender<GateState>,
    porter: JoinHandle<()>,
}

impl Gate {
    /// Takes connections at `front` and passes them on to `behind`; not before the gate is opened.
    pub(super) fn new(front: SocketAddr, behind: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(front)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (state, seen) = watch::channel(GateState::Closed);
        let porter = tokio::spawn(async move {
            let mut passing = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => match accepted {
                        Ok((client, _)) => {
                            passing.spawn(pass(client, behind, seen.clone()));
                        }
                        // Too many files are open, for example; that passes.
                        Err(_) => sleep(PAUSE).await,
                    },
                    Some(_) = passing.join_next() => {}
                }
            }
        });
        Ok(Self { state, porter })
    }

    pub(super) fn set(&self, state: GateState) {
        self.state.send_replace(state);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.porter.abort();
    }
}

/// A client who cannot be served sees the connection closed.
async fn pass(mut client: TcpStream, behind: SocketAddr, mut state: watch::Receiver<GateState>) {
    if let Ok(Some(mut broker)) = timeout(TIMEOUT, reach(behind, &mut state)).await {
        // Small answers are not to wait for more.
        let _ = client.set_nodelay(true);
        let _ = broker.set_nodelay(true);
        // However it ends, it is the end of this connection.
        let _ = copy_bidirectional(&mut client, &mut broker).await;
    }
}

async fn reach(behind: SocketAddr, state: &mut watch::Receiver<GateState>) -> Option<TcpStream> {
    loop {
        let seen = state.wait_for(|state| *state != GateState::Soon).await;
        if *seen.ok()? == GateState::Closed {
            return None;
        }
        match TcpStream::connect(behind).await {
            Ok(broker) => return Some(broker),
            // It has just ended, and that will be noticed.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn addresses() -> (SocketAddr, SocketAddr) {
        let free = async || {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap()
        };
        (free().await, free().await)
    }

    #[tokio::test]
    async fn a_client_that_connects_before_the_broker_waits_for_it() {
        let (front, behind) = addresses().await;
        let gate = Gate::new(front, behind).unwrap();
        gate.set(GateState::Soon);
        let mut client = TcpStream::connect(front).await.unwrap();
        client.write_all(b"order").await.unwrap();

        let broker = TcpListener::bind(behind).await.unwrap();
        gate.set(GateState::Open);

        let (mut order, _) = broker.accept().await.unwrap();
        let mut read = [0; 5];
        order.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"order");
        order.write_all(b"done").await.unwrap();
        drop(order);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "done");
    }

    #[tokio::test]
    async fn a_broker_that_does_not_start_is_not_waited_for() {
        let (front, behind) = addresses().await;
        let gate = Gate::new(front, behind).unwrap();
        gate.set(GateState::Soon);
        let mut client = TcpStream::connect(front).await.unwrap();

        gate.set(GateState::Closed);

        let mut answer = String::new();
        assert_eq!(client.read_to_string(&mut answer).await.unwrap(), 0);
    }
}
