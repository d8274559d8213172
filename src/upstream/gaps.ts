import { describeGaps, type Gap } from '../domain/gap.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../domain/json.ts'
import { isRegistryName } from './origin.ts'

/** More is not read of one gateway. */
const MAX_GAPS = 100
/** States and reasons (`contract.md` 3.1) are words of this form; what else a stranger writes is not repeated. */
const WORD = /^[a-z0-9_]{1,64}$/
const ANSWERED: ReadonlySet<unknown> = new Set(['loaded', 'stale'])

/**
 * What a gateway's envelope says is not in it (`contract.md` 3.1: `complete` and `sources`); `null` where it does not
 * say that anything is missing. Empty where it does, and names nothing.
 */
export const readGaps = ({ complete, sources }: JsonObject): readonly Gap[] | null => {
  if (complete !== false) return null
  if (!Array.isArray(sources)) return []
  return sources.flatMap(readGap).slice(0, MAX_GAPS)
}

/** What the problem of a gateway that could not answer at all names as missing, in words; `''` where nothing. */
export const gapsInProblem = (body: Buffer): string => {
  try {
    const value = parseJson(body.toString())
    if (!isJsonObject(value)) return ''
    return describeGaps(readGaps({ complete: false, sources: value.sources ?? null }) ?? [])
  } catch {
    return '' // the status says that it failed; what is no JSON says nothing more
  }
}

const readGap = (source: JsonValue): Gap[] => {
  if (!isJsonObject(source) || !isRegistryName(source.registry) || ANSWERED.has(source.state)) return []
  const { registry, state, reason } = source
  return [{ registry, state: isWord(state) ? state : 'unavailable', ...(isWord(reason) ? { reason } : {}) }]
}

const isWord = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && WORD.test(value)
