/** Query parameters of a Registry's `GET /listings` that are no filters. */
export const REGISTRY_PARAMETERS: ReadonlySet<string> = new Set(['status', 'limit', 'offset', 'publisher'])

/** The same at a gateway with upstreams. */
export const GATEWAY_PARAMETERS: ReadonlySet<string> = new Set([
  ...REGISTRY_PARAMETERS,
  'require',
  'timeout_ms',
  'sources',
  'explain',
  'cursor',
])

/** What begins the name of a parameter that says what happens where a filter's field is missing. */
export const OVERRIDE_PREFIX = 'strict.'

/** The filter that a parameter is about: `strict.gpu_model` belongs to `gpu_model`. */
export const filterNameOf = (parameter: string): string =>
  parameter.startsWith(OVERRIDE_PREFIX) ? parameter.slice(OVERRIDE_PREFIX.length) : parameter
