//! Tenants that a trace names by words.
//!
//! A number means the tenant with that number. A word gets a number of its own, above all numbers
//! used before it. A number that a word has taken counts as a word.

use crate::lines::whole_number;
use base::TenantId;
use std::collections::HashMap;

/// The tenants of a trace, by their words and numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tenants {
    by_text: HashMap<Vec<u8>, TenantId>,
    names: HashMap<TenantId, String>,
    /// The next free number, above all used numbers; there is none after the last tenant.
    next: u32,
}

impl Tenants {
    /// The tenant that a field names. Tenants after the last share the last number.
    pub(crate) fn of(&mut self, text: &[u8]) -> TenantId {
        if let Some(known) = self.by_text.get(text) {
            return *known;
        }
        let number = whole_number(text).filter(|number| !self.names.contains_key(&tenant(*number)));
        let found = match number {
            Some(number) => self.number(number),
            None => self.name(text),
        };
        if self.by_text.len() < usize::from(TenantId::MAX) {
            self.by_text.insert(text.to_vec(), found);
        }
        found
    }

    /// The tenant of a number, in a trace without words.
    #[inline]
    pub(crate) fn number(&mut self, number: u64) -> TenantId {
        let tenant = tenant(number);
        self.next = self.next.max(u32::from(tenant) + 1);
        tenant
    }

    /// Whether any tenant has a word.
    #[inline]
    pub(crate) fn has_words(&self) -> bool {
        !self.names.is_empty()
    }

    fn name(&mut self, text: &[u8]) -> TenantId {
        let Ok(number) = TenantId::try_from(self.next) else { return TenantId::MAX };
        self.next += 1;
        self.names.insert(number, base::printable(&String::from_utf8_lossy(text)).into_owned());
        number
    }

    /// The word for a tenant; `None` if the tenant is a number.
    pub(crate) fn name_of(&self, tenant: TenantId) -> Option<&str> {
        self.names.get(&tenant).map(String::as_str)
    }
}

/// The tenant of a client number: the number itself. Numbers above the last tenant share the last
/// tenant.
pub(crate) fn tenant(client: u64) -> TenantId {
    TenantId::try_from(client).unwrap_or(TenantId::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_do_not_meet() {
        let mut tenants = Tenants::default();
        let mut found = |text: &str| {
            let number = tenants.of(text.as_bytes());
            (number, tenants.name_of(number).map(str::to_owned))
        };
        let word = |number, word: &str| (number, Some(word.to_owned()));
        for (text, expected) in [
            ("1", (1, None)),
            ("web", word(2, "web")),
            ("cart", word(3, "cart")),
            ("web", word(2, "web")),
            ("2", word(4, "2")),
            ("1", (1, None)),
            ("0", (0, None)),
            ("7", (7, None)),
            ("late", word(8, "late")),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn tenants_beyond_the_last_are_one() {
        let mut tenants = Tenants::default();
        let last = (0..70_000).map(|at| tenants.of(format!("w{at}").as_bytes())).last();
        assert_eq!(last, Some(TenantId::MAX));
        assert_eq!(tenants.of(b"99999"), TenantId::MAX);
    }
}
