import { SourceError } from '../../domain/source-error.ts'
import { isJsonObject, type JsonValue, textAt } from '../../json/value.ts'
import {
  type ApiResponse,
  describeErrorResponse,
  endpointUrl,
  type RegistryClient,
  readJson,
  readJsonObject,
} from './registry-client.ts'
import type { Registry } from './select-registries.ts'

export type Inspection =
  | { registry: string; kind: 'gateway' | 'registry'; sources: JsonValue }
  | InspectionFailure
export type InspectionFailure = { registry: string; error: string; unauthorized?: boolean }

/** A plain Registry has no `/sources`: checks its health and one read. */
export async function inspectRegistry(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<Inspection> {
  const { url, key } = registry
  const get = (path: string) =>
    client.send({ method: 'GET', url: endpointUrl(registry, path), key, timeoutMs })
  try {
    const reply = await get('/sources')
    if (reply.status === 200) {
      const sources = sourcesIn(readJson(reply))
      if (sources !== null) return { registry: url, kind: 'gateway', sources }
      return { registry: url, error: 'GET /sources: not a list of sources' }
    }
    if (reply.status !== 404)
      return { registry: url, error: describeErrorResponse(reply), unauthorized: isUnauthorized(reply) }
    const [health, read] = await Promise.all([get('/health'), get(READ_PROBE)])
    const error = readProbeFault(read)
    if (error !== null) return { registry: url, error, unauthorized: isUnauthorized(read) }
    if (health.status !== 200 && health.status !== 503)
      return { registry: url, error: describeErrorResponse(health) }
    const state = health.status === 200 ? 'loaded' : 'unavailable'
    return { registry: url, kind: 'registry', sources: [{ registry: url, mode: 'local', state }] }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return { registry: url, error: `${cause.reason}: ${cause.message}` }
  }
}

export const READ_PROBE = '/listings?status=open&limit=1'

/** `null` for a page of listings. */
export function readProbeFault(reply: ApiResponse): string | null {
  if (reply.status !== 200) return `GET /listings: ${describeErrorResponse(reply)}`
  const page = readJsonObject(reply)
  const isPage = Array.isArray(page.items) && textAt(page, 'total_after_filter') !== null
  return isPage ? null : 'GET /listings: not a page of listings'
}

export function isUnauthorized({ status }: ApiResponse): boolean {
  return status === 401 || status === 403
}

/** `{"sources": […]}`, or a bare array. */
function sourcesIn(body: JsonValue): JsonValue[] | null {
  const sources = isJsonObject(body) ? body.sources : body
  return Array.isArray(sources) ? sources : null
}
