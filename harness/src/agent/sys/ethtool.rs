//! Switches an interface's features, such as `rx-gro`, by their names (linux/ethtool.h), so that
//! ethtool(8) need not be installed.
//!
//! Every structure is an array of 32-bit words that starts with the command. The number of features
//! is the kernel's own and does not change while it runs.

use std::io;
use std::os::fd::AsRawFd;

/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// `ETHTOOL_GSTRINGS`.
const GET_STRINGS: u32 = 0x1b;
/// `ETHTOOL_GSSET_INFO`.
const GET_SET_INFO: u32 = 0x37;
/// `ETHTOOL_SFEATURES`.
const SET_FEATURES: u32 = 0x3b;
/// `ETH_SS_FEATURES`: the set of strings that names features.
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN` in words.
const STRING_WORDS: usize = 8;

/// Switches features of `interface`, in this network namespace, on or off. One that this kernel does
/// not know is off already.
///
/// # Errors
///
/// The error of a call; `Unsupported` with its name for a feature that cannot be switched on.
pub(in crate::agent) fn set_features(interface: &str, wanted: &[(&str, bool)]) -> io::Result<()> {
    let names = names(interface)?;
    let mut words = vec![SET_FEATURES, blocks(names.len())];
    words.extend(masks(&names, wanted)?);
    match call(interface, &mut words)? {
        0 => Ok(()),
        // ETHTOOL_F_UNSUPPORTED, _WISH and _COMPAT: something stayed as it was.
        flags => Err(unsupported(&format!(
            "a feature stays as it is (flags {flags:#x})"
        ))),
    }
}

/// The names of all features, in the order of their bits.
fn names(interface: &str) -> io::Result<Vec<String>> {
    let mut info = [GET_SET_INFO, 0, 1 << FEATURES, 0, 0];
    call(interface, &mut info)?;
    let count = info[4];
    let mut words = vec![0; 3 + count as usize * STRING_WORDS];
    words[..3].copy_from_slice(&[GET_STRINGS, FEATURES, count]);
    call(interface, &mut words)?;
    let name = |string: &[u32]| {
        let bytes: Vec<u8> = string.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let end = bytes
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    Ok(words[3..].chunks(STRING_WORDS).map(name).collect())
}

/// Words of 32 features each that `count` features take.
fn blocks(count: usize) -> u32 {
    u32::try_from(count.div_ceil(32)).expect("a kernel has some dozens of features")
}

/// For each block which features are meant, and which of those are wanted on.
fn masks(names: &[String], wanted: &[(&str, bool)]) -> io::Result<Vec<u32>> {
    let mut words = vec![0; 2 * blocks(names.len()) as usize];
    for (name, on) in wanted {
        let Some(bit) = names.iter().position(|known| known == name) else {
            if *on {
                return Err(unsupported(&format!("this kernel has no feature {name}")));
            }
            continue;
        };
        words[bit / 32 * 2] |= 1 << (bit % 32);
        words[bit / 32 * 2 + 1] |= u32::from(*on) << (bit % 32);
    }
    Ok(words)
}

fn unsupported(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why.to_owned())
}

/// The call's value. `words` has room for the answer, as each caller made it.
fn call(interface: &str, words: &mut [u32]) -> io::Result<i32> {
    let socket = super::inet_socket()?;
    let mut request = super::named_request(interface)?;
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the request and the words live through the call; what the kernel writes is one word
    // a set, one string a feature, or nothing, and the callers above made room for it.
    let value = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    super::check(value.min(0))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_where_the_names_do() {
        let names: Vec<String> = (0..40).map(|bit| format!("f{bit}")).collect();
        let wanted = [
            ("f1", true),
            ("f31", false),
            ("f33", true),
            ("unknown", false),
        ];
        assert_eq!(
            masks(&names, &wanted).unwrap(),
            [1 << 31 | 1 << 1, 1 << 1, 1 << 1, 1 << 1]
        );
        let error = masks(&names, &[("unknown", true)]).unwrap_err();
        assert_eq!(error.to_string(), "this kernel has no feature unknown");
        assert_eq!((blocks(64), blocks(65)), (2, 3));
    }

    #[test]
    fn every_kernel_names_the_features_of_lo() {
        let names = names("lo").unwrap();
        assert!(names.iter().any(|name| name == "rx-gro"), "{names:?}");
        assert!(set_features("wt-none", &[("rx-gro", true)]).is_err());
    }
}
