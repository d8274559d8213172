/** The steps of a negotiation (`spec.md` 2.5), apart from the schema of a record, which takes a library to load. */
export const NEGOTIATION_STAGES = ['advertised', 'buyer-proposed', 'seller-countered', 'agreed'] as const
