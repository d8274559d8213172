import { isJsonObject, type JsonValue } from '../domain/json.ts'
import { SourceError } from '../domain/source-error.ts'
import { faultOf, readJson } from './client.ts'
import { type Market, routeOf } from './market.ts'
import type { Registry } from './select-registries.ts'

/** What stands behind a gateway, as it says, or how a plain Registry is. */
export type Inspection = { registry: string; kind: 'gateway' | 'registry'; sources: JsonValue } | Failure
export type Failure = { registry: string; error: string; unauthorized?: boolean }

/** A gateway's own `/sources`; a plain Registry has none, and is asked for its health. */
export const inspectRegistry = async (
  market: Market,
  registry: Registry,
  timeoutMs: number,
): Promise<Inspection> => {
  const { url, key } = registry
  try {
    const reply = await market.send({ method: 'GET', url: routeOf(registry, '/sources'), key, timeoutMs })
    if (reply.status === 200) {
      const body = readJson(reply)
      return { registry: url, kind: 'gateway', sources: isJsonObject(body) ? (body.sources ?? body) : body }
    }
    if (reply.status !== 404)
      return {
        registry: url,
        error: faultOf(reply),
        unauthorized: reply.status === 401 || reply.status === 403,
      }
    const health = await market.send({ method: 'GET', url: routeOf(registry, '/health'), key, timeoutMs })
    if (health.status !== 200 && health.status !== 503) return { registry: url, error: faultOf(health) }
    const state = health.status === 200 ? 'loaded' : 'unavailable'
    return { registry: url, kind: 'registry', sources: [{ registry: url, mode: 'local', state }] }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return { registry: url, error: `${cause.reason}: ${cause.message}` }
  }
}
