import { SourceError } from '../../domain/source/source-error.ts'
import type { SourceReason } from '../../domain/source/source-reason.ts'
import { isJsonObject, type JsonValue, listAt, textAt } from '../../json/value.ts'
import {
  type ApiResponse,
  describeErrorResponse,
  describeSourceError,
  getEndpoint,
  isUnauthorized,
  type RegistryClient,
  readJson,
  readJsonObject,
} from './registry-client.ts'
import type { Registry } from './select-registries.ts'

export type Inspection =
  | { registry: string; kind: 'gateway' | 'registry'; sources: JsonValue[] }
  | InspectionFailure
export type InspectionFailure = { registry: string; error: string; reason?: SourceReason | undefined }

/** A plain Registry has no `/sources`: checks its health and one read. */
export async function inspectRegistry(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<Inspection> {
  const { url } = registry
  const get = (path: string) => getEndpoint(client, registry, path, timeoutMs)
  try {
    const response = await get('/sources')
    if (response.status === 200) {
      const sources = sourcesIn(readJson(response))
      if (sources !== null) return { registry: url, kind: 'gateway', sources }
      return { registry: url, error: 'GET /sources: not a list of sources' }
    }
    if (response.status !== 404)
      return { registry: url, error: describeErrorResponse(response), reason: reasonOf(response) }
    const [health, read] = await Promise.all([get('/health'), get(READ_PROBE)])
    const error = readProbeProblem(read)
    if (error !== null) return { registry: url, error, reason: reasonOf(read) }
    if (health.status !== 200 && health.status !== 503)
      return { registry: url, error: describeErrorResponse(health) }
    const state = health.status === 200 ? 'loaded' : 'unavailable'
    return { registry: url, kind: 'registry', sources: [{ registry: url, mode: 'local', state }] }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return { registry: url, error: describeSourceError(cause), reason: cause.reason }
  }
}

const reasonOf = (response: ApiResponse): SourceReason | undefined =>
  isUnauthorized(response) ? 'unauthorized' : undefined

export const READ_PROBE = '/listings?status=open&limit=1'

/** `null` for a page of listings. */
export function readProbeProblem(response: ApiResponse): string | null {
  if (response.status !== 200) return `GET /listings: ${describeErrorResponse(response)}`
  const page = readJsonObject(response)
  const isPage = Array.isArray(page.items) && textAt(page, 'total_after_filter') !== null
  return isPage ? null : 'GET /listings: not a page of listings'
}

/** Each source is followed by its missing sources. */
export const withMissingSources = (sources: readonly JsonValue[]): JsonValue[] =>
  sources.flatMap((source) => {
    const reason = textAt(source, 'reason') ?? textAt(source, 'last_error', 'reason')
    return [
      isJsonObject(source) && reason !== null ? { ...source, reason } : source,
      ...listAt(source, 'gaps'),
    ]
  })

/** `{"sources": […]}`, or a bare array. */
function sourcesIn(body: JsonValue): JsonValue[] | null {
  const sources = isJsonObject(body) ? body.sources : body
  return Array.isArray(sources) ? sources : null
}
