import type { JsonValue } from './json.ts'

/** Names with as many gateways before them as a question may pass. */
const REGISTRY_NAME = /^[a-z0-9-]{1,64}(?:\/[a-z0-9-]{1,64}){0,3}$/

/** Whether that can be a gateway's name for a Registry behind it. */
export const isRegistryName = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && REGISTRY_NAME.test(value)
