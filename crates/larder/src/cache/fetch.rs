//! Reads that fetch a missing value: one thread per key fetches, and the others wait for it
//! (`flight.rs`).

use super::Cache;
use super::flight::Joined;
use std::convert::Infallible;
use std::time::Instant;

impl Cache {
    /// Returns the value, or the result of `fetch`, which is inserted with the time that `fetch`
    /// took as its cost.
    ///
    /// Threads that miss the same key while it is fetched wait for that one fetch and get its value
    /// (*single flight*). No lock is held meanwhile, so `fetch` may be slow and may call the cache,
    /// but it must not ask for its own key this way.
    ///
    /// - If `fetch` panics, the waiting threads wake, and one of them fetches next.
    /// - If the key is inserted, removed or cleared during the fetch, the fetched value is out of
    ///   date: the threads that waited get it, and it is not inserted.
    /// - A value that can never fit is returned, and the next read misses again.
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

    /// Returns the value, or the result of a `fetch` that may fail; as
    /// [`Cache::get_or_insert_with`].
    ///
    /// Only the caller whose `fetch` failed gets the error, and nothing is inserted. The waiting
    /// threads wake, and one of them fetches next.
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
    /// The error of `fetch`.
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
        // If the store refuses the value, the next read fetches it again.
        let cost = Some(begun.elapsed());
        lead.land(&value, || _ = self.write(&key, &value, None, cost));
        shared.tell();
        Ok(value)
    }
}
