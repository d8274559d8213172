/** RFC 8586 section 2, RFC 9110 section 7.6.3. Other text could break the header that it is sent in. */
export const isPseudonym = (name: unknown): name is string =>
  typeof name === 'string' && /^[\w!#$%&'*+.^`|~:[\]-]{1,255}$/.test(name)
