import test from 'ava'
import fc from 'fast-check'
import { EntrepotError } from '../../src/errors.ts'
import { CURSOR_SECONDS, Cursors, type Position } from '../../src/gateway/cursor.ts'

const POSITION: Position = {
  behind: { createdAt: 1_763_652_824_792_803, rank: 1, listingId: 'a"\u0000b' },
  spans: { local: { from: 0, to: 0 }, secret: { from: 199, to: 398 } },
  isCrowd: false,
  nth: 50,
  passed: ['abcdefgh', '12345678'],
  ahead: ['ABCDEFGH'],
  total: 1234,
  walk: 'abcdefghijkl',
}

const at = (seconds: number, secret = 'admin key'): Cursors => new Cursors(secret, () => seconds)

const refused = (open: () => unknown): string => {
  try {
    open()
  } catch (error) {
    if (error instanceof EntrepotError && error.status === 400) return error.message
    throw error
  }
  return 'taken'
}

test('a cursor says to whoever has the same secret what it was made of, and nothing to others', (t) => {
  const cursor = at(1000).seal(POSITION, 'question')
  t.deepEqual(at(2000).open(cursor, 'question'), POSITION)
  t.regex(cursor, /^[\w-]+$/)
  t.notRegex(Buffer.from(cursor, 'base64url').toString('latin1'), /secret|local/)
  t.regex(
    refused(() => at(1000, 'another').open(cursor, 'question')),
    /not one of ours/,
  )
})

test('it is bound to its question, and expires', (t) => {
  const cursor = at(1000).seal(POSITION, 'question')
  t.regex(
    refused(() => at(1000).open(cursor, 'another')),
    /this very question/,
  )
  t.deepEqual(at(1000 + CURSOR_SECONDS).open(cursor, 'question'), POSITION)
  t.regex(
    refused(() => at(1001 + CURSOR_SECONDS).open(cursor, 'question')),
    /expired/,
  )
})

test('changed anywhere, or made up, it is refused and never misread', (t) => {
  const cursor = Buffer.from(at(1000).seal(POSITION, 'question'), 'base64url')
  fc.assert(
    fc.property(fc.nat(cursor.length - 1), fc.integer({ min: 1, max: 255 }), (place, bits) => {
      const changed = Buffer.from(cursor)
      changed[place] = changed[place]! ^ bits
      t.regex(
        refused(() => at(1000).open(changed.toString('base64url'), 'question')),
        /not one of ours/,
      )
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      t.regex(
        refused(() => at(1000).open(text, 'question')),
        /not one of ours/,
      )
    }),
  )
  for (const more of ['A', 'x', '=', '.', ' ', '\u0000'])
    t.regex(
      refused(() => at(1000).open(cursor.toString('base64url') + more, 'question')),
      /not one of ours/,
    )
  t.regex(
    refused(() => at(1000).open('A'.repeat(100_000), 'question')),
    /not one of ours/,
  )
})
