import { notReceipt, type Receipt } from '../../client/signed-write.ts'
import type { Holding } from '../../domain/source/holding.ts'
import type { SourceError } from '../../domain/source/source-error.ts'
import type { KnownSpec } from '../../filter-spec/upstream-spec.ts'
import {
  formatJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  parseJson,
} from '../../json/value.ts'
import type { CopyIndex } from '../../listing-index/copy-index.ts'
import { CliError, EXIT, exitCodeOfStatus } from '../exit-codes.ts'
import type { Registry } from './select-registries.ts'

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  key: string | null
  /** JSON text. */
  body?: string | Uint8Array
  timeoutMs: number
  /** Its circuit breaker applies, and on the signed line its pin. */
  registry?: Registry
  /** Of a write on the signed line, the same in each attempt. */
  requestId?: string
  /** How long the Registry may wait for something to answer (`Prefer: wait`, RFC 7240). */
  waitSeconds?: number
  /**
   * Set for URLs of listings. They may lead to a private address only where the Registry has one and the listing is its own,
   * not where it `fronts` the Registry that has it.
   */
  referredBy?: { url: string; fronts?: boolean }
}

export type ApiResponse = { status: number; headers: Readonly<Record<string, string>>; body: Buffer }

export type ClientOptions = {
  /** For a process that lives long: pauses requests to a Registry that keeps failing. */
  hasBreakers?: boolean
  /** Default: a Registry may be at a private address, since the user has named it. */
  allowPrivateAddresses?: boolean
}

export type SourceOptions = {
  index: CopyIndex
  /** Of all Registries: the index has the columns of their filters. */
  specs: readonly KnownSpec[]
  /** The lowest number is the best. */
  priority: number
  /** Per request. */
  timeoutMs: number
  /** Of all that is read of the Registry at once. */
  pullMs: number
  maxListings: number
  /** Whether it is the only Registry. */
  isAlone: boolean
}

/** Does not follow redirects, bounds the size of answers, and rejects with `SourceError`s. */
export type RegistryClient = {
  /** Its filter spec, requested for the first query that has filters. */
  spec: (registry: Registry, timeoutMs: number) => KnownSpec
  source: (registry: Registry, spec: KnownSpec, options: SourceOptions) => Holding
  send: (request: ApiRequest) => Promise<ApiResponse>
  close: () => Promise<void>
}

/** The base URL may have a path and a trailing slash. */
export const endpointUrl = ({ url }: Pick<Registry, 'url'>, path: string): string =>
  `${url.replace(/\/+$/, '')}${path}`

export const getEndpoint = (
  client: RegistryClient,
  registry: Registry,
  path: string,
  timeoutMs: number,
): Promise<ApiResponse> =>
  client.send({ method: 'GET', url: endpointUrl(registry, path), key: registry.key, timeoutMs, registry })

export const isUnauthorized = ({ status }: Pick<ApiResponse, 'status'>): boolean =>
  status === 401 || status === 403

type Body = { body: Uint8Array }

/** `null` for a body that is not JSON. */
export function readJson({ body }: Body): JsonValue {
  try {
    return parseJson(new TextDecoder().decode(body))
  } catch {
    return null // not JSON: callers report the status
  }
}

export function readJsonObject(response: Body): JsonObject {
  const value = readJson(response)
  return isJsonObject(value) ? value : {}
}

const MAX_QUOTED_CHARACTERS = 300

export function describeErrorResponse(response: ApiResponse): string {
  const { location } = response.headers
  if (response.status >= 300 && response.status < 400 && location)
    return `HTTP ${response.status}: redirects to ${location.slice(0, MAX_QUOTED_CHARACTERS)}, which is not followed; use that URL`
  const { detail = '' } = readJsonObject(response)
  const listed = violationsIn(response).join('; ')
  const text =
    listed || (typeof detail === 'string' ? detail : formatJson(detail)) || response.body.toString('utf8')
  return `HTTP ${response.status}: ${text.slice(0, MAX_QUOTED_CHARACTERS)}`.trim().replace(/:$/, '')
}

export const describeSourceError = ({ reason, message }: SourceError): string => `${reason}: ${message}`

const MAX_CLOCK_DIFFERENCE_MS = 60_000

/** Begins with a semicolon; empty for clocks that agree. Registries accept signatures of five minutes around theirs. */
export function describeClockDifference({ headers }: Pick<ApiResponse, 'headers'>): string {
  const difference = Date.now() - Date.parse(headers.date ?? '')
  if (!(Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS)) return ''
  const minutes = Math.round(Math.abs(difference) / 60_000)
  return `; your clock is ${minutes} min ${difference < 0 ? 'behind' : 'ahead of'} the Registry's`
}

/** The `errors` of a problem, `path: message` each. */
export function violationsIn(response: Pick<ApiResponse, 'body'>): string[] {
  return listAt(readJsonObject(response), 'errors').filter(isJsonObject).map(describeViolation)
}

export const describeViolation = ({ path, message }: { path?: unknown; message?: unknown }): string =>
  `${String(path)}: ${String(message)}`

/** @throws SourceError, or CliError for a status that is not a success, or a success that is not a Registry's */
export async function sendOrFail(
  client: RegistryClient,
  request: ApiRequest,
  receipt: Receipt,
): Promise<ApiResponse> {
  const response = await client.send(request)
  const { status } = response
  if (receipt.isReceipt(response)) return response
  if (status >= 300) throw new CliError(exitCodeOfStatus(status), describeErrorResponse(response))
  throw new CliError(EXIT.noAnswer, notReceipt(response, receipt))
}
