//! Thousands of random scripts: the quick form of the fuzz target `store`, which plays the same.

mod script;

use base::Prng;

#[test]
fn it_may_forget_but_never_lies() {
    let mut prng = Prng::new(1);
    for _ in 0..if cfg!(miri) { 2 } else { 2_000 } {
        let len = 1 + prng.below(2_000) as usize;
        let bytes: Vec<_> = (0..len).map(|_| prng.below(256) as u8).collect();
        script::play(&bytes);
    }
}
