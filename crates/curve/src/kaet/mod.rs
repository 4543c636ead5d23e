//! K-AET: K-LRU for every K, with and without Redis's eviction pool, from histograms of ages.
//!
//! An eviction takes one of n residents, of recency rank φ (0 the most recent, 1 the oldest), with
//! density w(φ): K·φ^(K-1) for the oldest of K draws. A pool keeps 16 candidates between evictions,
//! and K new ones arrive for each victim. So victims have only ranks above 1 - 1/K, all equally
//! likely: w = K there and 0 below. (K = 5 with the pool is about 9-LRU, but its law is that of no
//! K-LRU.)
//!
//! Let S(u) be the probability that a live object of age u is still in the cache. If each resident
//! is evicted at the mean rate x, an object survives the ages from a to b with probability
//! exp(-x·∫w(φ(u)) du). φ(u) is the share of the residents that are younger than u: live objects of
//! that age times S. The histograms give the number of live objects of each age.
//!
//! The cache begins empty. S is carried on from window to window. The rate x is the number that
//! keeps the residents within the capacity at the window's end: zero while the cache fills, and
//! different in each phase. Hits are reads by age times S. In a steady state this is S' =
//! -x·w(φ)·S; K = 1 gives e^(-xu), random replacement; K → ∞ gives `eaet`.
//!
//! The same histograms give the curves for every K, with and without the pool ([`Kaet::curves`]).
//!
//! Each age depends on the one before, and this chain limits the speed of solving. So several sizes
//! are solved side by side, in lanes that the compiler turns into vectors. The solution for one
//! cache is the starting point of the search for its neighbours, in size and from one K to the
//! next.

mod bend;
mod caches;
mod curves;
mod lanes;
mod law;
mod past;
mod search;

pub use curves::{Kaet, SPEC};
