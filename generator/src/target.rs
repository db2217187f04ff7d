//! Which addresses the generator sends to.
//!
//! Without being told it sends only where a flood stays at home: loopback (RFC 1122 section
//! 3.2.1.3, RFC 4291 section 2.5.3), private (RFC 1918), shared (RFC 6598), link-local (RFC 3927,
//! RFC 4291 section 2.5.6), benchmarking (RFC 2544 appendix C.2.2) and unique local addresses
//! (RFC 4193). It never sends to several hosts at once: multicast and the limited broadcast are
//! refused here, and the kernel refuses a network's own broadcast address, since no socket asks for
//! SO_BROADCAST (socket(7)).

use std::net::IpAddr;

use wiretrial_contract::failure::Failure;

/// Checks one target; `allowed` holds the addresses somebody vouched for.
///
/// # Errors
///
/// The target is unspecified, multicast, broadcast or an IPv4 address in IPv6 form, or is not
/// local in the sense above and not in `allowed`.
pub fn check(target: IpAddr, allowed: &[IpAddr]) -> Result<(), Failure> {
    if target.to_canonical() != target {
        return Err(Failure::usage(format!(
            "target {target} is an IPv4 address in IPv6 form; write {}",
            target.to_canonical()
        )));
    }
    let broadcast = matches!(target, IpAddr::V4(v4) if v4.is_broadcast());
    if broadcast || target.is_multicast() || target.is_unspecified() {
        return Err(Failure::usage(format!(
            "target {target} is not one host; broadcast, multicast and unspecified addresses are \
             never sent to"
        )));
    }
    if is_local(target) || allowed.contains(&target) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "target {target} is neither private, link-local, 198.18.0.0/15 nor a network wiretrial \
         made; --allow-target {target} if it is yours"
    )))
}

fn is_local(target: IpAddr) -> bool {
    match target {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || (a == 100 && b & 0xC0 == 64)
                || (a == 198 && b & 0xFE == 18)
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(target: &str) -> bool {
        check(target.parse().unwrap(), &[]).is_ok()
    }

    #[test]
    fn the_edges_of_every_network() {
        for inside in [
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.0",
            "10.255.255.255",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "192.168.255.254",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.0.1",
            "169.254.255.254",
            "198.18.0.1",
            "198.19.255.255",
            "::1",
            "fc00::1",
            "fdff:ffff::1",
            "fe80::1",
            "febf::1",
        ] {
            assert!(passes(inside), "{inside}");
        }
        for outside in [
            "126.255.255.255",
            "128.0.0.1",
            "9.255.255.255",
            "11.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.113.9",
            "::2",
            "fbff::1",
            "fe00::1",
            "fe7f::1",
            "fec0::1",
            "2001:db8::1",
            "0.0.0.1",
        ] {
            assert!(!passes(outside), "{outside}");
        }
    }

    #[test]
    fn the_sentence_names_the_cure_and_the_cure_works() {
        let target: IpAddr = "203.0.113.9".parse().unwrap();
        let failure = check(target, &["203.0.113.8".parse().unwrap()]).unwrap_err();
        assert_eq!(
            failure.message,
            "target 203.0.113.9 is neither private, link-local, 198.18.0.0/15 nor a network \
             wiretrial made; --allow-target 203.0.113.9 if it is yours"
        );
        assert_eq!(check(target, &[target]), Ok(()));
    }

    #[test]
    fn several_hosts_at_once_are_refused_even_when_allowed() {
        for never in [
            "255.255.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "0.0.0.0",
            "::",
            "ff02::1",
            "ff0e::1",
            "::ffff:224.0.0.1",
            "::ffff:127.0.0.1",
        ] {
            let target: IpAddr = never.parse().unwrap();
            assert!(check(target, &[target]).is_err(), "{never}");
        }
    }
}
