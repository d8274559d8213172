import {
  CLOSE_BRACE,
  COMMA,
  isSpace,
  OPEN_BRACE,
  QUOTE,
  type Slice,
  skipSpace,
  stringEnd,
  walkValue,
} from './json-walk.ts'

/** `start` is the opening quote of its name. */
export type Member = Slice & { name: string; value: Slice }
/**
 * Members in order, repeated names included, of valid JSON. `endOf` may save a second scan of a value.
 * @throws SyntaxError for a name that is not a JSON string
 */
export function objectMembers(
  bytes: Uint8Array,
  at = 0,
  endOf: (name: string, start: number) => number | null = () => null,
): Member[] {
  const members: Member[] = []
  let position = skipSpace(bytes, skipSpace(bytes, at) + 1)
  while (bytes[position] === QUOTE) {
    const nameEnd = stringEnd(bytes, position)
    const start = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1)
    const name = stringAt(bytes, position, nameEnd)
    const end = endOf(name, start) ?? walkValue(bytes, start).end
    members.push({ name, start: position, end, value: { start, end } })
    position = skipSpace(bytes, end)
    if (bytes[position] === COMMA) position = skipSpace(bytes, position + 1)
  }
  return members
}

/** Returns the same bytes where no member has that name. */
export function withoutMember(bytes: Uint8Array, name: string): Uint8Array {
  const members = objectMembers(bytes)
  if (!members.some((member) => member.name === name)) return bytes
  const kept = members.filter((member) => member.name !== name)
  const parts = kept.flatMap((member, n): Uint8Array[] => {
    const part = bytes.subarray(member.start, member.end)
    return n === 0 ? [part] : [COMMA_BYTES, part]
  })
  return Buffer.concat([OPEN_BYTES, ...parts, CLOSE_BYTES])
}

/** `value` is JSON text. */
export function withMember(bytes: Uint8Array, name: string, value: string): Buffer {
  const close = bytes.lastIndexOf(CLOSE_BRACE)
  const comma = isEmptyBefore(bytes, close) ? '' : ','
  return Buffer.concat([bytes.subarray(0, close), Buffer.from(`${comma}${JSON.stringify(name)}:${value}}`)])
}

const COMMA_BYTES = Buffer.from(',')
const OPEN_BYTES = Buffer.from('{')
const CLOSE_BYTES = Buffer.from('}')

function isEmptyBefore(bytes: Uint8Array, close: number): boolean {
  let position = close - 1
  while (isSpace(bytes[position])) position--
  return bytes[position] === OPEN_BRACE
}

const stringAt = (bytes: Uint8Array, start: number, end: number): string =>
  JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8'))
