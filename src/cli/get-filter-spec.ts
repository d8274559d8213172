import { type Market, routeOf } from './market.ts'
import type { Registry } from './select-registries.ts'

/** The answer to `GET /filter-spec`, whatever its status. */
export const getFilterSpec = (
  market: Market,
  registry: Registry,
  timeoutMs: number,
): ReturnType<Market['send']> =>
  market.send({ method: 'GET', url: routeOf(registry, '/filter-spec'), key: registry.key, timeoutMs })
