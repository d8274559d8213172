import type { JsonValue } from '../json/value.ts'

/** At most as many gateways before the name as a query may pass. */
const REGISTRY_NAME = /^[a-z0-9-]{1,64}(?:\/[a-z0-9-]{1,64}){0,3}$/

export const isRegistryName = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && REGISTRY_NAME.test(value)

/** RFC 8586 section 2, RFC 9110 section 7.6.3. Other text could break the header that it is sent in. */
export const isPseudonym = (name: unknown): name is string =>
  typeof name === 'string' && /^[\w!#$%&'*+.^`|~:[\]-]{1,255}$/.test(name)
