/** Parameters of a Registry's `GET /listings` that are not filters. */
export const REGISTRY_PARAMETERS: ReadonlySet<string> = new Set(['status', 'limit', 'offset', 'publisher'])

export const GATEWAY_PARAMETERS: ReadonlySet<string> = new Set([
  ...REGISTRY_PARAMETERS,
  'require',
  'timeout_ms',
  'sources',
  'explain',
  'cursor',
])

export const OVERRIDE_PREFIX = 'strict.'

export const filterNameOf = (parameter: string): string =>
  parameter.startsWith(OVERRIDE_PREFIX) ? parameter.slice(OVERRIDE_PREFIX.length) : parameter
