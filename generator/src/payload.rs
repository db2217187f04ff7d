//! What a datagram holds behind its stamp.

/// Fills `payload` with the same bytes every time: no zeros that a device could compress, and no
/// repetition that a longer stamp could be mistaken for.
pub fn fill(payload: &mut [u8]) {
    let mut state = SEED;
    for chunk in payload.chunks_mut(8) {
        // SplitMix64 (Steele, Lea, Flood 2014, figure 17).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        chunk.copy_from_slice(&z.to_le_bytes()[..chunk.len()]);
    }
}

const SEED: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two outputs of SplitMix64 from seed 0, as published with its reference code.
    #[test]
    fn the_fill_is_splitmix64() {
        let mut payload = [0; 20];
        fill(&mut payload);
        assert_eq!(payload[..8], 0xE220_A839_7B1D_CDAF_u64.to_le_bytes());
        assert_eq!(payload[8..16], 0x6E78_9E6A_A1B9_65F4_u64.to_le_bytes());
        assert_ne!(payload[16..], [0; 4]);
    }
}
