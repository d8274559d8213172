import fc from 'fast-check'
import { anyText } from './any-text.ts'

/**
 * JSON texts of foreign writers: white space anywhere, needless escapes, numbers in every spelling
 * (`99.0`, `-0`, 2^70, `1E+2`), repeated names.
 */
export const jsonText = (): fc.Arbitrary<string> => jsonTexts.value

export const jsonObjectText = (): fc.Arbitrary<string> => jsonTexts.object

const SPACES = ['', '', '', ' ', '\n', '\r\n\t']
const NUMBERS = [
  '99.0',
  '0',
  '-0',
  '-0.0',
  '1e21',
  '1E+2',
  '0.10',
  '9007199254740993',
  '1180591620717411303424',
]

const spaced = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...SPACES), text, fc.constantFrom(...SPACES)).map((parts) => parts.join(''))

const stringText = fc.oneof(
  anyText(12).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"\\u0041\\/"',
    '"_meta"',
    '"\\u005fmeta"',
    '"]}\\\\"',
    '"\\"[{"',
    '"\\ud83d\\ude80"',
    '"é\u{1f680}"',
  ),
)

const jsonTexts = fc.letrec<{ value: string; array: string; object: string; member: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', ...NUMBERS),
    stringText,
    fc.integer().map(String),
    tie('array'),
    tie('object'),
  ),
  array: fc.array(spaced(tie('value')), { maxLength: 4 }).map((parts) => `[${parts.join(',')}]`),
  member: fc.tuple(spaced(stringText), spaced(tie('value'))).map(([name, value]) => `${name}:${value}`),
  object: fc.array(tie('member'), { maxLength: 4 }).map((members) => `{${members.join(',')}}`),
}))

/** JSON text of a value with bigints, and with the infinities that `1e400` parses to. */
export function exactJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return String(value).replace('Infinity', '1e400')
  if (Array.isArray(value)) return `[${value.map(exactJson)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${exactJson(member)}`)}}`
}
