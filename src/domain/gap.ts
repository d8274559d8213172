import { isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts'
import { isPseudonym } from './pseudonym.ts'
import { isSourceReason, type SourceReason } from './source-error.ts'

/** A Registry behind a gateway that is not in the gateway's answer, in the gateway's own words and names. */
export type Gap = {
  /** `curated`, or `eu/curated` for one behind the next gateway; `*` ends the name of what was not named. */
  registry: string
  state: GapState
  reason?: SourceReason
  /** Where older listings of it are shown all the same: seconds since they were what it said. */
  ageSeconds?: number
  /** Ids of the gateways that others remember to have heard it from: whoever is among them knows better. */
  via?: readonly string[]
}

export type GapState = 'unavailable' | 'not_yet_loaded' | 'skipped'

/** More are not named of one gateway. */
export const MAX_GAPS = 100
/** Gateways in a row that remember what the next one misses; of more the last ones count. */
const MAX_VIA = 16

/** Something is missing, and it is not said what: a name that no Registry can have. */
export const UNNAMED_GAP: Gap = { registry: '*', state: 'unavailable', reason: 'bad_envelope' }

/**
 * `isLoopNone`: what was left out as a `loop` is asked by who began the question, so it is not missing. `ownId`: our
 * `gateway.id`; what others remember to have heard by way of us, we say ourselves, as it is now.
 */
export type GapOptions = { isLoopNone: boolean; ownId?: string | undefined }

/**
 * What a gateway's envelope says is not in it (`contract.md` 3.1: `complete` and `sources`); `null` where nothing is
 * missing. Never empty: what is not named in known words, or is too much, is an `UNNAMED_GAP`.
 */
export const readGaps = (
  { complete, sources }: JsonObject,
  { isLoopNone, ownId }: GapOptions = { isLoopNone: true },
): readonly Gap[] | null => {
  if (complete !== false) return null
  const missing = Array.isArray(sources) ? sources.filter((source) => !hasAnswered(source)) : []
  if (missing.length === 0) return [UNNAMED_GAP]
  const isOurs = (source: JsonValue): boolean => ownId !== undefined && viaOf(source).includes(ownId)
  const gaps = nameGaps(missing.filter((source) => !(isLoopNone && isLoop(source)) && !isOurs(source)))
  return gaps.length === 0 ? null : gaps
}

/** Those of a gateway's `sources`, in a status or a problem, that have not answered. */
export const gapsAmong = (sources: JsonValue | undefined): readonly Gap[] =>
  Array.isArray(sources) ? nameGaps(sources.filter((source) => !hasAnswered(source))) : []

/** What the problem of a gateway that could not answer names as missing; empty where it names nothing. */
export const gapsInProblem = (body: Buffer): readonly Gap[] => {
  try {
    const value = parseJson(body.toString())
    return isJsonObject(value) ? gapsAmong(value.sources) : []
  } catch {
    return [] // the status says that it failed; what is no JSON says nothing more
  }
}

/** Of several parts of one answer. Of one that is missing in many, what was said last counts. */
export const joinGaps = (
  before: readonly Gap[] | undefined,
  more: readonly Gap[] | undefined,
): readonly Gap[] | undefined => {
  if (before === undefined || more === undefined) return before ?? more
  const byName = new Map([...before, ...more].map((gap) => [gap.registry, gap]))
  return bounded([...byName.values()])
}

/** For who remembers it: whom it was heard from. `teller`: undefined where that is not known. */
export const heardFrom = (gap: Gap, teller: string | undefined): Gap =>
  teller === undefined ? gap : { ...gap, via: [...(gap.via ?? []), teller].slice(-MAX_VIA) }

/** Whether a Registry of that name is missing with it. */
export const covers = ({ registry }: Pick<Gap, 'registry'>, name: string): boolean =>
  registry.endsWith('*') ? name.startsWith(registry.slice(0, -1)) : `${name}/`.startsWith(`${registry}/`)

/** `''` for none. */
export const describeGaps = (gaps: readonly Gap[]): string =>
  gaps
    .map(
      ({ registry, state, reason }) => `${registry} is ${state}${reason === undefined ? '' : ` (${reason})`}`,
    )
    .join(', ')

const hasAnswered = (source: JsonValue): boolean =>
  isJsonObject(source) && (source.state === 'loaded' || source.state === 'stale')

const isLoop = (source: JsonValue): boolean =>
  isJsonObject(source) && source.state === 'skipped' && source.reason === 'loop'

const nameGaps = (missing: readonly JsonValue[]): readonly Gap[] => {
  const named = missing.flatMap(readGap)
  return bounded(named.length < missing.length ? [...named, UNNAMED_GAP] : named)
}

const bounded = (gaps: readonly Gap[]): readonly Gap[] =>
  gaps.length <= MAX_GAPS ? gaps : [...gaps.slice(0, MAX_GAPS - 1), UNNAMED_GAP]

const readGap = (source: JsonValue): Gap[] => {
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

const viaOf = (source: JsonValue): readonly string[] =>
  isJsonObject(source) && Array.isArray(source.via) ? source.via.filter(isPseudonym).slice(-MAX_VIA) : []

/** As long as a Registry's name may be (`registry-name.ts`), and `*` for one that was not named. */
const NAME = /^(?:[a-z0-9-]{1,64}\/){0,3}(?:[a-z0-9-]{1,64}|\*)$/
