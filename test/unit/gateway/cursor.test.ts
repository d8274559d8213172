import test from 'ava'
import fc from 'fast-check'
import { EntrepotError } from '../../../src/errors.ts'
import { type CursorContent, Cursors } from '../../../src/gateway/pages/cursor.ts'
import { anyText } from '../../helpers/any-text.ts'

const POSITION = {
  after: { position: 1_763_652_824_792_803, key: 'a"\u0000b', source: 's' },
  cap: 1_763_652_824_792_900,
  total: 1234,
} satisfies CursorContent

const cursorsOf = (secret = 'admin key') => new Cursors(secret, () => 1000)

function refusalOf(cursor: string, cursors = cursorsOf()): string {
  try {
    cursors.open(cursor, 'question')
  } catch (error) {
    if (error instanceof EntrepotError && error.status === 400) return error.message
    throw error
  }
  return 'opened'
}

test('a cursor is opened by every replica with the secret, and by no other', (t) => {
  const cursor = cursorsOf().seal(POSITION, 'question')
  t.deepEqual(cursorsOf().open(cursor, 'question'), POSITION)
  t.regex(cursor, /^[\w-]+$/)
  t.notRegex(Buffer.from(cursor, 'base64url').toString('latin1'), /1763652824792803/)
  t.regex(refusalOf(cursor, cursorsOf('another')), /not valid/)
})

test('a cursor never has the nonce of another', (t) => {
  const cursors = cursorsOf()
  const nonces = Array.from({ length: 1000 }, () => cursors.seal(POSITION, 'question').slice(0, 16))
  t.is(new Set(nonces).size, 1000)
})

test('a cursor that was changed or made up is refused', (t) => {
  const cursor = Buffer.from(cursorsOf().seal(POSITION, 'question'), 'base64url')
  fc.assert(
    fc.property(fc.nat(cursor.length - 1), fc.integer({ min: 1, max: 255 }), (place, bits) => {
      const changed = Buffer.from(cursor)
      changed[place] = changed[place]! ^ bits
      t.regex(refusalOf(changed.toString('base64url')), /not valid/)
    }),
  )
  fc.assert(
    fc.property(anyText(200), (text) => {
      t.regex(refusalOf(text), /not valid/)
    }),
  )
  for (const more of ['A', 'x', '=', '.', ' ', '\u0000'])
    t.regex(refusalOf(cursor.toString('base64url') + more), /not valid/)
  t.regex(refusalOf('A'.repeat(100_000)), /not valid/)
})
