import { isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts'
import { isPseudonym } from './pseudonym.ts'
import { isSourceReason, type SourceReason } from './source-reason.ts'

/** A Registry behind a gateway that is not in the gateway's answer, in the gateway's own words and names. */
export type MissingSource = {
  /** `curated`, or `eu/curated` for one behind the next gateway; `*` ends the name of an unnamed one. */
  registry: string
  state: MissingState
  reason?: SourceReason
  /** Where older listings of it are shown all the same: their age. */
  ageSeconds?: number
  /** Ids of the gateways that reported it on the way here. */
  via?: readonly string[]
}

type MissingState = 'unavailable' | 'not_yet_loaded' | 'skipped'

/** Most missing sources that are kept of one gateway. */
export const MAX_MISSING = 100
/** Longest `via`; of a longer one the last entries count. */
const MAX_VIA = 16

/** Something is missing and the gateway does not name it. */
export const UNNAMED: MissingSource = { registry: '*', state: 'unavailable', reason: 'bad_envelope' }

export type MissingOptions = {
  /** Whether a source that the gateway skipped as a `loop` is one that the question has passed through already. */
  ignoreLoops: boolean
  /** Our own `gateway.id`: what was reported by way of this gateway is dropped, since it knows better. */
  ownId?: string | undefined
}

/**
 * What the envelope of a gateway reports as missing (`complete: false` and `sources`); `null` where nothing is.
 * Never empty: what has no readable name, or exceeds `MAX_MISSING`, is an `UNNAMED` entry.
 */
export function readMissing(
  { complete, sources }: JsonObject,
  { ignoreLoops, ownId }: MissingOptions = { ignoreLoops: true },
): readonly MissingSource[] | null {
  if (complete !== false) return null
  const missing = unanswered(sources)
  if (missing.length === 0) return [UNNAMED]
  const isOurs = (source: JsonValue): boolean => ownId !== undefined && viaOf(source).includes(ownId)
  const read = readEntries(missing.filter((source) => !(ignoreLoops && isLoop(source)) && !isOurs(source)))
  return read.length === 0 ? null : read
}

/** The entries of a gateway's `sources`, in a status or a problem, that have not answered. */
export function missingAmong(sources: JsonValue | undefined): readonly MissingSource[] {
  return readEntries(unanswered(sources))
}

/** What the problem body of a gateway reports as missing; empty where it names nothing. */
export function missingInProblem(body: Buffer): readonly MissingSource[] {
  try {
    const value = parseJson(body.toString())
    return isJsonObject(value) ? missingAmong(value.sources) : []
  } catch {
    return [] // the status reports the failure; a body that is not JSON adds nothing
  }
}

/** The union of two parts of one answer; of two entries with one name the later one counts. */
export function joinMissing(
  before: readonly MissingSource[] | undefined,
  more: readonly MissingSource[] | undefined,
): readonly MissingSource[] | undefined {
  if (before === undefined || more === undefined) return before ?? more
  const byName = new Map([...before, ...more].map((entry) => [entry.registry, entry]))
  return bounded([...byName.values()])
}

/** The entry with the gateway that reported it appended to `via`. */
export function addReporter(entry: MissingSource, gatewayId: string | undefined): MissingSource {
  return gatewayId === undefined
    ? entry
    : { ...entry, via: [...(entry.via ?? []), gatewayId].slice(-MAX_VIA) }
}

/** Whether a Registry of that name is missing with it. */
export function includes({ registry }: Pick<MissingSource, 'registry'>, name: string): boolean {
  return registry.endsWith('*')
    ? name.startsWith(registry.slice(0, -1))
    : `${name}/`.startsWith(`${registry}/`)
}

/** One line for a log or an error message; empty for none. */
export function describeMissing(missing: readonly MissingSource[]): string {
  return missing
    .map(
      ({ registry, state, reason }) => `${registry} is ${state}${reason === undefined ? '' : ` (${reason})`}`,
    )
    .join(', ')
}

/** Stops collecting soon after `MAX_MISSING`: a hostile gateway may send any number. */
function unanswered(sources: JsonValue | undefined): JsonValue[] {
  const found: JsonValue[] = []
  if (!Array.isArray(sources)) return found
  for (const source of sources) {
    if (hasAnswered(source)) continue
    found.push(source)
    if (found.length > MAX_MISSING * 2) break
  }
  return found
}

function hasAnswered(source: JsonValue): boolean {
  return isJsonObject(source) && (source.state === 'loaded' || source.state === 'stale')
}

function isLoop(source: JsonValue): boolean {
  return isJsonObject(source) && source.state === 'skipped' && source.reason === 'loop'
}

function readEntries(missing: readonly JsonValue[]): readonly MissingSource[] {
  const named = missing.flatMap(readEntry)
  return bounded(named.length < missing.length ? [...named, UNNAMED] : named)
}

function bounded(missing: readonly MissingSource[]): readonly MissingSource[] {
  return missing.length <= MAX_MISSING ? missing : [...missing.slice(0, MAX_MISSING - 1), UNNAMED]
}

function readEntry(source: JsonValue): MissingSource[] {
  if (!isJsonObject(source) || typeof source.registry !== 'string' || !NAME.test(source.registry)) return []
  const { registry, state, reason } = source
  const via = viaOf(source)
  return [
    {
      registry,
      state: state === 'not_yet_loaded' || state === 'skipped' ? state : 'unavailable',
      ...(isSourceReason(reason) ? { reason } : {}),
      ...(via.length === 0 ? {} : { via }),
    },
  ]
}

function viaOf(source: JsonValue): readonly string[] {
  return isJsonObject(source) && Array.isArray(source.via)
    ? source.via.slice(-MAX_VIA).filter(isPseudonym)
    : []
}

/** As long as a Registry's name may be, or ending in `*`. */
const NAME = /^(?:[a-z0-9-]{1,64}\/){0,3}(?:[a-z0-9-]{1,64}|\*)$/
