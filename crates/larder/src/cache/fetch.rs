//! Reads that fetch what they miss: one thread a key, and the others wait for it (`flight.rs`).

use super::Cache;
use super::flight::Joined;
use std::convert::Infallible;
use std::time::Instant;

impl Cache {
    /// The value, or that of `fetch`, which is inserted at the price of the time it took.
    ///
    /// Threads that miss the same key while it is fetched wait for that one fetch and get its value
    /// (*single flight*). No lock is held meanwhile: `fetch` may take its time and may call the
    /// cache, but not ask for its own key this way.
    ///
    /// - If `fetch` panics, those that wait are woken, and one of them fetches next.
    /// - If the key is inserted, removed or cleared while it is fetched, the fetched value is out
    ///   of date: it goes to the threads that waited for it, and is not inserted.
    /// - A value that can never fit is returned all the same, and is a miss the next time.
    ///
    /// ```
    /// let cache = larder::Cache::new(1 << 20);
    /// let page = cache.get_or_insert_with("page:/", || "<h1>slow to make</h1>");
    /// let again = cache.get_or_insert_with("page:/", || -> Vec<u8> { unreachable!() });
    /// assert_eq!(page, again);
    /// ```
    ///
    /// # Panics
    /// If `fetch` panics, or calls this function for its own key.
    pub fn get_or_insert_with<V: AsRef<[u8]>>(
        &self,
        key: impl AsRef<[u8]>,
        fetch: impl FnOnce() -> V,
    ) -> Vec<u8> {
        let fetched = self.get_or_try_insert_with(key, || Ok::<V, Infallible>(fetch()));
        let Ok(value) = fetched;
        value
    }

    /// The value, or that of a `fetch` which may fail; as [`Cache::get_or_insert_with`].
    ///
    /// An error is nobody's but the caller's whose `fetch` it came from, and nothing is inserted:
    /// those that wait are woken, and one of them fetches next.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// let cache = larder::Cache::new(1 << 20);
    /// let load = || std::fs::read("Cargo.toml");
    /// let text = cache.get_or_try_insert_with("manifest", load)?;
    /// assert_eq!(cache.get("manifest"), Some(text));
    ///
    /// let absent = cache.get_or_try_insert_with("absent", || std::fs::read("no such file"));
    /// assert_eq!(absent.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    /// assert!(!cache.contains("absent"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// That of `fetch`.
    ///
    /// # Panics
    /// If `fetch` panics, or calls this function for its own key.
    pub fn get_or_try_insert_with<V: AsRef<[u8]>, E>(
        &self,
        key: impl AsRef<[u8]>,
        fetch: impl FnOnce() -> Result<V, E>,
    ) -> Result<Vec<u8>, E> {
        let key = key.as_ref();
        if let Some(value) = self.get(key) {
            return Ok(value);
        }
        let (shared, key) = (&*self.shared, self.key(key));
        let lead = match shared.flights.join(self.part, key.hash, key.bytes) {
            Joined::Landed(value) => return Ok(value),
            Joined::Leads(lead) => lead,
        };
        if let Some(value) = self.peek(key.bytes, <[u8]>::to_vec) {
            lead.land(&value, || ());
            return Ok(value);
        }
        let begun = Instant::now();
        let value = fetch()?;
        let value = value.as_ref().to_vec();
        // Refused, it is fetched again the next time.
        let cost = Some(begun.elapsed());
        lead.land(&value, || _ = self.write(&key, &value, None, cost));
        shared.tell();
        Ok(value)
    }
}
