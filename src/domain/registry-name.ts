import type { JsonValue } from '../json/value.ts'

/** As many gateways before the name as a question may pass. */
const REGISTRY_NAME = /^[a-z0-9-]{1,64}(?:\/[a-z0-9-]{1,64}){0,3}$/

export const isRegistryName = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && REGISTRY_NAME.test(value)
