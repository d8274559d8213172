import { type Market, routeOf } from './market.ts'
import type { Registry } from './select-registries.ts'

export const getFilterSpec = (
  market: Market,
  registry: Registry,
  timeoutMs: number,
): ReturnType<Market['send']> =>
  market.send({ method: 'GET', url: routeOf(registry, '/filter-spec'), key: registry.key, timeoutMs })
