//! Which user a connection on the loopback address comes from. Owns which users are answered: the one that rtscope
//! runs as, root, and the one that became root by `sudo`. Refuses to know what is asked.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Tables of this network namespace: the peer's socket is in one of them, as both ends are here.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// The users whose connections are accepted.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct AllowedUsers(Vec<u32>);

impl AllowedUsers {
    /// For a process that runs as user `own`; `var` reads the environment.
    pub fn of(own: u32, var: &dyn Fn(&str) -> Option<String>) -> AllowedUsers {
        // The variable is reliable only for root: other users can set it to anything.
        let asked = var("SUDO_UID").filter(|_| own == 0).and_then(|uid| uid.parse().ok());
        AllowedUsers([own, 0].into_iter().chain(asked).collect())
    }

    /// Whether the connection from `peer` to `here` belongs to one of these users. Without a table of connections (no
    /// `/proc`), only the token protects.
    pub fn takes(&self, peer: SocketAddr, here: SocketAddr) -> bool {
        let mut tables = 0;
        for table in TABLES {
            match fs::read_to_string(table) {
                Ok(text) => match owner(&text, peer, here) {
                    Some(uid) => return self.0.contains(&uid),
                    None => tables += 1,
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return false,
            }
        }
        tables == 0
    }
}

/// The user of the socket that is bound to `peer` and connected to `here`.
fn owner(table: &str, peer: SocketAddr, here: SocketAddr) -> Option<u32> {
    let (peers, heres) = (written(peer), written(here));
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let ours = peers.iter().any(|peer| fields.clone().nth(1) == Some(peer))
            && heres.iter().any(|here| fields.clone().nth(2) == Some(here));
        if ours { fields.nth(7)?.parse().ok() } else { None }
    })
}

/// An address as the tables write it, in words of the machine's byte order: as version 4, and mapped into version 6.
fn written(address: SocketAddr) -> [String; 2] {
    let words = |octets: &[u8]| -> String {
        let (words, _) = octets.as_chunks::<4>();
        words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect()
    };
    let port = address.port();
    let (short, long) = match address.ip() {
        IpAddr::V4(ip) => (words(&ip.octets()), words(&ip.to_ipv6_mapped().octets())),
        IpAddr::V6(ip) => (String::new(), words(&ip.octets())),
    };
    [short, long].map(|ip| format!("{ip}:{port:04X}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    #[cfg(target_endian = "little")]
    fn the_user_is_the_one_of_the_peers_own_socket() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1\n\
            1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     8        0 2 1\n\
            2: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 3 1\n";
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert_eq!(owner(table, at(40_000), at(8_080)), Some(1_000));
        assert_eq!(owner(table, at(40_001), at(8_080)), None);
        let mapped = "head\n 0: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:1F90 01 \
            0:0 00:0 0 33 0 3 1\n";
        assert_eq!(owner(mapped, at(40_000), at(8_080)), Some(33));
    }

    #[test]
    fn ones_own_connections_are_taken() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let here = listener.local_addr().unwrap();
        let stream = TcpStream::connect(here).unwrap();
        let (own, peer) = (geteuid().as_raw(), stream.local_addr().unwrap());
        assert!(AllowedUsers(vec![own]).takes(peer, here));
        assert!(!AllowedUsers(vec![own + 1]).takes(peer, here));
        drop((stream, listener));
        let gone = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        assert!(!AllowedUsers(vec![own]).takes(gone, here), "a connection that is gone is of no user");
    }

    #[test]
    fn sudo_uid_counts_only_for_root() {
        let var = |name: &str| (name == "SUDO_UID").then(|| "1000".to_owned());
        assert_eq!(AllowedUsers::of(0, &var), AllowedUsers(vec![0, 0, 1_000]));
        assert_eq!(AllowedUsers::of(5, &var), AllowedUsers(vec![5, 0]));
        assert_eq!(AllowedUsers::of(0, &|_| Some("x".into())), AllowedUsers(vec![0, 0]));
    }
}
