//! Thousands of random scripts: the quick form of the fuzz target `store`, which runs the same
//! ones.

mod script;

use base::Prng;

#[test]
fn it_may_forget_but_never_lies() {
    let mut prng = Prng::new(1);
    // Miri is a thousand times slower.
    let (scripts, longest) = if cfg!(miri) { (12, 400) } else { (2_000, 2_000) };
    for _ in 0..scripts {
        let len = 1 + prng.below(longest) as usize;
        let bytes: Vec<_> = (0..len).map(|_| prng.below(256) as u8).collect();
        script::play(&bytes);
    }
}
