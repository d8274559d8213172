/**
 * Whether a gateway may be called that on the way of a question: a host with a port, or a token (RFC 8586 section 2,
 * RFC 9110 section 7.6.3). Anything else is not sent on: it could break the header.
 */
export const isPseudonym = (name: unknown): name is string =>
  typeof name === 'string' && /^[\w!#$%&'*+.^`|~:[\]-]{1,255}$/.test(name)
