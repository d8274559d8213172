import { CLOSE_BRACE, COMMA, isSpace, JsonScanner, OPEN_BRACE, QUOTE, type Slice } from './scanner.ts'

/** `start` is the opening quote of its name. */
type Member = Slice & { name: string; value: Slice }

/** Members in order, repeated names included, of valid JSON. @throws SyntaxError for a name that is not a JSON string */
export function objectMembers(bytes: Uint8Array, at = 0): Member[] {
  const scanner = new JsonScanner(bytes)
  const members: Member[] = []
  let position = scanner.skipSpace(scanner.skipSpace(at) + 1)
  while (bytes[position] === QUOTE) {
    const nameEnd = scanner.stringEnd(position)
    const start = scanner.skipSpace(scanner.skipSpace(nameEnd) + 1)
    const end = scanner.valueEnd(start)
    members.push({ name: stringAt(bytes, position, nameEnd), start: position, end, value: { start, end } })
    position = scanner.skipSpace(end)
    if (bytes[position] === COMMA) position = scanner.skipSpace(position + 1)
  }
  return members
}

/** Returns the same bytes where no member has that name. */
export function withoutMember(bytes: Uint8Array, name: string): Uint8Array {
  const members = objectMembers(bytes)
  if (!members.some((member) => member.name === name)) return bytes
  const rest = members.filter((member) => member.name !== name)
  const parts = rest.flatMap((member, n): Uint8Array[] => {
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
