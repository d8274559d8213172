import type Koa from 'koa'
import { ANONYMOUS } from '../../src/domain/api-key.ts'
import { createApp } from '../../src/http/app.ts'
import { createMetrics } from '../../src/http/metrics/metrics.ts'
import { RequestMetrics } from '../../src/http/metrics/request-metrics.ts'
import type { Route } from '../../src/http/route.ts'
import { createLogger } from '../../src/log.ts'

type Options = Partial<Parameters<typeof createApp>[0]> & Pick<Route, 'path' | 'handle'>

/** Everything that a request passes, around one handler of an open read. */
export function oneRouteApp({ path, handle, ...options }: Options): Koa {
  return createApp({
    routes: [{ method: 'GET', path, gate: 'read', summary: '', responses: {}, handle }],
    authorize: () => ANONYMOUS,
    rateLimit: () => null,
    clientAddress: () => 'reader',
    metrics: new RequestMetrics(createMetrics('0.0.0')),
    log: createLogger('silent'),
    ...options,
  })
}
