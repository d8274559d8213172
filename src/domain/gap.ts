import { isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts'
import { isRegistryName } from './registry-name.ts'

/** A Registry behind a gateway that is not in the gateway's answer, in the gateway's own words and names. */
export type Gap = { registry: string; state: string; reason?: string }

/** More is not read of one gateway. */
const MAX_GAPS = 100
/** States and reasons (`contract.md` 3.1) are words of this form; what else a stranger writes is not repeated. */
const WORD = /^[a-z0-9_]{1,64}$/
const ANSWERED: ReadonlySet<unknown> = new Set(['loaded', 'stale'])

/**
 * What a gateway's envelope says is not in it (`contract.md` 3.1: `complete` and `sources`); `null` where it does not
 * say that anything is missing. Empty where it does, and names nothing.
 */
export const readGaps = ({ complete, sources }: JsonObject): readonly Gap[] | null =>
  complete === false ? gapsAmong(sources) : null

/** Those of a gateway's `sources` that have not answered. */
export const gapsAmong = (sources: JsonValue | undefined): readonly Gap[] =>
  Array.isArray(sources) ? sources.flatMap(readGap).slice(0, MAX_GAPS) : []

/** What the problem of a gateway that could not answer at all names as missing, in words; `''` where nothing. */
export const gapsInProblem = (body: Buffer): string => {
  try {
    const value = parseJson(body.toString())
    return isJsonObject(value) ? describeGaps(gapsAmong(value.sources)) : ''
  } catch {
    return '' // the status says that it failed; what is no JSON says nothing more
  }
}

/** `''` for none. */
export const describeGaps = (gaps: readonly Gap[]): string =>
  gaps
    .map(
      ({ registry, state, reason }) => `${registry} is ${state}${reason === undefined ? '' : ` (${reason})`}`,
    )
    .join(', ')

const readGap = (source: JsonValue): Gap[] => {
  if (!isJsonObject(source) || !isRegistryName(source.registry) || ANSWERED.has(source.state)) return []
  const { registry, state, reason } = source
  return [{ registry, state: isWord(state) ? state : 'unavailable', ...(isWord(reason) ? { reason } : {}) }]
}

const isWord = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && WORD.test(value)
