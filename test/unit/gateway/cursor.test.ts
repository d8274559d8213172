import test from 'ava'
import fc from 'fast-check'
import { EntrepotError } from '../../../src/errors.ts'
import { type CursorContent, Cursors } from '../../../src/gateway/cursor.ts'
import type { ResumePoint } from '../../../src/gateway/merge.ts'
import { anyText } from '../../helpers/any-text.ts'

const POSITION = {
  after: { position: 1_763_652_824_792_803, rank: 1, listingId: 'a"\u0000b', nth: 1 },
  cap: 1_763_652_824_792_900,
  hints: { local: { offset: 0, resume: undefined }, secret: { offset: 398, resume: 'sealed by another' } },
  total: 1234,
  isTotalExact: false,
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
  t.notRegex(Buffer.from(cursor, 'base64url').toString('latin1'), /secret|local/)
  t.regex(refusalOf(cursor, cursorsOf('another')), /not valid/)
})

test('a cursor never has the nonce of another', (t) => {
  const cursors = cursorsOf()
  const nonces = Array.from({ length: 1000 }, () => cursors.seal(POSITION, 'question').slice(0, 16))
  t.is(new Set(nonces).size, 1000)
})

test('a cursor of a gateway that is too long to carry is left out', (t) => {
  const hints = { eu: { offset: 7, resume: 'x'.repeat(5000) } }
  const cursor = cursorsOf().seal({ ...POSITION, hints }, 'question')
  t.deepEqual(cursorsOf().open(cursor, 'question'), {
    ...POSITION,
    hints: { eu: { offset: 7, resume: undefined } },
  })
})

test('a cursor carries those of gateways while there is room, and is not too long', (t) => {
  const name = (n: number) => `gateway-${n}`.padEnd(64, 'x')
  const hints = Object.fromEntries(
    Array.from({ length: 9 }, (_, n) => [name(n), { offset: n, resume: `"${n}`.padEnd(4000, 'x') }]),
  )
  const after = { ...POSITION.after, listingId: '\u{1f680}'.repeat(200) }
  const cursor = cursorsOf().seal({ ...POSITION, after, hints }, 'question')
  const { hints: carried } = cursorsOf().open(cursor, 'question') as Pick<ResumePoint, 'hints'>
  t.deepEqual(Object.keys(carried), Object.keys(hints))
  t.deepEqual(
    Object.values(carried).map(({ resume }) => resume?.length ?? 0),
    [4000, 4000, 0, 0, 0, 0, 0, 0, 0],
  )
})

test('a cursor over 100 sources with long names is not too long', (t) => {
  const name = (n: number) => `${n}-`.padEnd(64, 'x')
  const hints = Object.fromEntries(
    Array.from({ length: 101 }, (_, n) => [name(n), { offset: 123_456, resume: undefined }]),
  )
  const cursor = cursorsOf().seal({ ...POSITION, hints }, 'question')
  t.deepEqual(cursorsOf().open(cursor, 'question'), { ...POSITION, hints })
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
