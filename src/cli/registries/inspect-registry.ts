import { isRegistryName } from '../../domain/names.ts'
import { readMissingList } from '../../domain/source/missing-source.ts'
import type { SourceReason } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isJsonObject, type JsonValue, listAt, numberAt, textAt } from '../../json/value.ts'
import type { SourceNote } from '../../wire/source.ts'
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
      const body = readJson(response)
      const sources = sourcesIn(body)
      if (sources === null) return { registry: url, error: 'GET /sources: not a list of sources' }
      const total = numberAt(body, 'total') ?? 0
      // The largest page has the rest, whatever a gateway says.
      const rest = sources.length < total ? await get(`/sources?limit=1000&offset=${sources.length}`) : null
      const more = rest?.status === 200 ? (sourcesIn(readJson(rest)) ?? []) : []
      return { registry: url, kind: 'gateway', sources: [...sources, ...more] }
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

/** For agents: a gateway is followed by the sources that it lacks. */
export async function healthOf(
  client: RegistryClient,
  { url: registry, key }: Registry,
  timeoutMs: number,
): Promise<SourceNote[]> {
  const inspection = await inspectRegistry(client, { url: registry, key }, timeoutMs)
  if ('error' in inspection) {
    const { error: detail, reason } = inspection
    return [{ registry, state: 'unavailable', ...(reason && { reason }), detail }]
  }
  const { kind, sources } = inspection
  if (kind === 'registry') return [{ registry, kind, state: textAt(sources, 0, 'state') ?? 'unavailable' }]
  const gaps = readMissingList(withMissingSources(sources)).map((gap) => ({
    ...gap,
    registry: `${registry}/${gap.registry}`,
  }))
  return [{ registry, kind, state: 'loaded', behind: namesOf(sources) }, ...gaps]
}

/** Per gateway. */
const MAX_SOURCE_NAMES = 100

/** Only the names, since the gateway is not trusted. */
const namesOf = (sources: readonly JsonValue[]): string[] =>
  sources
    .map((source) => textAt(source, 'registry'))
    .filter(isRegistryName)
    .slice(0, MAX_SOURCE_NAMES)
