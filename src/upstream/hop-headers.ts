/**
 * Headers that tell an upstream which gateways a question has been through: `CDN-Loop` (RFC 8586), by which each of
 * them knows its own questions again, and `Via` (RFC 9110 section 7.6.3). Pseudonyms are `gateway.id`s, so tokens.
 */
export const hopHeaders = (via: readonly string[] = []): Record<string, string> =>
  via.length === 0 ? {} : { 'cdn-loop': via.join(', '), via: via.map((id) => `1.1 ${id}`).join(', ') }
