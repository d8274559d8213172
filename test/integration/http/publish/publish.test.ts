import test from 'ava'
import { type Reply, startRegistry } from '../../../helpers/registry.ts'
import { ALICE, BOB, postJson, publish, publishBody, sign, unixNow } from '../../../helpers/seller.ts'

const sendBody = (url: string, body: unknown): Promise<Reply> =>
  postJson(`${url}/listings`, JSON.stringify(body))

test('publish: another wallet cannot take a listing, and the attempt changes nothing', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: 'one', storefront_url: 'https://alice.example/' })
  const stolen = await publish(url, BOB, {
    listing_id: 'one',
    storefront_url: 'https://bob.example/',
    status: 'closed',
  })
  t.is(stolen.status, 403)
  t.is(stolen.json().detail, 'Listing is owned by another publisher')
  t.is((await get(`/publishers?identifier=${BOB.address}`)).json().count, 0)
  const { listing } = (await get('/listings/one')).json() as { listing: Record<string, unknown> }
  t.is(listing.storefront_url, 'https://alice.example/')
  t.is(listing.status, 'open')
})

test('publish: accepts every form of signature that the deployed protocol accepts', async (t) => {
  const { url } = await startRegistry(t)
  const body = await publishBody(ALICE, { listing_id: 'one' })
  const hex = String(body.signature).slice(2)
  const withV = (v: string): string => hex.slice(0, -2) + v
  const isOdd = hex.endsWith('1c')
  const forms = [hex, `0x${hex}`, hex.toUpperCase(), withV(isOdd ? '01' : '00'), hex.replace(/../g, '$& ')]
  for (const [n, signature] of forms.entries()) {
    t.is((await sendBody(url, { ...body, signature, listing_id: `l${n}` })).status, 201, signature)
  }
})

const FIXED_TIME = 1767225600
const CHECK_SIGNATURE =
  'ff9cda671a577b0e5af2672b6a4018cf28b6f5d33d360a8ea9fe7e70fcf52cfe3cb2e8176bf8d4549bb7eabce7ad32732993b42f1d469b63a01af0fc6113b8f81b'

test('publish: an address in checksum case is signed as the body has it, or in lower case', async (t) => {
  const { url } = await startRegistry(t)
  const lower = ALICE.address.toLowerCase()
  const publishAs = async (identifier: string, signed: string, seconds: number) => {
    const timestamp = unixNow() - seconds
    const signature = await sign(ALICE, 'create_listing', signed, timestamp)
    return sendBody(url, { identifier, timestamp, signature, listing_id: 'one' })
  }
  t.not(ALICE.address, lower)
  t.is((await publishAs(ALICE.address, ALICE.address, 3)).status, 201)
  t.is((await publishAs(ALICE.address, lower, 2)).status, 201)
  t.is((await publishAs(lower, lower, 1)).status, 201)
  t.is((await publishAs(lower, ALICE.address, 0)).status, 401)
  t.is((await publishAs(BOB.address, ALICE.address, 0)).status, 401)
})

test('publish: the test vector of the protocol is accepted within 300 seconds', async (t) => {
  for (const [skew, status] of [
    [0, 201],
    [300, 201],
    [-300, 201],
    [301, 401],
    [-301, 401],
  ] as const) {
    const { url } = await startRegistry(t, { nowSeconds: () => FIXED_TIME + skew })
    const reply = await sendBody(url, {
      identifier: ALICE.address,
      listing_id: 'one',
      timestamp: FIXED_TIME,
      signature: CHECK_SIGNATURE,
    })
    t.is(reply.status, status, `skew ${skew}`)
    if (status === 401) t.is(reply.json().detail, 'Timestamp too old or too far in future (max 5 minutes)')
  }
})

type Change = (body: Record<string, unknown>) => Record<string, unknown> | Promise<Record<string, unknown>>

const REFUSED: [name: string, change: Change, status: number, detail: RegExp][] = [
  ['no identifier', (b) => ({ ...b, identifier: undefined }), 400, /^identifier is required$/],
  ['a numeric identifier', (b) => ({ ...b, identifier: 5 }), 400, /^identifier is required$/],
  [
    'no signature',
    (b) => ({ ...b, signature: undefined }),
    401,
    /^Signature and timestamp required to publish$/,
  ],
  ['no timestamp', (b) => ({ ...b, timestamp: null }), 401, /^Signature and timestamp required to publish$/],
  ['a timestamp of 0', (b) => ({ ...b, timestamp: 0 }), 401, /^Timestamp too old/],
  ['a timestamp of false', (b) => ({ ...b, timestamp: false }), 401, /^Timestamp too old/],
  ['an empty text as timestamp', (b) => ({ ...b, timestamp: '' }), 422, /^timestamp: expected an integer/],
  ['a stale timestamp', (b) => ({ ...b, timestamp: unixNow() - 400 }), 401, /^Timestamp too old/],
  [
    'another timestamp than signed',
    (b) => ({ ...b, timestamp: Number(b.timestamp) - 1 }),
    401,
    /^Invalid signature$/,
  ],
  ['a float timestamp', (b) => ({ ...b, timestamp: Number(b.timestamp) + 0.5 }), 401, /^Invalid signature$/],
  [
    'a timestamp in text',
    (b) => ({ ...b, timestamp: String(b.timestamp) }),
    422,
    /^timestamp: expected an integer/,
  ],
  ['a numeric signature', (b) => ({ ...b, signature: 5 }), 422, /^signature: expected a string/],
  ['a short signature', (b) => ({ ...b, signature: '0xabcd' }), 401, /^Invalid signature$/],
  [
    'an upper-case 0X',
    (b) => ({ ...b, signature: String(b.signature).replace('0x', '0X') }),
    401,
    /^Invalid signature$/,
  ],
  ['a signature of zeros', (b) => ({ ...b, signature: '0'.repeat(130) }), 401, /^Invalid signature$/],
  [
    "another wallet's signature",
    async (b) => ({
      ...b,
      signature: await sign(BOB, 'create_listing', String(b.identifier), Number(b.timestamp)),
    }),
    401,
    /^Invalid signature$/,
  ],
  [
    'a signature for another operation',
    async (b) => ({ ...b, signature: await sign(ALICE, 'update_listing', 'one', Number(b.timestamp)) }),
    401,
    /^Invalid signature$/,
  ],
  ['a scheme in capitals', (b) => ({ ...b, scheme: 'EIP191' }), 401, /^Invalid signature$/],
  ['no listing id', (b) => ({ ...b, listing_id: '' }), 400, /^listing_id is required$/],
  [
    'a listing id of 201 characters',
    (b) => ({ ...b, listing_id: 'x'.repeat(201) }),
    422,
    /at most 200 characters/,
  ],
  ['a control character in the id', (b) => ({ ...b, listing_id: 'a\nb' }), 422, /control characters/],
  ['an array for an id', (b) => ({ ...b, listing_id: [] }), 422, /valid string/],
  ['a dot for an id', (b) => ({ ...b, listing_id: '.' }), 422, /listing_id: .* no URL can name/],
  ['two dots for an id', (b) => ({ ...b, listing_id: '..' }), 422, /listing_id: .* no URL can name/],
  ['an unknown status', (b) => ({ ...b, status: 'Open' }), 400, /^Invalid status: Open$/],
  ['a null status', (b) => ({ ...b, status: null }), 400, /^Invalid status: None$/],
  ['a number for a storefront', (b) => ({ ...b, storefront_url: 5 }), 422, /storefront_url/],
  ...[
    'javascript:alert(1)',
    'ftp://a.example/',
    'a.example',
    '//a.example/',
    'http://',
    'http:a.example',
    'https://a.example/\u0000',
    ' https://a.example/',
    'https://a.example/a b',
    'https://user:secret@a.example/',
  ].map((storefront_url): (typeof REFUSED)[number] => [
    `the storefront ${JSON.stringify(storefront_url)}`,
    (b) => ({ ...b, storefront_url }),
    422,
    /storefront_url: Input should be an http or https URL/,
  ]),
  [
    'more than 1,000 items in an array',
    (b) => ({ ...b, demands: Array(1001).fill(0) }),
    422,
    /more than 1000 items/,
  ],
]

test('publish: what is wrong is refused with its reason, and writes nothing', async (t) => {
  const { url, get } = await startRegistry(t, { toml: '[limits]\npublish_per_minute = 0' })
  for (const [name, change, status, detail] of REFUSED) {
    const body = await publishBody(ALICE, { listing_id: 'one', storefront_url: 'https://a.example/' })
    const reply = await sendBody(url, await change(body))
    t.is(reply.status, status, name)
    t.regex(reply.json().detail as string, detail, name)
    if (status === 401) t.is(reply.headers.get('www-authenticate'), 'Bearer', name)
    t.deepEqual((await get('/publishers')).json(), { items: [], count: 0 }, name)
    t.is((await get('/listings?status=')).json().total_after_filter, 0, name)
  }
})

const BAD_BODIES: [
  name: string,
  body: string,
  headers: Record<string, string>,
  status: number,
  detail: RegExp,
][] = [
  ['JSON infinity', '{"a":Infinity}', {}, 422, /^JSON decode error/],
  ['nothing', '', {}, 422, /^Field required$/],
  ['null', 'null', {}, 422, /^Field required$/],
  ['an array', '[]', {}, 422, /valid dictionary/],
  ['a form', 'a=1', { 'Content-Type': 'application/x-www-form-urlencoded' }, 422, /application\/json/],
  ['300 KiB', JSON.stringify({ a: 'x'.repeat(300 * 1024) }), {}, 413, /larger than 262144 bytes/],
  ['gzip', '{}', { 'Content-Encoding': 'gzip' }, 415, /"gzip" is not accepted/],
]

test('publish: a body that cannot be read is refused, and the service continues', async (t) => {
  const { url, get } = await startRegistry(t)
  for (const [name, body, headers, status, detail] of BAD_BODIES) {
    const reply = await postJson(`${url}/listings`, body, headers)
    t.is(reply.status, status, name)
    t.regex(reply.json().detail as string, detail, name)
    t.is((await get('/health')).status, 200, name)
  }
})
