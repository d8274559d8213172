import fc from 'fast-check'
import type { OpenApiDocument } from '../../../src/http/docs/openapi.ts'
import { anyText } from '../../helpers/any-text.ts'
import { jsonObjectText, jsonText } from '../../helpers/json-text.ts'
import { agentRequests, type FuzzRequest } from './messages.ts'

/** What requests need to pass the first checks. */
export type Seeds = {
  document: OpenApiDocument
  listingIds: readonly string[]
  /** JSON texts of signed objects. */
  signedBodies: readonly string[]
  /** Query strings of signed deletes. */
  signedQueries: readonly string[]
  adminKey: string
}

/** Requests to every route of the document and to unknown ones: valid, nearly valid, and not HTTP. */
export const fuzzRequests = (seeds: Seeds): fc.Arbitrary<FuzzRequest> =>
  fc.oneof(
    { weight: 12, arbitrary: routed(seeds) },
    { weight: 2, arbitrary: unrouted(seeds) },
    { weight: 2, arbitrary: agentRequests() },
    { weight: 1, arbitrary: rawBytes },
  )

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PURGE', 'QUERY']

const text = anyText(20)
const encoded = text.map(encodeURIComponent)
const junkEscapes = fc.constantFrom('%', '%zz', '%ff', '%C3%28', '%00', '..', '.', '%2e%2e%2f', '+', '%2F')

function routed(seeds: Seeds): fc.Arbitrary<FuzzRequest> {
  const { paths } = seeds.document
  const routes = Object.entries(paths).flatMap(([template, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]) => {
      const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
      const route = { template, method: method.toUpperCase(), names }
      return template.startsWith('/listings') ? (Array(4).fill(route) as (typeof route)[]) : [route]
    }),
  )
  return fc.constantFrom(...routes).chain(({ template, method, names }) =>
    fc.record({
      kind: fc.constant('http' as const),
      method: fc.oneof(
        { weight: 6, arbitrary: fc.constant(method) },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      path: fc
        .tuple(pathOf(template, seeds), queryOf(names, seeds))
        .map(([path, query]) => (query === '' ? path : `${path}?${query}`)),
      headers: headersOf(seeds),
      body: bodyOf(seeds),
      template: fc.constant(template),
    }),
  )
}

const unrouted = (seeds: Seeds): fc.Arbitrary<FuzzRequest> =>
  fc.record({
    kind: fc.constant('http' as const),
    method: fc.constantFrom(...METHODS),
    path: fc
      .array(fc.oneof(encoded, junkEscapes, fc.constantFrom('listings', 'admin', 'api', '')), {
        maxLength: 4,
      })
      .map((steps) => `/${steps.join('/')}`),
    headers: headersOf(seeds),
    body: bodyOf(seeds),
    template: fc.constant(null),
  })

function pathOf(template: string, { listingIds }: Seeds): fc.Arbitrary<string> {
  const value = fc.oneof(
    fc.constantFrom(...listingIds.map(encodeURIComponent)),
    fc.constantFrom('1', '2.0', '-1', '9'.repeat(400), 'x'.repeat(5000)),
    encoded.filter((one) => one !== ''),
    junkEscapes,
  )
  const slash = fc.constantFrom('', '', '', '/')
  return fc.tuple(value, slash).map(([one, end]) => template.replaceAll(/\{\w+\}/g, () => one) + end)
}

const VALUES = [
  '',
  'open',
  'in:[a,b]',
  'in:[',
  'not_in:[x]',
  'range:[1,2]',
  'range:(,',
  'range:[nan,inf)',
  'exists:true',
  'exists:maybe',
  '1',
  '-1',
  '1.0',
  '1e309',
  '1_0',
  '٣',
  '9'.repeat(500),
  'true',
  'price',
  'USDC',
  'offer',
  '2.10',
  'a,b',
]

function queryOf(names: readonly string[], { signedQueries }: Seeds): fc.Arbitrary<string> {
  const own = names.length === 0 ? fc.constant('x') : fc.constantFrom(...names)
  const name = fc.oneof(
    own,
    own.map((one) => `strict.${one}`),
    encoded,
    junkEscapes,
  )
  const value = fc.oneof(fc.constantFrom(...VALUES).map(encodeURIComponent), encoded, junkEscapes)
  const pair = fc.tuple(name, value).map((both) => both.join('='))
  const pairs = fc.array(fc.oneof({ weight: 5, arbitrary: pair }, { weight: 1, arbitrary: name }), {
    maxLength: 4,
  })
  return fc.oneof(
    { weight: 4, arbitrary: pairs.map((all) => all.join('&')) },
    { weight: 1, arbitrary: fc.constantFrom(...signedQueries) },
  )
}

function headersOf({ adminKey }: Seeds): fc.Arbitrary<Record<string, string>> {
  const visible = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 20,
  })
  const latin = fc.string({
    unit: fc.integer({ min: 0xa0, max: 0xff }).map((code) => String.fromCharCode(code)),
    maxLength: 9,
  })
  const anything = fc.oneof(visible, latin)
  const sometimes = (weight: number, ...known: string[]): fc.Arbitrary<string | undefined> =>
    fc.oneof(
      { weight: 10, arbitrary: fc.constant(undefined) },
      { weight, arbitrary: fc.constantFrom(...known) },
      { weight: 1, arbitrary: anything },
    )
  const header = (...known: string[]) => sometimes(1, ...known)
  return fc
    .record(
      {
        Authorization: sometimes(10, `Bearer ${adminKey}`, 'Bearer x', 'Bearer', 'Basic eA=='),
        'Content-Type': header('application/json', 'text/plain', 'application/ld+json; charset=x', ';'),
        'Content-Encoding': header('gzip', 'identity'),
        'If-Match': header('*', '"x"', 'W//""x""'),
        'If-None-Match': header('*', '"x", W/"y"'),
        Accept: header('application/x-ndjson', 'text/html', '*/*'),
        'Cache-Control': header('no-cache', 'only-if-cached', 'max-age=x'),
        Origin: header('https://page.example', 'null'),
        'Access-Control-Request-Method': header('GET'),
        'Access-Control-Request-Headers': header('authorization'),
        'X-Forwarded-For': header('1.2.3.4, ::1', 'unknown'),
        'X-Request-Id': header('a'.repeat(64), 'a'.repeat(65)),
        'CDN-Loop': header('entrepot', 'a, b, c, d;x="'),
        Range: header('bytes=0-1'),
      },
      { requiredKeys: [] },
    )
    .map((all) =>
      Object.fromEntries(Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined)),
    )
}

/** A signed object with members put over what was signed: the last of a repeated name counts. */
function spoiled({ signedBodies, listingIds }: Seeds): fc.Arbitrary<string> {
  const id = fc.oneof(fc.constantFrom(...listingIds.map((one) => JSON.stringify(one))), jsonText())
  const status = fc.oneof(fc.constantFrom('"open"', '"closed"', '"expired"', 'null', '"x"'), jsonText())
  const member = fc.oneof(
    fc.tuple(fc.constant('listing_id'), id),
    fc.tuple(fc.constant('status'), status),
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...FIELDS), jsonText()) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom('scheme', 'timestamp', 'storefront_url'), jsonText()) },
  )
  const members = fc.array(member, { maxLength: 4 })
  return fc.tuple(fc.constantFrom(...signedBodies), members).map(([body, over]) => {
    const more = over.map(([name, value]) => `,"${name}":${value}`)
    return `${body.slice(0, -1)}${more.join('')}}`
  })
}

const FIELDS = ['offer_resource', 'accepted_escrows', 'demands', 'max_duration_seconds', 'oracle_address']

const bodyOf = (seeds: Seeds): fc.Arbitrary<Buffer | null> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 6, arbitrary: spoiled(seeds).map((json) => Buffer.from(json)) },
    { weight: 3, arbitrary: fc.oneof(jsonText(), jsonObjectText()).map((json) => Buffer.from(json)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constantFrom(...LARGE_BODIES) },
  )

const LARGE_BODIES = [
  `{"a":"${'x'.repeat(300 * 1024)}"}`,
  `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  `{"accepted_escrows":[${'{},'.repeat(999)}{}],"listing_id":"a"}`,
  `[${'0,'.repeat(1000)}0]`,
  JSON.stringify({ listing_id: 'a', demands: '['.repeat(50_000) }),
].map((body) => Buffer.from(body))

/** Lines of HTTP in any order, and other bytes. */
const rawBytes: fc.Arbitrary<FuzzRequest> = fc
  .oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc
      .array(
        fc.constantFrom(
          'GET /listings HTTP/1.1',
          'GET http://[ HTTP/1.1',
          'GET //x HTTP/1.1',
          'OPTIONS * HTTP/1.1',
          'CONNECT a:1 HTTP/1.1',
          'POST /listings HTTP/1.1',
          'PUT /listings/a HTTP/1.0',
          'PRI * HTTP/2.0',
          'Host: a',
          'Host: b',
          'Content-Length: 2',
          'Content-Length: -1',
          'Content-Length: 99999999999999999999',
          'Transfer-Encoding: chunked',
          'Transfer-Encoding: gzip',
          'Expect: 100-continue',
          'Expect: nothing',
          'Upgrade: websocket',
          'Connection: upgrade, close',
          ' folded',
          'no colon',
          '\u0000: \u0000',
          '',
          '{}',
          '2\r\n{}\r\n0',
          'zz',
        ),
        { minLength: 1, maxLength: 8 },
      )
      .map((lines) => Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')),
  )
  .map((bytes) => ({ kind: 'raw', bytes }))
