import { isJsonObject, type JsonObject, type JsonValue, parseObject } from '../../json/value.ts'
import { describeMissing, hasAnswered } from '../../wire/describe-missing.ts'
import { isPseudonym } from '../names.ts'
import { isSourceReason, type SourceReason } from './reasons.ts'

/** A Registry that a gateway reports as missing from its answer, by the gateway's names. */
export type MissingSource = {
  /** `curated`, or `eu/curated` behind a further gateway; `*` ends an unnamed one. */
  registry: string
  state: MissingState
  reason?: SourceReason | undefined
  /** Of one that is loading or held in part: how many of its listings are there, of how many. */
  held?: number | undefined
  of?: number | undefined
  /** Age of its older listings, if they are shown. */
  ageSeconds?: number | undefined
  /** Ids of the gateways that passed the report on. */
  via?: readonly string[] | undefined
}

/** `partial`: it has answered with a part of its listings. */
const MISSING_STATES = ['unavailable', 'not_yet_loaded', 'loading', 'partial', 'skipped'] as const
type MissingState = (typeof MISSING_STATES)[number]

/** Per gateway. */
export const MAX_MISSING = 100
const MAX_AGE_SECONDS = 86_400
/** Only the last entries are kept. */
const MAX_VIA = 16

export const UNNAMED_SOURCE: MissingSource = { registry: '*', state: 'unavailable', reason: 'bad_envelope' }

/** The directory of publishers: copies without a publisher are left out, and a later answer may have them. */
export const DIRECTORY: readonly MissingSource[] = [
  { registry: 'publishers', state: 'unavailable', reason: 'publishers_unknown' },
]

/** Of an upstream that is asked for every status. */
export const NOT_OPEN: readonly MissingSource[] = [
  { registry: 'closed', state: 'skipped', reason: 'open_only' },
]

export type MissingOptions = {
  /** Whether to drop sources skipped as `loop`: the query has visited those already. */
  ignoreLoops: boolean
  /** Our own `gateway.id`. Drops reports that came through this gateway, which knows better. */
  ownId?: string | undefined
}

/** Missing sources of a gateway's envelope; `null` for none. Unnamed or surplus ones become `UNNAMED_SOURCE`. */
export function readMissing(
  { complete, sources }: JsonObject,
  { ignoreLoops, ownId }: MissingOptions = { ignoreLoops: true },
): readonly MissingSource[] | null {
  if (complete !== false) return null
  const missing = unanswered(sources)
  if (missing.length === 0) return [UNNAMED_SOURCE]
  const isOurs = (source: JsonValue): boolean => ownId !== undefined && viaOf(source).includes(ownId)
  const read = readEntries(missing.filter((source) => !(ignoreLoops && isLoop(source)) && !isOurs(source)))
  return read.length === 0 ? null : read
}

/**
 * Age of the oldest data that a gateway answered with, in seconds, at most a day; 0 where it states none.
 */
export function readOldestAge({ sources, sources_counted: counted = null }: JsonObject): number {
  if (!Array.isArray(sources)) return 0
  return [...sources, counted].reduce<number>((oldest, source) => {
    const age = isJsonObject(source) ? source.age_seconds : undefined
    return typeof age === 'number' && age > oldest ? Math.min(age, MAX_AGE_SECONDS) : oldest
  }, 0)
}

export function readMissingList(sources: JsonValue | undefined): readonly MissingSource[] {
  return readEntries(unanswered(sources))
}

export function readMissingInProblem(body: string): readonly MissingSource[] {
  return readMissingList(parseObject(body).sources)
}

/** The later of two entries with one name wins. */
export function joinMissing(
  before: readonly MissingSource[] | undefined,
  more: readonly MissingSource[] | undefined,
): readonly MissingSource[] | undefined {
  if (before === undefined || more === undefined) return before ?? more
  const byName = new Map([...before, ...more].map((entry) => [entry.registry, entry]))
  return bounded([...byName.values()])
}

export function addReporter(entry: MissingSource, gatewayId: string | undefined): MissingSource {
  return gatewayId === undefined
    ? entry
    : { ...entry, via: [...(entry.via ?? []), gatewayId].slice(-MAX_VIA) }
}

export function coversRegistry({ registry }: Pick<MissingSource, 'registry'>, name: string): boolean {
  return registry.endsWith('*')
    ? name.startsWith(registry.slice(0, -1))
    : `${name}/`.startsWith(`${registry}/`)
}

export function describeAllMissing(missing: readonly MissingSource[]): string {
  return missing.map(({ ageSeconds: _, ...source }) => describeMissing(source)).join(', ')
}

/** Bounded: a hostile gateway may send any number. */
function unanswered(sources: JsonValue | undefined): JsonValue[] {
  const missing: JsonValue[] = []
  if (!Array.isArray(sources)) return missing
  for (const source of sources) {
    if (isJsonObject(source) && typeof source.state === 'string' && hasAnswered(source.state)) continue
    missing.push(source)
    if (missing.length > MAX_MISSING * 2) break
  }
  return missing
}

function isLoop(source: JsonValue): boolean {
  return isJsonObject(source) && source.state === 'skipped' && source.reason === 'loop'
}

function readEntries(missing: readonly JsonValue[]): readonly MissingSource[] {
  const named = missing.flatMap(readEntry)
  return bounded(named.length < missing.length ? [...named, UNNAMED_SOURCE] : named)
}

function bounded(missing: readonly MissingSource[]): readonly MissingSource[] {
  return missing.length <= MAX_MISSING ? missing : [...missing.slice(0, MAX_MISSING - 1), UNNAMED_SOURCE]
}

function readEntry(source: JsonValue): MissingSource[] {
  if (!isJsonObject(source) || typeof source.registry !== 'string' || !NAME.test(source.registry)) return []
  const { registry, state, reason, held, of } = source
  const via = viaOf(source)
  const isCounted = isCount(held) && isCount(of)
  return [
    {
      registry,
      state: MISSING_STATES.find((one) => one === state) ?? 'unavailable',
      ...(isSourceReason(reason) ? { reason } : {}),
      ...(isCounted ? { held, of } : {}),
      ...(via.length === 0 ? {} : { via }),
    },
  ]
}

const isCount = (value: JsonValue | undefined): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0

function viaOf(source: JsonValue): readonly string[] {
  return isJsonObject(source) && Array.isArray(source.via)
    ? source.via.slice(-MAX_VIA).filter(isPseudonym)
    : []
}

const NAME = /^(?:[a-z0-9-]{1,64}\/){0,3}(?:[a-z0-9-]{1,64}|\*)$/
