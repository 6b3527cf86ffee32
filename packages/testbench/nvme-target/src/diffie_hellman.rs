//! Diffie-Hellman in the finite fields of RFC 7919: a secret that both sides have, and none who listens.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Limb, NonZero, Odd, Resize};
use rustix::io::Result;
use rustix::rand::{GetRandomFlags, getrandom};

/// Bits of a secret exponent: more than RFC 7919 asks for with the largest group (400).
const EXPONENT_BITS: u32 = 512;

/// A group of RFC 7919, with the generator 2.
#[derive(Debug)]
pub(super) struct Group {
    /// Its number in NVMe.
    pub(super) id: u8,
    bits: u32,
    /// What makes its prime one.
    x: u32,
}

/// All of them.
pub(super) const GROUPS: [Group; 5] = [
    Group { id: 1, bits: 2048, x: 560_316 },
    Group { id: 2, bits: 3072, x: 2_625_351 },
    Group { id: 3, bits: 4096, x: 5_736_041 },
    Group { id: 4, bits: 6144, x: 15_705_020 },
    Group { id: 5, bits: 8192, x: 10_965_728 },
];

impl Group {
    /// Its prime of n bits: 2^n - 2^(n-64) + ([2^(n-130) e] + x) 2^64 - 1.
    fn prime(&self) -> BoxedUint {
        let number = |value: u32| BoxedUint::from(value).resize(self.bits);
        // Euler's number by its series, with 64 bits more than are asked for.
        let mut term = number(1).shl(self.bits - 130 + 64);
        let mut sum = number(0);
        let mut divisor = Limb::ONE;
        while !bool::from(term.is_zero()) {
            sum = sum.wrapping_add(&term);
            term = term.div_rem_limb(NonZero::new(divisor).expect("it begins with one")).0;
            divisor = divisor.wrapping_add(Limb::ONE);
        }
        let top = number(0).wrapping_sub(number(1).shl(self.bits - 64));
        let middle = sum.shr(64).wrapping_add(number(self.x)).shl(64);
        top.wrapping_add(&middle).wrapping_sub(number(1))
    }
}

/// One side's part of an exchange, which is used once.
pub(super) struct Exchange {
    params: BoxedMontyParams,
    prime: BoxedUint,
    exponent: BoxedUint,
}

impl Exchange {
    /// # Errors
    /// If the kernel gives no random numbers.
    pub(super) fn new(group: &Group) -> Result<Self> {
        let mut bytes = [0; EXPONENT_BITS as usize / 8];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let prime = group.prime();
        let odd = Odd::new(prime.clone()).expect("a prime is odd");
        Ok(Self {
            params: BoxedMontyParams::new(odd),
            prime,
            exponent: BoxedUint::from_be_slice_truncated(&bytes, EXPONENT_BITS),
        })
    }

    fn power(&self, base: BoxedUint) -> Vec<u8> {
        let base = BoxedMontyForm::new(base, &self.params);
        base.pow(&self.exponent).retrieve().to_be_bytes().into_vec()
    }

    /// What the other side gets.
    pub(super) fn public(&self) -> Vec<u8> {
        self.power(BoxedUint::from(2_u32).resize(self.prime.bits_precision()))
    }

    /// What only both sides know, once the other's part has come; `None` if that is none.
    pub(super) fn shared(&self, other: &[u8]) -> Option<Vec<u8>> {
        let bits = self.prime.bits_precision();
        let other = BoxedUint::from_be_slice(other, bits).ok()?;
        let one = BoxedUint::one_with_precision(bits);
        // Of 0, 1 and -1 anyone knows the powers.
        let is_proper = other > one && other < self.prime.wrapping_sub(&one);
        is_proper.then(|| self.power(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    /// SHA-256 of the primes as OpenSSL has them.
    const OF_OPENSSL: [&str; 5] = [
        "9cd3b7f336872f46c09428d1bbc19877a4d440512cda8d1c1cf0cd6e33698966",
        "0eaf67db3a839156d5013494a5318a772b5697d270d721f37f092efc69ea5a17",
        "4648414224ac881b3d0dc59b466f96d06a558278776807797ecf1f66ff397b3e",
        "227ac9066b3ddd9e193670cda2388fa884f65ba0cf98b742d1fe77a6687c79c7",
        "770b14efaf6f049929c523113b3fa99a8d11dab1b18af3609590122075d19833",
    ];

    #[test]
    fn the_primes_are_those_of_openssl() {
        for (group, expected) in GROUPS.iter().zip(OF_OPENSSL) {
            let digest = Sha256::digest(group.prime().to_be_bytes());
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "ffdhe{}", group.bits);
        }
    }

    #[test]
    fn both_sides_come_to_the_same_secret_and_take_no_weak_part() {
        let group = &GROUPS[0];
        let [one, other] = [(); 2].map(|()| Exchange::new(group).unwrap());
        let shared = one.shared(&other.public()).unwrap();
        assert_eq!(shared.len(), 256);
        assert_eq!(other.shared(&one.public()).unwrap(), shared);
        let prime = group.prime();
        let minus_one = prime.wrapping_sub(BoxedUint::one_with_precision(2048)).to_be_bytes();
        for weak in [&[0_u8][..], &[1], &minus_one, &prime.to_be_bytes(), &[1; 257], &[]] {
            assert!(one.shared(weak).is_none());
        }
    }
}
