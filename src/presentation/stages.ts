/** Not in `record.ts`, because its schema loads a library. */
export const NEGOTIATION_STAGES = ['advertised', 'buyer-proposed', 'seller-countered', 'agreed'] as const
