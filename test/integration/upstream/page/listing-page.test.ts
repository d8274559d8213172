import test from 'ava'
import fc from 'fast-check'
import type { SourceReason } from '../../../../src/domain/source/reasons.ts'
import { SourceError } from '../../../../src/domain/source/source-error.ts'
import type { UpstreamKind } from '../../../../src/domain/source/upstream.ts'
import { parseTimestamp } from '../../../../src/domain/timestamp.ts'
import { withoutMember } from '../../../../src/json/members.ts'
import type { PageItem } from '../../../../src/upstream/page/listing-page.ts'
import { conditionsOf, ListingPage } from '../../../../src/upstream/page/listing-page.ts'
import type { UpstreamQuery } from '../../../../src/upstream/push-down.ts'
import { envelopeText, listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { jsonObjectText, jsonText } from '../../../helpers/json-text.ts'
import { runs } from '../../../helpers/runs.ts'
import { filterOf } from '../../../helpers/specs.ts'
import { filtered, upstreamQuery } from '../../../helpers/upstream.ts'

/** Values of the members that are read, in the spellings of strangers. */
const VALUES = {
  listing_id: [
    ...['"a"', '"\\u0061"', '"é"', '""', '"a\\u0007"', '"\\ud800"', '7', 'null', '{}'],
    ...[200, 201].flatMap((length) => [`"${'x'.repeat(length)}"`, `"${'🚀'.repeat(length)}"`]),
  ],
  created_at: ['"2026-11-20T15:33:44.792803"', '"2026-11-20 15:33"', '"2026-02-30T00:00:00"', '"soon"', '1'],
  storefront_url: ['"http://a.example/"', 'null', '"\\/"', '3'],
  status: ['"open"', '"closed"', '"op\\u0065n"', 'true', 'null'],
  publisher_id: ['1', '12345678901234567890', '1e2', '-0', '"1"', 'null', '[1]'],
  _meta: ['{}', 'null', '{"registry":"x"}'],
}
const ESCAPED: Record<string, string> = {
  listing_id: 'listing\\u005fid',
  status: '\\u0073tatus',
  _meta: '\\u005fmeta',
}

const member = fc
  .constantFrom(...(Object.keys(VALUES) as (keyof typeof VALUES)[]))
  .chain((name) => fc.tuple(fc.constantFrom(name, ESCAPED[name] ?? name), fc.constantFrom(...VALUES[name])))
  .map(([name, value]) => `"${name}" : ${value}`)

const listing = fc
  .tuple(fc.array(member, { maxLength: 6 }), jsonText())
  .map(([members, more]) =>
    ['{"listing_id":"base"', '"created_at":"2026-11-20T15:33:44"', ...members, `"more":${more}}`].join(' ,'),
  )

const element = fc.oneof({ weight: 6, arbitrary: listing }, jsonObjectText(), jsonText())

/** Together more than is parsed at once. */
const LONG = listingTexts('long', 10, { demands: ['x'.repeat(60_000)] })

for (const [size, more, numRuns] of [
  ['short', [], 1500],
  ['long', LONG, 50],
] as const) {
  test(`of a ${size} page, every item is what its document states, to the byte`, (t) => {
    const texts = fc.array(element, { minLength: 1, maxLength: 5 }).map((some) => [...some, ...more])
    fc.assert(
      fc.property(texts, fc.constantFrom('registry', 'gateway'), fc.boolean(), (all, kind, isReversed) => {
        const expected = all.flatMap(statedBy)
        const body = envelopeText(all, all.length)
        if (!all.some(isListing)) return void t.is(refusalOf(body), 'bad_envelope')
        const page = pageOf(body, kind)
        t.is(page.received, all.length)
        // Bytes are found from either end.
        const items = (isReversed ? page.items.toReversed() : page.items).filter(isReadable)
        const read = items.map(describe)
        t.deepEqual(isReversed ? read.reverse() : read, expected)
      }),
      { numRuns: runs(numRuns) },
    )
  })
}

test('an envelope that has its items twice is refused, however the name is spelled', (t) => {
  const [one = '', other = ''] = listingTexts('a', 2)
  for (const name of ['items', 'it\\u0065ms']) {
    const body = `{"items":[${one}],"${name}":[${other}],"total_after_filter":1}`
    t.is(refusalOf(body), 'bad_envelope')
    t.is(pageOf(`{"${name}":[${one}],"x":{"items":[7]},"total_after_filter":1}`).received, 1)
  }
})

test('a page with broken items shows no bytes besides its listings', (t) => {
  const items = listingTexts('a', 2)
  const text = envelopeText(items, 2)
  for (let at = text.indexOf('['); at < text.indexOf('],"count"'); at++) {
    const page = attempt(() => pageOf(`${text.slice(0, at)}\u0001${text.slice(at + 1)}`))
    if (page instanceof Error) t.true(page instanceof SourceError)
    const shown = page instanceof Error ? [] : page.items.map((item) => attempt(() => item.bytes))
    for (const bytes of shown)
      t.true(bytes instanceof SyntaxError || items.includes(Buffer.from(bytes as Uint8Array).toString()))
  }
})

const DIGITS = '7'.repeat(8e6)
const EMPTY = '"items":[],"total_after_filter":0'
/** Whether the budget is exceeded shows before the end of the body is read, where it is not JSON. */
const BROKEN = '}]oops'

const HOSTILE: readonly (readonly [what: string, reason: SourceReason, body: string])[] = [
  ['201 items', 'bad_envelope', envelopeText(listingTexts('a', 201), 201)],
  ['4 million elements', 'bad_envelope', `{"items":[${listingText()}${',0'.repeat(4e6)}${BROKEN}`],
  ['300 members in a long envelope', 'bad_envelope', `{${members(300, 2000)},${EMPTY}}`],
  ['a million members', 'bad_envelope', `{${members(600_000, 1)},${EMPTY}${BROKEN}`],
  ['8 MB of digits', 'bad_envelope', `{"x":${DIGITS},${EMPTY}}`],
  ['8 MB of nesting around the items', 'bad_envelope', `{"x":${nest(4e6)},${EMPTY}}`],
  ['8 MB of nesting for an item', 'bad_envelope', `{"items":[${nest(4e6)}],"total_after_filter":"x"}`],
  ['a million sources', 'bad_envelope', `{${EMPTY},"complete":false,"sources":[${'{},'.repeat(1e6)}{}]}`],
  ['an array', 'bad_envelope', '[]'],
  ['null', 'bad_envelope', 'null'],
  ['another envelope', 'bad_envelope', '{"listings":[]}'],
  ['items that are no array', 'bad_envelope', '{"items":{},"total_after_filter":0}'],
  ['no total', 'bad_envelope', '{"items":[]}'],
  ['a total that is text', 'bad_envelope', '{"items":[],"total_after_filter":"7"}'],
  ['a negative total', 'bad_envelope', '{"items":[],"total_after_filter":-1}'],
  ['a total beyond 2^53', 'bad_envelope', '{"items":[],"total_after_filter":1e300}'],
  ['an empty body', 'not_json', ''],
  ['HTML', 'not_json', '<!doctype html>'],
  ['plain text', 'not_json', 'not found'],
  ['half a document', 'not_json', envelopeText(listingTexts('a', 1), 1).slice(0, -60)],
  ['a document cut within an item', 'not_json', envelopeText(listingTexts('a', 1), 1).slice(0, 90)],
  ['more behind the document', 'not_json', `${envelopeText([], 0)}]`],
  ['items without commas', 'not_json', envelopeText(['{} {}'], 2)],
  ['no item that is JSON', 'bad_envelope', envelopeText(['{"a":NaN}'], 1)],
]

for (const [what, reason, body] of HOSTILE)
  test(`${what}: ${reason}`, (t) => {
    t.is(refusalOf(body), reason)
  })

test('bytes that are not UTF-8: not_json', (t) => {
  t.is(refusalOf(Buffer.from(envelopeText(['"\xff"'], 1), 'latin1')), 'not_json')
})

test('a listing that is too long or nested too deep is unreadable, and no other is', (t) => {
  const deep = listingText({ listing_id: 'deep' }).replace('[]', nest(40))
  const long = listingText({ listing_id: 'long', offer_resource: 'x'.repeat(70_000) })
  for (const all of [
    [deep, long, listingText()],
    [deep, long, listingText(), ...LONG],
  ]) {
    const { items, received } = pageOf(envelopeText(all, all.length))
    t.is(received, all.length)
    t.is(items.filter(isReadable).length, all.length - 2)
  }
  t.is(pageOf(envelopeText([DIGITS, listingText()], 2)).items.length, 1)
})

test('`_meta` is read of a gateway only, and only in known form', (t) => {
  const address = `0x${'AB'.repeat(20)}`
  const meta = {
    registry: 'curated',
    publisher: address,
    also_in: ['local', 'No Name', 7],
    disputed: ['a', '..'],
    stale: true,
  }
  const position = '2026-11-21T00:00:00'
  const odd = [{ ...meta, registry: '../x' }, { ...meta, registry: 'a\u001b' }, 7]
  const body = envelopeText(
    [{ ...meta, position }, ...odd].map((_meta) => listingText({ _meta })),
    4,
  )
  const [first, ...rest] = pageOf(body, 'gateway').items
  t.like(first?.origin, {
    registry: 'curated',
    alsoIn: ['local'],
    disputed: ['a'],
    stale: true,
    differs: false,
  })
  t.is(first?.publisher, address.toLowerCase())
  t.is(first?.position ?? null, parseTimestamp(position))
  t.true(rest.every(({ publisher, origin }) => publisher === null && origin === undefined))
  const created = parseTimestamp(JSON.parse(listingText()).created_at)
  for (const { publisher, origin, position } of pageOf(body, 'registry').items)
    t.true(publisher === null && origin === undefined && position === created)
})

test('values of one listing never count for the next', (t) => {
  const region = fc.constantFrom('north', 'so"uth')
  // Beyond 2^53, where doubles are no integers any more.
  const cpus = fc.constantFrom('9007199254740992', '9007199254740993', '9007199254740994')
  const status = fc.constantFrom('open', 'closed')
  const item = fc.record({ region, cpus, status }).map(({ region, cpus, status }) => {
    return listingText({ status, offer_resource: { region, vcpu_count: 0 } }).replace(':0}', `:${cpus}}`)
  })
  const filter = filterOf('vcpu_count', { op: 'in', value_type: 'integer' })
  const queries = [upstreamQuery(), pushedDown([filter], ['vcpu_count', '9007199254740993'])]
  fc.assert(
    fc.property(
      fc.array(item, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(...queries),
      (texts, query) => {
        const options = { kind: 'registry', conditions: conditionsOf(query), offset: 0 } as const
        const { items } = new ListingPage(Buffer.from(envelopeText(texts, texts.length)), options)
        const expected = texts.flatMap(statedBy).map((stated, n) => {
          const isMatch = query === queries[0] || texts[n]!.includes(':9007199254740993}')
          return { ...stated, isMatch: isMatch && JSON.parse(texts[n]!).status === 'open' }
        })
        t.deepEqual(items.map(describe), expected)
      },
    ),
  )
})

function pushedDown(...[vocabulary, ...pairs]: Parameters<typeof filtered>): UpstreamQuery {
  const { filters: pushed, criteria } = filtered(vocabulary, ...pairs)
  return upstreamQuery({ pushed, criteria })
}

function pageOf(body: string | Buffer, kind: UpstreamKind = 'registry'): ListingPage {
  return new ListingPage(Buffer.from(body), { kind, conditions: conditionsOf(upstreamQuery()), offset: 0 })
}

function refusalOf(body: string | Buffer): SourceReason | 'none' {
  const page = attempt(() => pageOf(body))
  if (page instanceof ListingPage) return 'none'
  if (page instanceof SourceError) return page.reason
  throw page
}

function attempt<T>(action: () => T): T | Error {
  try {
    return action()
  } catch (error) {
    return error as Error
  }
}

function isReadable(item: PageItem): boolean {
  return !(attempt(() => item.bytes) instanceof Error)
}

function nest(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}

function members(count: number, length: number): string {
  return Array.from({ length: count }, (_, n) => `"m${n}":"${'x'.repeat(length)}"`).join(',')
}

/** Whether it is a listing, if only with an id that is never shown. */
function isListing(text: string): boolean {
  const document = JSON.parse(text)
  const isObject = typeof document === 'object' && document !== null && !Array.isArray(document)
  const { listing_id: id, created_at: created } = isObject ? document : {}
  return typeof id === 'string' && typeof created === 'string' && parseTimestamp(created) !== null
}

/** What is read of a listing's text; empty for anything else. */
function statedBy(text: string): object[] {
  if (!isListing(text)) return []
  const { listing_id: id, created_at: created, ...more } = JSON.parse(text)
  if (!/^[^\p{Cc}\p{Cs}]{1,200}$/u.test(id)) return []
  return [
    {
      listingId: id,
      position: parseTimestamp(created),
      storefrontUrl: typeof more.storefront_url === 'string' ? more.storefront_url : null,
      isMatch: more.status === 'open',
      publisherId: Number.isSafeInteger(more.publisher_id) ? more.publisher_id + 0 : null,
      text: withoutMember(Buffer.from(text.trim()), '_meta').toString(),
    },
  ]
}

function describe({ listingId, position, storefrontUrl, isMatch, publisherId, bytes }: PageItem): object {
  return { listingId, position, storefrontUrl, isMatch, publisherId, text: Buffer.from(bytes).toString() }
}
