import { isJsonObject, type JsonObject } from '../domain/json.ts'
import { SourceError } from '../domain/source-error.ts'
import { compileListingShape } from '../filter-spec/listing-shape.ts'
import type { DraftListing } from './listing-file.ts'

/** What a dry run looks at, and what stands for the members that a draft lacks (`protocol.md` 1.12). */
const CANDIDATE: Readonly<Record<string, unknown>> = {
  listing_id: undefined,
  storefront_url: '',
  offer_resource: {},
  accepted_escrows: [],
  demands: [],
  max_duration_seconds: null,
}

/**
 * Every violation of a Registry's listing shape, as `path: message`. Null properties of the offer count as absent
 * (`protocol.md` 8).
 * @throws SourceError `bad_envelope` for a shape that is no JSON Schema
 */
export const violationsOf = (shape: JsonObject, members: DraftListing['members']): string[] => {
  const validate = compile(shape)
  const candidate = Object.fromEntries(
    Object.entries(CANDIDATE).map(([name, absent]) => {
      const text = members.get(name)
      return [name, text === undefined || text === 'null' ? absent : withoutNulls(JSON.parse(text))]
    }),
  )
  validate(candidate)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${dotted(instancePath)}: ${message}`)
}

const compile = (shape: JsonObject): ReturnType<typeof compileListingShape> => {
  try {
    return compileListingShape(shape)
  } catch (cause) {
    throw new SourceError('bad_envelope', 'its listing shape is no JSON Schema', { cause })
  }
}

const withoutNulls = (value: unknown): unknown =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
    : value

/** `/accepted_escrows/0/token` → `accepted_escrows[0].token`. */
const dotted = (pointer: string): string =>
  pointer
    .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replace(/^\//, '')
    .replaceAll('/', '.') || '<root>'
