import test from 'ava'
import { OneSource } from '../../helpers/one-source.ts'

const put = (index: OneSource, n: number, version: number, padding = 0): void =>
  index.put({
    key: `listing-${n}`,
    seller: 1,
    status: 'open',
    position: n,
    bytes: textOf(n, version, padding),
  })

const textOf = (n: number, version: number, padding = 0): Buffer =>
  Buffer.from(JSON.stringify({ n, version, padding: 'x'.repeat(padding) }))

test('views: a view is unchanged after its listing is replaced or removed and its segment merged', (t) => {
  const index = new OneSource([], { tail: 8, segment: 64, step: 16 })
  for (let n = 0; n < 300; n++) put(index, n, 0)
  const views = Array.from({ length: 300 }, (_, n) => index.get(`listing-${n}`)!.bytes)
  for (let version = 1; version < 20; version++) {
    for (let n = 0; n < 300; n++) put(index, n, version)
  }
  for (let n = 0; n < 290; n++) index.remove(`listing-${n}`)
  for (let n = 400; n < 900; n++) put(index, n, 0)
  for (const [n, view] of views.entries()) t.deepEqual(Buffer.from(view), textOf(n, 0))
})

test('views: the caller may overwrite the bytes that it put', (t) => {
  const index = new OneSource([])
  const bytes = textOf(1, 1, 300_000)
  const before = bytes.toString()
  const small = textOf(2, 1)
  index.put({ key: 'large', seller: 1, status: 'open', position: 1, bytes })
  index.put({ key: 'small', seller: 1, status: 'open', position: 2, bytes: small })
  bytes.fill(0)
  small.fill(0)
  t.is(Buffer.from(index.get('large')!.bytes).toString(), before)
  t.deepEqual(Buffer.from(index.get('small')!.bytes), textOf(2, 1))
})
