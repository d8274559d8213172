import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import test, { type ExecutionContext } from 'ava'
import { createLogger } from '../../../../src/log.ts'
import { deadUrl } from '../../../helpers/fake-registry.ts'
import { gatewayToml } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, publishBody, update } from '../../../helpers/seller.ts'

/** In every place where a client can write something. */
const PRIVATE = 'MYPRIVATE'
const ADMIN = 'Bearer admin'

type Sent = { method: string; path: string; headers?: Record<string, string>; body?: string }

/** A gateway with a Registry of its own and an upstream that is away. */
async function start(t: ExecutionContext) {
  const lines: string[] = []
  const log = createLogger('debug', { write: (line) => lines.push(line) })
  // A lookup of publishers in an upstream that is away takes the whole budget.
  const enforce = '[gateway]\nbudget_ms = 500\n[registry]\nlisting_shape = "enforce"\n'
  const toml = gatewayToml([{ name: 'dead', url: deadUrl() }], enforce)
  const clock = manualClock()
  const service = await startRegistry(t, {
    log,
    toml,
    clock,
    isLoaded: false,
    environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  const send = async ({ method, path, headers = {}, body }: Sent): Promise<string> => {
    const sent = request(`${service.url}${path}`, { method, headers: { Authorization: ADMIN, ...headers } })
    sent.end(body)
    const [response] = await once(sent, 'response')
    // A reason has a number of lines in each minute.
    clock.advance(60_000)
    return `${response.statusCode} ${await text(response)}`
  }
  return { ...service, lines, send }
}

type Operation = { parameters?: { name: string; in: string }[]; requestBody?: unknown }
type Document = { paths: Record<string, Record<string, Operation>> }

/**
 * Each parameter, header and member of a body of each documented route with a text that none of them allows; parameters take turns with
 * its forms.
 */
function misuses({ paths }: Document): Sent[] {
  let turn = 0
  return Object.entries(paths).flatMap(([pattern, operations]) =>
    Object.entries(operations).flatMap(([name, { parameters = [], requestBody }]) => {
      const method = name.toUpperCase()
      const path = pattern.replaceAll(/\{\w+\}/g, '1')
      const queries = ['unknown', ...parameters.filter((one) => one.in === 'query').map((one) => one.name)]
      const headers = [...HEADERS, ...parameters.filter((one) => one.in === 'header').map((one) => one.name)]
      return [
        ...queries.map((query) => {
          const value = VALUES[turn++ % VALUES.length]!
          return { method, path: `${path}?${query}=${encodeURIComponent(value)}` }
        }),
        { method, path: `${path}?${PRIVATE}=1` },
        ...headers.map((header) => ({ method, path, headers: { [header]: PRIVATE } })),
        ...(requestBody === undefined ? [] : BODIES.map((body) => ({ method, path, body }))),
      ]
    }),
  )
}

const VALUES = [PRIVATE, `in:[${PRIVATE}`, `range:[${PRIVATE}]`]
const HEADERS = ['Content-Encoding', 'Content-Type', 'Accept', 'Mcp-Protocol-Version', 'Origin', 'If-Match']
const MEMBERS = [
  'identifier',
  'listing_id',
  'scheme',
  'status',
  'timestamp',
  'name',
  'scope',
  'jsonrpc',
  'id',
]
const BODIES = [
  PRIVATE,
  `{"a": ${PRIVATE}}`,
  JSON.stringify(PRIVATE),
  JSON.stringify({ [PRIVATE]: PRIVATE }),
  ...MEMBERS.map((member) =>
    JSON.stringify({ name: 'a', listing_id: 'a', identifier: 'a', [member]: PRIVATE }),
  ),
  JSON.stringify({ listing_id: 'a', accepted_escrows: [PRIVATE], offer_resource: PRIVATE }),
]

test('request log: no refusal logs what the client sent', async (t) => {
  t.timeout(600_000)
  const { get, lines, send, url } = await start(t)
  const sent = misuses((await get('/openapi.json')).json() as Document)
  const repeated = new Set<string>()
  for (const one of sent) {
    const [status] = (await send(one)).match(/^\d+ .*"detail":"[^"]*MYPRIVATE|^\d+/)!
    if (status.includes(PRIVATE)) repeated.add(status)
  }
  for (const fields of [
    { status: PRIVATE },
    { offer_resource: { [PRIVATE]: 1, gpu_count: PRIVATE }, accepted_escrows: [{ [PRIVATE]: 1 }] },
    { accepted_escrows: [{ literal_fields: { [PRIVATE]: 5 }, rates: [PRIVATE] }] },
    { storefront_url: PRIVATE },
  ]) {
    const body = JSON.stringify(await publishBody(ALICE, { listing_id: PRIVATE, ...fields }))
    t.regex(await send({ method: 'POST', path: '/listings', body }), /^4/)
  }
  await update(url, 'one', { status: PRIVATE })
  t.true(repeated.size > 0, 'some details repeat it without quotes')
  const logged = lines.map((line) => JSON.parse(line)).filter(({ status }) => status >= 400)
  t.true(logged.length > 20)
  t.deepEqual(
    logged.filter(({ detail }) => String(detail).includes(PRIVATE)),
    [],
  )
})
