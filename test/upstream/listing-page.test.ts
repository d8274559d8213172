import test from 'ava'
import fc from 'fast-check'
import { isJsonObject, parseJson } from '../../src/domain/json.ts'
import { withoutMember } from '../../src/domain/json-members.ts'
import { nestingDepth } from '../../src/domain/json-walk.ts'
import { SourceError } from '../../src/domain/source-error.ts'
import { parseTimestamp } from '../../src/domain/timestamp.ts'
import { parseListingPage } from '../../src/upstream/listing-page.ts'
import { MAX_DEPTH, MAX_ITEM_BYTES } from '../../src/upstream/read-elements.ts'
import { readDocument } from '../../src/upstream/upstream-item.ts'
import { envelopeText, listingText } from '../helpers/fake-registry.ts'
import { jsonObjectText, jsonText } from '../helpers/json-text.ts'

/** Values of the members that are looked at, as strangers write them. */
const VALUES = {
  listing_id: ['"a"', '"\\u0061"', '"é"', '""', '"a\\u0007"', '7', 'null', '{}'],
  created_at: ['"2026-11-20T15:33:44.792803"', '"2026-11-20 15:33"', '"2026-02-30T00:00:00"', '"soon"', '1'],
  storefront_url: ['"http://a.example/"', 'null', '"\\/"', '3'],
  status: ['"open"', '"closed"', '"op\\u0065n"', 'true', 'null'],
  publisher_id: ['1', '12345678901234567890', '1e2', '-0', '"1"', 'null', '[1]'],
  _meta: ['{}', 'null', '{"registry":"x"}'],
}
const NAMES: Record<string, string> = {
  listing_id: 'listing\\u005fid',
  status: '\\u0073tatus',
  _meta: '\\u005fmeta',
}

const member = fc
  .constantFrom(...(Object.keys(VALUES) as (keyof typeof VALUES)[]))
  .chain((name) => fc.tuple(fc.constantFrom(name, NAMES[name] ?? name), fc.constantFrom(...VALUES[name])))
  .map(([name, value]) => `"${name}" : ${value}`)

const listing = fc
  .tuple(
    fc.constant(['"listing_id":"base"', '"created_at":"2026-11-20T15:33:44"']),
    fc.array(member, { maxLength: 6 }),
    jsonText(),
  )
  .map(([known, members, more]) => `{${[...known, ...members, `"more":${more}`].join(' ,')}}`)

const element = fc.oneof({ weight: 6, arbitrary: listing }, jsonObjectText(), jsonText())

test('whatever way a listing is read, it says what its document says', (t) => {
  fc.assert(
    fc.property(fc.array(element, { minLength: 1, maxLength: 5 }), (texts) => {
      const read = texts.map((text) => {
        const bytes = Buffer.from(text.trim())
        return readDocument(bytes, nestingDepth(bytes) > MAX_DEPTH ? undefined : parseJson(text), 'registry')
      })
      const body = Buffer.from(envelopeText(texts, texts.length))
      if (read.every(({ isNobodys }) => isNobodys)) {
        const error = t.throws(() => parseListingPage(body), { instanceOf: SourceError })
        return void t.is(error.reason, 'bad_envelope')
      }
      const { items, received } = parseListingPage(body)
      t.is(received, texts.length)
      t.deepEqual(
        items,
        read.flatMap(({ listing }) => listing ?? []),
      )
    }),
    { numRuns: 2000 },
  )
})

test('the members that are looked at are those of the document', (t) => {
  fc.assert(
    fc.property(listing, (text) => {
      const document = parseJson(text)
      const [one] = parseListingPage(Buffer.from(envelopeText([listingText(), text], 2))).items.slice(1)
      if (one === undefined || !isJsonObject(document)) return
      t.deepEqual([one.item.listingId], [document.listing_id])
      t.deepEqual([one.item.createdAt], [parseTimestamp(String(document.created_at))])
      t.is(
        one.item.storefrontUrl,
        typeof document.storefront_url === 'string' ? document.storefront_url : null,
      )
      t.is(one.status, typeof document.status === 'string' ? document.status : null)
      t.deepEqual(one.publisherId, document.publisher_id)
      t.deepEqual(Buffer.from(one.item.bytes), Buffer.from(withoutMember(Buffer.from(text), '_meta')))
    }),
    { numRuns: 1000 },
  )
})

test('one broken byte anywhere among the items means that the answer is not JSON', (t) => {
  const text = envelopeText([listingText(), listingText({ listing_id: 'b' })], 2)
  const end = text.indexOf('],"count"')
  for (let at = text.indexOf('['); at < end; at++) {
    const broken = `${text.slice(0, at)}\u0001${text.slice(at + 1)}`
    const error = t.throws(() => parseListingPage(Buffer.from(broken)), { instanceOf: SourceError }, broken)
    t.true(['not_json', 'bad_envelope'].includes(error.reason), broken)
  }
})

test('a listing that is too long or nests too deep is left out, whatever is in it', (t) => {
  const deep = `{"listing_id":"deep","created_at":"2026-11-20T15:33:44","x":${'['.repeat(MAX_DEPTH)}${']'.repeat(MAX_DEPTH)}}`
  const long = listingText({ listing_id: 'long', offer_resource: 'x'.repeat(MAX_ITEM_BYTES) })
  const odd = long.replace('xx', '\\x')
  const { items, received } = parseListingPage(Buffer.from(envelopeText([deep, long, odd, listingText()], 4)))
  t.is(received, 4)
  t.deepEqual(
    items.map(({ item }) => item.listingId),
    ['listing-1'],
  )
})
